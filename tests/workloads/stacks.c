// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocates from functions whose frames differ in all the ways that compilers know, and prints for
 * each allocation, by its size, the functions that led to it, the innermost first. It waits for a
 * line on standard input before it begins, and before it ends.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simcuda.h"

#define NOINLINE __attribute__((noinline, noclone))
/* Keeps a call from being the last thing that a function does: then it would be jumped to. */
#define AFTER(result) __asm__ volatile("" : : "r"(result) : "memory")

static size_t next_size = 4096;

NOINLINE static int take(void)
{
	CUdeviceptr block;
	int result = cuMemAlloc_v2(&block, next_size);

	AFTER(result);
	return result;
}

static void expect(const char *functions)
{
	printf("%zu %s\n", next_size, functions);
}

NOINLINE static int stacks_plain(void)
{
	int result = take();

	AFTER(result);
	return result;
}

/* How large its frame is, is known when it runs. */
NOINLINE static int stacks_alloca(size_t bytes)
{
	char *room = alloca(bytes);
	int result;

	memset(room, 1, bytes);
	result = stacks_plain();
	AFTER(room[bytes / 2]);
	return result;
}

/* Its frame is aligned to more than the stack is. */
NOINLINE static int stacks_aligned(size_t bytes)
{
	_Alignas(64) char room[256];
	int result;

	memset(room, (int)bytes, sizeof(room));
	AFTER(room);
	result = stacks_alloca(bytes);
	AFTER(room[bytes % sizeof(room)]);
	return result;
}

/* Saves all registers that it has to. */
NOINLINE static int stacks_many(int a, int b, int c, int d, int e, int f)
{
	int result = stacks_aligned(100 + (size_t)a), g = a * b, h = c * d, i = e * f;

	AFTER(result);
	result += stacks_plain() * g;
	return result + a + b + c + d + e + f + g * h * i;
}

NOINLINE static int stacks_recursive(int depth)
{
	int result = depth ? stacks_recursive(depth - 1) : stacks_plain();

	AFTER(depth);
	return result + depth;
}

#define INLINED static inline __attribute__((always_inline))

INLINED int inner(int number)
{
	int result = stacks_plain();

	AFTER(result);
	return result + number;
}

INLINED int outer(int number)
{
	return number ? inner(number) * 2 : 0;
}

/* The code of others is in it. */
NOINLINE static int stacks_inlining(int number)
{
	int result = outer(number);

	AFTER(result);
	return result;
}

static int compare(const void *a, const void *b)
{
	if (next_size % 8192)
		return 0;
	stacks_plain();
	next_size += 4096;
	return *(const int *)a - *(const int *)b;
}

/* From a library, which calls back. */
NOINLINE static int stacks_callback(void)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(*numbers), compare);
	AFTER(numbers[0]);
	return numbers[0];
}

static void handle(int number)
{
	stacks_plain();
	AFTER(number);
}

NOINLINE static int stacks_signal(void)
{
	int result = raise(SIGUSR1);

	AFTER(result);
	return result;
}

static void *thread(void *context)
{
	cuCtxSetCurrent(context);
	stacks_plain();
	return NULL;
}

static void wait_for_line(void)
{
	char line[16];

	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

int main(void)
{
	pthread_t number;
	CUcontext context;
	CUdevice device;

	cuInit(0);
	cuDeviceGet(&device, 0);
	cuCtxCreate_v2(&context, 0, device);
	wait_for_line();
	expect("take stacks_plain main");
	stacks_plain();
	next_size = 5000;
	expect("take stacks_plain stacks_alloca main");
	stacks_alloca(333);
	next_size = 6000;
	expect("take stacks_plain stacks_alloca stacks_aligned main");
	stacks_aligned(77);
	next_size = 7000;
	expect("take stacks_plain stacks_alloca stacks_aligned stacks_many main");
	expect("take stacks_plain stacks_many main");
	stacks_many(1, 2, 3, 4, 5, 6);
	next_size = 9000;
	expect("take stacks_plain stacks_recursive stacks_recursive stacks_recursive main");
	stacks_recursive(2);
	next_size = 9500;
	expect("take stacks_plain inner outer stacks_inlining main");
	stacks_inlining(1);
	next_size = 16384;
	expect("take stacks_plain compare ... stacks_callback main");
	stacks_callback();
	next_size = 10000;
	signal(SIGUSR1, handle);
	expect("take stacks_plain handle ... stacks_signal main");
	stacks_signal();
	next_size = 11000;
	expect("take stacks_plain thread ...");
	pthread_create(&number, NULL, thread, context);
	pthread_join(number, NULL);
	printf("end\n");
	wait_for_line();
	return 0;
}
