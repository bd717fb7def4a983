// SPDX-License-Identifier: BSD-2-Clause
/*
 * A few runtime calls, and ways to get there and away that a tracer could stumble over.
 *
 * usage: calls [N]              allocates, copies and frees N times (default 5)
 *        calls thread PROGRAM   a thread that is not the first one executes PROGRAM
 *        calls jump             longjmp out of three calls, then calls as usual
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simcudart.h"

#define BYTES 4096

static void die(const char *what)
{
	fprintf(stderr, "calls: %s failed\n", what);
	exit(1);
}

static void call(unsigned int times)
{
	static char data[BYTES];

	for (; times; times--) {
		void *block;

		if (cudaMalloc(&block, 2 * BYTES))
			die("cudaMalloc");
		if (cudaMemcpy(block, data, BYTES, cudaMemcpyHostToDevice))
			die("cudaMemcpy");
		if (cudaFree(block))
			die("cudaFree");
	}
}

static void *execute(void *program)
{
	char *const arguments[] = { program, NULL };

	execv(program, arguments);
	fprintf(stderr, "calls: cannot execute %s: %s\n", (char *)program, strerror(errno));
	exit(1);
}

static jmp_buf back;

/* The program's own: a probe does not care which file a function is in. It never returns. */
__attribute__((noinline, visibility("default"))) cudaError_t cudaDeviceSynchronize(void)
{
	longjmp(back, 1);
}

static void jump(void)
{
	volatile int times;

	for (times = 0; times < 3; times++)
		if (!setjmp(back))
			cudaDeviceSynchronize();
	call(5);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 3 && !strcmp(argv[1], "thread")) {
		if (pthread_create(&thread, NULL, execute, argv[2]))
			die("pthread_create");
		pthread_join(thread, NULL);
	} else if (argc == 2 && !strcmp(argv[1], "jump")) {
		jump();
	} else {
		call(argc == 2 ? strtoul(argv[1], NULL, 0) : 5);
	}
	return 0;
}
