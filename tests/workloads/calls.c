// SPDX-License-Identifier: BSD-2-Clause
/*
 * A few runtime calls, and ways to get there and away that a tracer could stumble over.
 *
 * usage: calls [N]              allocates, copies and frees N times (default 5)
 *        calls thread PROGRAM   a thread that is not the first one executes PROGRAM
 *        calls jump             longjmp out of three calls, then calls as usual
 *        calls inside           frees memory inside of the call that it was allocated in, by that
 *                               call and by a signal handler, then calls as usual
 *        calls replace PROGRAM  executes PROGRAM inside of a call
 *        calls die              threads that end inside of a call, half of them by the system call
 *                               itself, then calls as usual
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
static void (*leave)(void);

/* The program's own: a probe does not care which file a function is in. It never returns. */
__attribute__((noinline, visibility("default"))) cudaError_t cudaDeviceSynchronize(void)
{
	leave();
	return cudaSuccess;
}

static void leave_by_jump(void)
{
	longjmp(back, 1);
}

static void leave_by_pthread_exit(void)
{
	pthread_exit(NULL);
}

static void leave_by_exit(void)
{
	syscall(SYS_exit, 0);
}

static void jump(void)
{
	volatile int times;

	leave = leave_by_jump;
	for (times = 0; times < 3; times++)
		if (!setjmp(back))
			cudaDeviceSynchronize();
	call(5);
}

static void take_and_free(void)
{
	void *block;

	if (cudaMalloc(&block, BYTES) || cudaFree(block))
		die("a call inside of another one");
}

static void handle(int number)
{
	(void)number;
	take_and_free();
}

/*
 * The program's own again: an allocation that takes memory for itself, and is interrupted by a
 * handler that does so too, before it takes what it gives.
 */
__attribute__((noinline, visibility("default"))) cudaError_t
cudaMallocPitch(void **block, size_t *pitch, size_t width, size_t height)
{
	take_and_free();
	raise(SIGUSR1);
	*pitch = width;
	return cudaMalloc(block, width * height);
}

static void inside(void)
{
	size_t pitch;
	void *block;
	int times;

	signal(SIGUSR1, handle);
	for (times = 0; times < 3; times++)
		if (cudaMallocPitch(&block, &pitch, BYTES, 3) || cudaFree(block))
			die("cudaMallocPitch");
	call(5);
}

static void *synchronize(void *unused)
{
	cudaDeviceSynchronize();
	fprintf(stderr, "calls: it came back\n");
	exit(1);
	return unused;
}

static const char *replacement;

static void leave_by_exec(void)
{
	char *const arguments[] = { (char *)replacement, NULL };

	execv(replacement, arguments);
}

static void die_inside(void)
{
	pthread_t thread;
	int times;

	for (times = 0; times < 10; times++) {
		leave = times % 2 ? leave_by_exit : leave_by_pthread_exit;
		if (pthread_create(&thread, NULL, synchronize, NULL) || pthread_join(thread, NULL))
			die("a thread");
	}
	call(5);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 3 && !strcmp(argv[1], "thread")) {
		if (pthread_create(&thread, NULL, execute, argv[2]))
			die("pthread_create");
		pthread_join(thread, NULL);
	} else if (argc == 3 && !strcmp(argv[1], "replace")) {
		leave = leave_by_exec;
		replacement = argv[2];
		cudaDeviceSynchronize();
		die("execv");
	} else if (argc == 2 && !strcmp(argv[1], "jump")) {
		jump();
	} else if (argc == 2 && !strcmp(argv[1], "inside")) {
		inside();
	} else if (argc == 2 && !strcmp(argv[1], "die")) {
		die_inside();
	} else {
		call(argc == 2 ? strtoul(argv[1], NULL, 0) : 5);
	}
	return 0;
}
