// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes with the same pid, one after the other. The n-th allocates n KiB, frees that if n is
 * even, and exits with n modulo 200. No two begin within 10 ms: /proc does not tell their starts
 * apart then (and no kernel reuses a pid so soon by itself).
 *
 * usage: reuse COUNT    as fast as they come
 *        reuse          each when told by a line of standard input, another line for it to
 *                       allocate; says "ready" when it could, and "done" when it has ended
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

#define START_STEP_US 11000

static bool told;

static void die(const char *what)
{
	fprintf(stderr, "reuse: %s: %s\n", what, strerror(errno));
	_exit(250);
}

static void say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		_exit(251);
}

/* No buffer: parent and child read in turns. */
static bool wait_for_line(void)
{
	char byte = 0;

	while (byte != '\n')
		if (read(STDIN_FILENO, &byte, 1) <= 0)
			return false;
	return true;
}

/* By name, for nothing is linked: the library is mapped by the child alone. */
static void *function(void *driver, const char *name)
{
	void *found = driver ? dlsym(driver, name) : NULL;

	if (!found)
		die(name);
	return found;
}

static void live(unsigned int number)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int) = function(driver, "cuInit");
	CUresult (*create)(CUcontext *, unsigned int, CUdevice) =
		function(driver, "cuCtxCreate_v2");
	CUresult (*allocate)(CUdeviceptr *, size_t) = function(driver, "cuMemAlloc_v2");
	CUresult (*release)(CUdeviceptr) = function(driver, "cuMemFree_v2");
	CUcontext context;
	CUdeviceptr block;

	if (init(0) || create(&context, 0, 0))
		die("no context");
	if (told) {
		say("ready\n");
		wait_for_line();
	}
	if (allocate(&block, number * (size_t)1024) || (number % 2 == 0 && release(block)))
		die("no memory");
	_exit(number % 200);
}

static void start(pid_t *pid, unsigned int number)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = *pid ? (uintptr_t)pid : 0,
				   .set_tid_size = *pid ? 1 : 0 };
	long child = syscall(SYS_clone3, &args, sizeof(args));
	int status;

	if (child == 0)
		live(number);
	if (child < 0)
		die("clone3");
	*pid = child;
	usleep(START_STEP_US);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != (int)(number % 200))
		die("a child failed");
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned int number;
	pid_t pid = 0;

	told = argc == 1;
	for (number = 1; told ? wait_for_line() : number <= count; number++) {
		start(&pid, number);
		if (told)
			say("done\n");
	}
	return 0;
}
