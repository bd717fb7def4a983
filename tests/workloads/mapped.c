// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps a driver and calls it at once, again and again: the n-th allocation is of n bytes, so that
 * the first one that somebody sees tells how many were missed.
 *
 * usage: mapped LIBRARY MILLISECONDS
 *
 * Prints its pid, when it began to map the library (CLOCK_MONOTONIC, ns) and how often it
 * allocated.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define PAUSE_NS 20000 /* between two calls: exact enough, and few enough to be written down */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void *function(void *driver, const char *name)
{
	void *found = driver ? dlsym(driver, name) : NULL;

	if (!found) {
		fprintf(stderr, "mapped: no %s\n", name);
		exit(1);
	}
	return found;
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = now_ns(), end_ns, next_ns;
	void *driver = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	CUresult (*init)(unsigned int) = function(driver, "cuInit");
	CUresult (*create)(CUcontext *, unsigned int, CUdevice) =
		function(driver, "cuCtxCreate_v2");
	CUresult (*allocate)(CUdeviceptr *, size_t) = function(driver, "cuMemAlloc_v2");
	CUresult (*release)(CUdeviceptr) = function(driver, "cuMemFree_v2");
	unsigned long number = 0;
	CUcontext context;
	CUdeviceptr block;

	if (init(0) || create(&context, 0, 0))
		return 1;
	end_ns = now_ns() + strtoul(argv[2], NULL, 0) * 1000000;
	for (next_ns = 0; now_ns() < end_ns; next_ns = now_ns() + PAUSE_NS) {
		while (now_ns() < next_ns)
			;
		if (allocate(&block, ++number) || release(block))
			return 1;
	}
	printf("%d %llu %lu\n", getpid(), (unsigned long long)begin_ns, number);
	return 0;
}
