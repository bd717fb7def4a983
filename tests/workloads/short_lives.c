// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that live for milliseconds and allocate at once. It loads the driver, waits for a line
 * on standard input, and starts COUNT processes, each of which waits for WAIT_MS, initialises CUDA,
 * allocates BYTES + its number, lives for LIFE_MS, frees that if its number is odd, and ends. Ends
 * with 0 if all of them did.
 *
 * usage: short_lives WAY COUNT [LIFE_MS [BYTES [WAIT_MS]]]
 *   fork    forked, so that they have the driver mapped where this process has it
 *   exec    forked, and executing this program anew
 *   vfork   the same with vfork()
 *   spawn   by posix_spawn()
 *   clone   sharing this process's memory (CLONE_VM), one after the other, as they share its
 *           thread's storage, too
 */
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

#define STACK_BYTES (256 << 10)

extern char **environ;

static void *driver;
static char program[PATH_MAX]; /* this one: the name of a process comes from that */
static int life_ms = 20, bytes = 4096, wait_ms;

/* By the exported names: the header may map the plain ones to versions. */
typedef CUresult alloc_function(CUdeviceptr *address, size_t size_bytes);
typedef CUresult free_function(CUdeviceptr address);

#define CALL(function, ...) (((__typeof__(&function))dlsym(driver, #function))(__VA_ARGS__))

static int live(int number)
{
	alloc_function *allocate = dlsym(driver, "cuMemAlloc_v2");
	free_function *release = dlsym(driver, "cuMemFree_v2");
	CUdeviceptr block;
	CUcontext context;
	CUdevice device;

	usleep(wait_ms * 1000);
	if (CALL(cuInit, 0) || CALL(cuDeviceGet, &device, 0) ||
	    CALL(cuDevicePrimaryCtxRetain, &context, device) || CALL(cuCtxSetCurrent, context) ||
	    allocate(&block, bytes + number))
		return 1;
	usleep(life_ms * 1000);
	return number % 2 && release(block);
}

static int live_in_clone(void *number)
{
	_exit(live(*(int *)number));
}

static pid_t start_clone(int number)
{
	static char stack[STACK_BYTES] __attribute__((aligned(64)));
	int status;
	pid_t pid = clone(live_in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, &number);

	return pid > 0 && waitpid(pid, &status, 0) == pid && !status ? 0 : -1;
}

/* Returns the new process, 0 if it has ended well, or -1. */
static pid_t start(const char *way, int number)
{
	char name[16], life[16], size[16], pause[16];
	char *const arguments[] = { "short_lives", "one", name, life, size, pause, NULL };
	pid_t pid = -1;

	snprintf(name, sizeof(name), "%d", number);
	snprintf(life, sizeof(life), "%d", life_ms);
	snprintf(size, sizeof(size), "%d", bytes);
	snprintf(pause, sizeof(pause), "%d", wait_ms);
	if (!strcmp(way, "clone"))
		return start_clone(number);
	if (!strcmp(way, "spawn"))
		return posix_spawn(&pid, program, NULL, NULL, arguments, environ) ? -1 : pid;
	if (!strcmp(way, "vfork"))
		pid = vfork();
	else if (!strcmp(way, "fork") || !strcmp(way, "exec"))
		pid = fork();
	if (pid)
		return pid;
	if (!strcmp(way, "fork"))
		_exit(live(number));
	execv(program, arguments);
	_exit(127);
}

static int run(const char *way, int count)
{
	int number, failed = 0, status;

	for (number = 0; number < count; number++)
		failed += start(way, number) < 0;
	while (wait(&status) > 0)
		failed += status != 0;
	return failed > 0;
}

int main(int argc, char **argv)
{
	char line[16];

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver || argc < 3 || readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return 2;
	if (argc > 3)
		life_ms = atoi(argv[3]);
	if (argc > 4)
		bytes = atoi(argv[4]);
	if (argc > 5)
		wait_ms = atoi(argv[5]);
	if (!strcmp(argv[1], "one"))
		return live(atoi(argv[2]));
	return fgets(line, sizeof(line), stdin) ? run(argv[1], atoi(argv[2])) : 3;
}
