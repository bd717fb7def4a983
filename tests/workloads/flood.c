// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that call as fast as they can, know how often they did, and check every byte that comes
 * back: what they print and exit with must not depend on whether anybody watches.
 *
 * usage: flood THREADS SECONDS   for so long
 *        flood THREADS           until standard input ends
 *
 * Prints "intact" and exits with 42; the number of calls goes to standard error. The calls are
 * those that the probe table has, functions that only give names not counted.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simcuda.h"

#define BYTES 4096
#define EXIT_INTACT 42

struct worker {
	pthread_t thread;
	unsigned int number;
	unsigned long calls;
};

static CUcontext context;
static CUfunction kernel;
static bool ending;

static void check(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "flood: %s: %d\n", what, (int)result);
		exit(1);
	}
}

/* Six calls. */
static void round_trip(unsigned int number)
{
	size_t size_bytes = 64 + number * 8 % (BYTES - 64);
	unsigned char source[BYTES], sink[BYTES];
	CUdeviceptr block;

	memset(source, number, size_bytes);
	memset(sink, ~number, size_bytes);
	check(cuMemAlloc_v2(&block, size_bytes), "cuMemAlloc_v2");
	check(cuMemcpyHtoD_v2(block, source, size_bytes), "cuMemcpyHtoD_v2");
	check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
	check(cuStreamSynchronize(NULL), "cuStreamSynchronize");
	check(cuMemcpyDtoH_v2(sink, block, size_bytes), "cuMemcpyDtoH_v2");
	check(cuMemFree_v2(block), "cuMemFree_v2");
	if (memcmp(source, sink, size_bytes) != 0) {
		fprintf(stderr, "flood: what came back is not what was copied\n");
		exit(1);
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	unsigned int number = worker->number;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	worker->calls = 1;
	for (; !__atomic_load_n(&ending, __ATOMIC_RELAXED); number++) {
		round_trip(number);
		worker->calls += 6;
	}
	return NULL;
}

static void wait_for_end(const char *seconds)
{
	char byte;

	if (seconds)
		usleep(atof(seconds) * 1e6);
	else
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
	__atomic_store_n(&ending, true, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	/* Not PTX: the simulated driver takes any name to be in it. */
	static const char image[64] = "any kernel";
	int count = argc > 1 ? atoi(argv[1]) : 0, i;
	struct worker *workers = calloc(count, sizeof(*workers));
	unsigned long calls = 2; /* the module and its function */
	CUmodule module;

	if (count < 1 || argc > 3) {
		fprintf(stderr, "usage: flood THREADS [SECONDS]\n");
		return 2;
	}
	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	check(cuModuleGetFunction(&kernel, module, "flood"), "cuModuleGetFunction");
	for (i = 0; i < count; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	wait_for_end(argv[2]);
	for (i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		calls += workers[i].calls;
	}
	free(workers);
	fprintf(stderr, "%lu\n", calls);
	printf("intact\n");
	return EXIT_INTACT;
}
