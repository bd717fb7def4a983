// SPDX-License-Identifier: BSD-2-Clause
/*
 * exhaust HOW: runs out of memory on a device of 1 GiB (SIMCUDA_MEMORY=1G), and
 *
 *   evict    frees buffers that it kept, and is granted what it wanted
 *   halve    asks for half, until that is granted
 *   stop     cannot go on, and exits with 3
 *   without  does its work without it
 *   pieces   makes physical memory in pieces, gives all back when one fails, frees its cache and
 *            makes them again
 *   creep    keeps 8 MiB in each step of 10 ms, and exits with 5 when there is no more
 *   model    loads 28 layers of 32 MiB, works with them for half a second, and exits with 6
 *            because there is no room for what the last step needs
 *   launch   launches until a launch fails (SIMCUDA_FAIL), and exits with 4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simcuda.h"

#define MIB (1ull << 20)
#define BUFFERS 9
#define PIECES 30

static CUdeviceptr buffers[BUFFERS];

static void need(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "exhaust: %s: %d\n", what, result);
	exit(1);
}

/* 900 MiB, which the program keeps. */
__attribute__((noinline)) static void fill(void)
{
	for (int i = 0; i < BUFFERS; i++)
		need(cuMemAlloc_v2(&buffers[i], 100 * MIB), "cuMemAlloc_v2");
}

static void drop(int count)
{
	for (int i = 0; i < count; i++)
		need(cuMemFree_v2(buffers[i]), "cuMemFree_v2");
}

__attribute__((noinline)) static int evict(void)
{
	size_t free_bytes, total_bytes;
	CUdeviceptr wanted;

	fill();
	if (cuMemAlloc_v2(&wanted, 300 * MIB) != CUDA_ERROR_OUT_OF_MEMORY)
		return 1;
	need(cuMemGetInfo_v2(&free_bytes, &total_bytes), "cuMemGetInfo_v2");
	drop(4);
	need(cuMemAlloc_v2(&wanted, 300 * MIB), "cuMemAlloc_v2");
	return 0;
}

static int halve(void)
{
	CUdeviceptr wanted;

	need(cuMemAlloc_v2(&buffers[0], 100 * MIB), "cuMemAlloc_v2");
	for (size_t size = 4096 * MIB; size; size /= 2)
		if (cuMemAlloc_v2(&wanted, size) == CUDA_SUCCESS)
			return size == 512 * MIB ? 0 : 1;
	return 1;
}

static int stop(void)
{
	CUdeviceptr wanted;

	fill();
	return cuMemAlloc_v2(&wanted, 300 * MIB) == CUDA_ERROR_OUT_OF_MEMORY ? 3 : 1;
}

static int without(void)
{
	CUdeviceptr wanted, small;

	fill();
	if (cuMemAlloc_v2(&wanted, 300 * MIB) != CUDA_ERROR_OUT_OF_MEMORY)
		return 1;
	for (int i = 0; i < 5; i++) {
		need(cuMemAlloc_v2(&small, MIB), "cuMemAlloc_v2");
		need(cuMemFree_v2(small), "cuMemFree_v2");
	}
	return 0;
}

/* Returns how many there are. */
static int make_pieces(CUmemGenericAllocationHandle *pieces)
{
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	int count = 0;

	while (count < PIECES && cuMemCreate(&pieces[count], 20 * MIB, &prop, 0) == CUDA_SUCCESS)
		count++;
	return count;
}

static int in_pieces(void)
{
	CUmemGenericAllocationHandle pieces[PIECES];
	int count;

	fill();
	drop(3); /* 600 MiB are held */
	for (int i = 3; i < BUFFERS; i++)
		buffers[i - 3] = buffers[i];
	count = make_pieces(pieces);
	if (count == PIECES)
		return 1;
	for (int i = 0; i < count; i++)
		need(cuMemRelease(pieces[i]), "cuMemRelease");
	drop(4);
	if (make_pieces(pieces) != PIECES)
		return 1;
	need(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}

static void rest(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

static const char image[] = "\177ELF";

/* A step of work takes 10 ms. */
static void work(void)
{
	static CUfunction function;
	CUmodule module;

	if (!function) {
		need(cuModuleLoadData(&module, image), "cuModuleLoadData");
		need(cuModuleGetFunction(&function, module, "step"), "cuModuleGetFunction");
	}
	need(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
	rest(10);
}

__attribute__((noinline)) static int step(void)
{
	CUdeviceptr kept;

	if (cuMemAlloc_v2(&kept, 8 * MIB) == CUDA_ERROR_OUT_OF_MEMORY)
		return 5;
	work();
	return 0;
}

static int creep(void)
{
	int code;

	do
		code = step();
	while (!code);
	return code;
}

__attribute__((noinline)) static void load(void)
{
	static char weights[4096];
	CUdeviceptr layer;

	need(cuMemAlloc_v2(&layer, 32 * MIB), "cuMemAlloc_v2");
	need(cuMemcpyHtoD_v2(layer, weights, sizeof(weights)), "cuMemcpyHtoD_v2");
	rest(5);
}

static int model(void)
{
	CUdeviceptr workspace;
	int i;

	for (i = 0; i < 28; i++)
		load();
	for (i = 0; i < 50; i++)
		work();
	return cuMemAlloc_v2(&workspace, 300 * MIB) == CUDA_ERROR_OUT_OF_MEMORY ? 6 : 1;
}

static int launches(void)
{
	CUfunction function;
	CUmodule module;
	int i;

	need(cuMemAlloc_v2(&buffers[0], 64 * MIB), "cuMemAlloc_v2");
	for (i = 0; i < 100; i++) {
		need(cuModuleLoadData(&module, image), "cuModuleLoadData");
		need(cuModuleGetFunction(&function, module, "step"), "cuModuleGetFunction");
		if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
			return 4;
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} ways[] = {
		{ "evict", evict },     { "halve", halve },      { "stop", stop },
		{ "without", without }, { "pieces", in_pieces }, { "launch", launches },
		{ "creep", creep },     { "model", model },
	};
	CUcontext context;

	need(cuInit(0), "cuInit");
	need(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate_v2");
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	fprintf(stderr, "usage: exhaust evict|halve|stop|without|pieces|creep|model|launch\n");
	return 2;
}
