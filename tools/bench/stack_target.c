// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the benchmark of call stacks traces: `stack_target deep DEPTH CALLS` allocates so often,
 * that many frames below main(), and prints the CPU time of a call in nanoseconds; `stack_target
 * mix STEPS` does what a training's step does, so often.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define COPIES 4
#define LAUNCHES 44
#define BATCHES 15

static CUdeviceptr block;

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Prints the median of the batches. */
static void allocate(int calls)
{
	const int each = calls / BATCHES;
	double ns[BATCHES];
	int batch, i;

	for (batch = 0; batch < BATCHES; batch++) {
		uint64_t used = 0;

		for (i = 0; i < each; i++) {
			const uint64_t before = cpu_ns();

			cuMemAlloc_v2(&block, 4096);
			used += cpu_ns() - before;
			cuMemFree_v2(block);
		}
		ns[batch] = (double)used / each;
	}
	qsort(ns, BATCHES, sizeof(*ns), compare);
	printf("%.0f\n", ns[BATCHES / 2]);
}

__attribute__((noinline)) static int descend(int depth, int calls)
{
	int result = 0;

	if (depth)
		result = descend(depth - 1, calls) + 1;
	else
		allocate(calls);
	/* So that the call is not the last thing that the function does. */
	__asm__ volatile("" : "+r"(result));
	return result;
}

__attribute__((noinline)) static void step(CUfunction kernel)
{
	char bytes[64] = { 0 };
	int i;

	cuMemAlloc_v2(&block, 1 << 20);
	for (i = 0; i < COPIES; i++)
		cuMemcpyHtoD_v2(block, bytes, sizeof(bytes));
	for (i = 0; i < LAUNCHES; i++)
		cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	cuMemFree_v2(block);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	int i;

	if (argc < 3 || cuInit(0) || cuCtxCreate_v2(&context, 0, 0) ||
	    cuModuleLoadData(&module, "") || cuModuleGetFunction(&kernel, module, "step"))
		return 2;
	/* What watches it has its tables by then. */
	sleep(1);
	if (!strcmp(argv[1], "deep") && argc == 4) {
		descend(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	for (i = 0; i < atoi(argv[2]); i++)
		step(kernel);
	return 0;
}
