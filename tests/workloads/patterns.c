// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocates from as many different call stacks as is wanted: each bit of a number is a function
 * that calls the next one.
 *
 * usage: patterns < LINES
 *
 * For each line "FROM TO", allocates and frees 16 * (N + 1) bytes from the stack of each N in
 * this range, and prints "done". Of the first six of them, a block is kept, which is allocated for
 * the fifth time then: the stack is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "simcuda.h"

#define BITS 17
#define AT_A_TIME 500 /* after which an observer can catch up */
#define KEPT 6

#define KEEP 1u

static void rest(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

static void one(unsigned int bits, unsigned int number, unsigned int flags);
static void zero(unsigned int bits, unsigned int number, unsigned int flags);

/* What comes behind a call keeps it from being the last thing that a function does. */
#define NEXT(bits, number, flags) \
	do { \
		if (!(bits)) \
			allocate(number, flags); \
		else if ((number) >> ((bits)-1) & 1) \
			one((bits)-1, number, flags); \
		else \
			zero((bits)-1, number, flags); \
		__asm__ volatile("" ::: "memory"); \
	} while (0)

static __attribute__((noinline)) void allocate(unsigned int number, unsigned int flags)
{
	CUdeviceptr block;

	if (cuMemAlloc_v2(&block, 16 * ((size_t)number + 1)) ||
	    (!(flags & KEEP) && cuMemFree_v2(block)))
		exit(1);
}

static __attribute__((noinline)) void one(unsigned int bits, unsigned int number,
					  unsigned int flags)
{
	NEXT(bits, number, flags);
}

static __attribute__((noinline)) void zero(unsigned int bits, unsigned int number,
					   unsigned int flags)
{
	NEXT(bits, number, flags);
}

/* One place for all that a number is called from. */
static __attribute__((noinline)) void spell(unsigned int number, unsigned int flags)
{
	NEXT(BITS, number, flags);
}

/* First the order, so that all are called from one place: a compiler may split a loop. */
static void run(unsigned int from, unsigned int to)
{
	const unsigned int kept = to - from < KEPT ? to - from : KEPT;
	const unsigned int count = to - from + 4 * kept;
	unsigned int *numbers = calloc(count, sizeof(*numbers)), *flags, step;

	flags = calloc(count, sizeof(*flags));
	if (!numbers || !flags)
		exit(1);
	for (step = 0; step < to - from; step++)
		numbers[step] = from + step;
	for (; step < count; step++) {
		numbers[step] = from + (step - (to - from)) / 4;
		flags[step] = (step - (to - from)) % 4 == 3 ? KEEP : 0;
	}
	for (step = 0; step < count; step++) {
		spell(numbers[step], flags[step]);
		if (step % AT_A_TIME == 0 || step >= to - from)
			rest(5);
	}
	free(numbers);
	free(flags);
}

int main(void)
{
	unsigned int from, to;
	CUcontext context;

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	while (scanf("%u %u", &from, &to) == 2) {
		run(from, to);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
