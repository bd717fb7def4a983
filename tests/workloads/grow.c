// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that grows, in one of several ways, while a kernel is launched now and then. Prints how
 * many bytes it grew by.
 *
 * usage: grow freed|larger|cycles|modules
 *   freed    a block more for each request; all are freed at the end
 *   larger   each buffer a third larger than the last, which is kept
 *   cycles   a cache that fills up and is emptied, four times
 *   modules  a module more for each request, with a variable of 2 MiB; asks what is free
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simcuda.h"

#define REQUESTS 60
#define MIB ((size_t)1 << 20)

static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			    ".visible .global .align 4 .b8 weights[2097152];\n"
			    ".visible .entry step()\n{\nret;\n}\n";

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "grow: %s: %d\n", what, (int)result);
	exit(1);
}

static CUfunction load(void)
{
	CUfunction kernel;
	CUmodule module;
	CUdeviceptr weights;
	size_t size;

	check(cuModuleLoadData(&module, image), "cuModuleLoadData");
	check(cuModuleGetGlobal_v2(&weights, &size, module, "weights"), "cuModuleGetGlobal_v2");
	check(cuModuleGetFunction(&kernel, module, "step"), "cuModuleGetFunction");
	return kernel;
}

static CUdeviceptr allocate(size_t size)
{
	CUdeviceptr block;

	check(cuMemAlloc_v2(&block, size), "cuMemAlloc_v2");
	return block;
}

/* A request is served: some work, and a pause. */
static void serve(CUfunction kernel, int ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000L };
	int i;

	for (i = 0; i < 5; i++)
		check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		      "cuLaunchKernel");
	nanosleep(&pause, NULL);
}

static size_t grow_freed(CUfunction kernel)
{
	CUdeviceptr blocks[REQUESTS];
	int i;

	for (i = 0; i < REQUESTS; i++) {
		blocks[i] = allocate(MIB);
		serve(kernel, 50);
	}
	for (i = 0; i < REQUESTS; i++)
		check(cuMemFree_v2(blocks[i]), "cuMemFree_v2");
	return REQUESTS * MIB;
}

static size_t grow_larger(CUfunction kernel)
{
	size_t size = 256 << 10, sum = 0;
	int i;

	for (i = 0; i < 24; i++) {
		allocate(size);
		sum += size;
		serve(kernel, 125);
		size += size / 3 / 512 * 512;
	}
	return sum;
}

static size_t grow_cycles(CUfunction kernel)
{
	CUdeviceptr blocks[REQUESTS];
	int cycle, i;

	for (cycle = 0; cycle < 4; cycle++) {
		for (i = 0; i < REQUESTS; i++) {
			blocks[i] = allocate(MIB);
			serve(kernel, 25);
		}
		for (i = 0; i < REQUESTS; i++)
			check(cuMemFree_v2(blocks[i]), "cuMemFree_v2");
	}
	return REQUESTS * MIB;
}

static size_t grow_modules(CUfunction kernel)
{
	size_t available, first = 0, total;
	int i;

	for (i = 0; i < REQUESTS; i++) {
		check(cuMemGetInfo_v2(&available, &total), "cuMemGetInfo_v2");
		first = i ? first : available;
		serve(kernel, 50);
		load();
	}
	check(cuMemGetInfo_v2(&available, &total), "cuMemGetInfo_v2");
	return first - available;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t (*grow)(CUfunction kernel);
	} ways[] = { { "freed", grow_freed },
		     { "larger", grow_larger },
		     { "cycles", grow_cycles },
		     { "modules", grow_modules } };
	CUcontext context;
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		check(cuInit(0), "cuInit");
		check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
		printf("%zu\n", ways[i].grow(load()));
		return 0;
	}
	fprintf(stderr, "usage: grow freed|larger|cycles|modules\n");
	return 2;
}
