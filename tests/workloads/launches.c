// SPDX-License-Identifier: BSD-2-Clause
/*
 * Launches of kernels whose handles are given to other kernels again and again: each round loads a
 * module, launches a kernel of it as often as the round's number says, and unloads it, while
 * another thread launches one and the same. Prints how often each kernel was launched; a line
 * "reused N" says how many rounds got a handle that an earlier one had.
 *
 * usage: launches ROUNDS [again]   "again": afterwards, the process executes itself once more
 *        launches many KERNELS     launches each of so many kernels twice
 *        launches among TIMES      launches each of 100 kernels, between other programs' executions
 *        launches renamed ROUNDS   as above, with a pause after every 4000 rounds
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

#define ROUND_NAMES 1000
#define PAUSE_ROUNDS 4000
#define REFUSED 7 /* launches of something that is no kernel */

static const char image[] = "\177ELF"; /* any name is in it */
static CUcontext context;
static bool over;

static void check(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "launches: %s: %d\n", what, (int)result);
		exit(1);
	}
}

static CUresult launch(CUfunction function)
{
	return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static CUfunction function_of(CUmodule module, const char *name)
{
	CUfunction function;

	check(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
	return function;
}

static void *steady(void *unused)
{
	unsigned long launched = 0;
	CUfunction function;
	CUmodule module;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	function = function_of(module, "steady");
	do {
		check(launch(function), "cuLaunchKernel");
		launched++;
	} while (!__atomic_load_n(&over, __ATOMIC_RELAXED));
	printf("%lu steady\n", launched);
	return unused;
}

/* Returns whether the handle is one that an earlier round had. */
static bool run_round(int number, int kept)
{
	static CUfunction seen[4096];
	static size_t seen_count;
	char name[32];
	CUmodule module;
	CUfunction function;
	size_t i;
	int n;

	number %= ROUND_NAMES;
	snprintf(name, sizeof(name), "round_%d", number);
	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	function = function_of(module, name);
	for (n = 0; n < number; n++) {
		check(launch(function), "cuLaunchKernel");
		function_of(module, name); /* again: it is still the same */
	}
	printf("%d %s\n", number, name);
	if (!kept)
		check(cuModuleUnload(module), "cuModuleUnload");
	for (i = 0; i < seen_count && seen[i] != function; i++)
		;
	if (i < seen_count)
		return true;
	if (seen_count < sizeof(seen) / sizeof(*seen))
		seen[seen_count++] = function;
	return false;
}

static int renamed(int rounds)
{
	int number, reused = 0;

	for (number = 1; number <= rounds; number++) {
		reused += run_round(number % 8, 0);
		if (number % PAUSE_ROUNDS == 0)
			usleep(1200000);
	}
	printf("reused %d\n", reused);
	return 0;
}

static void execute_another(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static int among(int times)
{
	CUfunction functions[100];
	CUmodule module;
	char name[32];
	int i, n;

	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		functions[i] = function_of(module, name);
		printf("%d %s\n", times, name);
	}
	for (n = 0; n < times; n++) {
		execute_another();
		for (i = 0; i < 100; i++)
			check(launch(functions[i]), "cuLaunchKernel");
	}
	return 0;
}

static int many(int kernels)
{
	CUmodule module;
	char name[32];
	int i;

	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	for (i = 0; i < kernels; i++) {
		CUfunction function;

		snprintf(name, sizeof(name), "kernel_%d", i);
		function = function_of(module, name);
		check(launch(function), "cuLaunchKernel");
		check(launch(function), "cuLaunchKernel");
		printf("2 %s\n", name);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, number, reused = 0, refused;
	pthread_t thread;

	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	if (argc > 2 && !strcmp(argv[1], "many"))
		return many(atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "among"))
		return among(atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "renamed"))
		return renamed(atoi(argv[2]));
	if (rounds < 1) {
		fprintf(stderr, "usage: launches ROUNDS [again] | {many|among|renamed} NUMBER\n");
		return 2;
	}
	if (pthread_create(&thread, NULL, steady, NULL))
		return 1;
	for (number = 1; number <= rounds; number++)
		reused += run_round(number, number % 10 == 0);
	for (refused = 0; refused < REFUSED; refused++)
		if (launch((CUfunction)&over) == CUDA_SUCCESS)
			return 1;
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("reused %d\n", reused);
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "again"))
		execl("/proc/self/exe", "launches", argv[1], NULL);
	return 0;
}
