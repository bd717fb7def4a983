// SPDX-License-Identifier: BSD-2-Clause
/*
 * oncall HOW: what keeps engineers awake.
 *
 *   serve      answers requests for 2 s, and forgets the state of each fifth one
 *   stuck      forgets 8 MiB with each request until there is no more memory, and then answers as
 *              many again without getting any
 *   starve     has requests whose input is granted, and freed when what they need then is not
 *   hold       takes 800 MiB, and has them until its standard input ends
 *   start      asks for 100 MiB three times, which may not be there: then it exits with 1
 *   back-off   asks for the whole device, and then for nine tenths of that, until it is granted
 *   burst      has a burst of requests served from a pool that never gives back, and then few
 *   crash      works, and exits with 1 when a synchronisation fails (SIMCUDA_FAIL)
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"
#include "simcudart.h"

#define MIB (1ull << 20)

static void *allocate(size_t bytes)
{
	void *block = NULL;

	return cudaMalloc(&block, bytes) == cudaSuccess ? block : NULL;
}

static void rest(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

static int work(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry step()\n{\nret;\n}\n";
	static CUfunction function;
	CUmodule module;

	if (!function &&
	    (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "step")))
		return 1;
	return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ||
	       cudaDeviceSynchronize();
}

static int serve(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		void *input = allocate((size_t)(1 + i % 3) * MIB);
		void *session = allocate(3 * MIB);

		if (!input || !session || work() || cudaFree(input) || (i % 5 && cudaFree(session)))
			return 1;
		rest(20);
	}
	return 0;
}

static int stuck(void)
{
	size_t left, total;
	int got = 0, refused = 0;

	if (cudaMemGetInfo(&left, &total))
		return 1;
	while (!refused || refused < got) {
		if (allocate(8 * MIB))
			got++;
		else
			refused++;
		if (work())
			return 1;
		rest(20);
	}
	return 0;
}

static int starve(void)
{
	int i;

	if (!allocate(990 * MIB))
		return 1;
	for (i = 0; i < 5; i++) {
		void *input = allocate(24 * MIB);

		if (!input || allocate(20 * MIB) || work() || cudaFree(input))
			return 1;
		rest(20);
	}
	return !allocate(MIB);
}

static int hold(void)
{
	size_t left, total;
	char byte;

	if (cudaMemGetInfo(&left, &total) || !allocate(800 * MIB) || work())
		return 1;
	puts("holding");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}

static int start(void)
{
	size_t left, total;
	int i;

	for (i = 0; i < 3; i++) {
		if (allocate(100 * MIB))
			continue;
		return cudaMemGetInfo(&left, &total) || 1;
	}
	return 0;
}

static int back_off(void)
{
	size_t left, total, bytes;

	if (!allocate(100 * MIB) || cudaMemGetInfo(&left, &total))
		return 1;
	for (bytes = total; !allocate(bytes); bytes = bytes / 10 * 9 / MIB * MIB)
		if (bytes < MIB)
			return 1;
	return work();
}

static int burst(void)
{
	unsigned long long threshold = ~0ull;
	size_t left, total;
	cudaMemPool_t pool;
	cudaStream_t stream;
	void *blocks[10];
	int round, i, count;

	if (cudaDeviceGetDefaultMemPool(&pool, 0) ||
	    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) ||
	    cudaStreamCreate(&stream))
		return 1;
	for (round = 0; round < 60; round++) {
		count = round > 5 && round < 10 ? 10 : 1;
		for (i = 0; i < count; i++)
			if (cudaMallocAsync(&blocks[i], 64 * MIB, stream))
				return 1;
		for (i = 0; i < count; i++)
			if (cudaFreeAsync(blocks[i], stream))
				return 1;
		if (cudaStreamSynchronize(stream) || work())
			return 1;
		rest(20);
	}
	return cudaMemGetInfo(&left, &total);
}

static int crash(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		if (!allocate(MIB) || work())
			return 1;
		rest(5);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} programs[] = {
		{ "serve", serve }, { "stuck", stuck }, { "starve", starve },
		{ "hold", hold },   { "start", start }, { "back-off", back_off },
		{ "burst", burst }, { "crash", crash },
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(argv[1], programs[i].name))
			return programs[i].run();
	fprintf(stderr, "usage: oncall serve|stuck|starve|hold|start|back-off|burst|crash\n");
	return 2;
}
