// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that wants to cost its observer as much as it can: each of its calls has something new
 * in it. It brings its own driver, which gives whatever is asked for.
 *
 * usage: novel plain|results|contexts|streams|handles|names COUNT [GAP_US]
 *
 *   plain     allocates and frees, what the others are compared with
 *   results   allocates in vain, each time with another result
 *   contexts  makes contexts, and allocates and frees in each
 *   streams   allocates and frees on ever new streams
 *   handles   launches functions that were never named
 *   names     names functions, each another, and launches each
 *
 * Begins when there is a line in standard input. Two calls each time, after which it sleeps for so
 * long. Prints how often.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the next allocation answers. */
extern int novel_result;
/* By the names and with the arguments of the driver's. */
int cuInit(unsigned int flags);
int cuMemAlloc_v2(uintptr_t *address, size_t bytes);
int cuMemFree_v2(uintptr_t address);
int cuMemAllocAsync(uintptr_t *address, size_t bytes, uintptr_t stream);
int cuMemFreeAsync(uintptr_t address, uintptr_t stream);
int cuCtxCreate_v2(uintptr_t *context, unsigned int flags, int device);
int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name);
int cuLaunchKernel(uintptr_t function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, uintptr_t stream,
		   void **parameters, void **extra);

#ifdef DRIVER

static uintptr_t next_address = 0x7f0000000000, next_handle = 0x5500000000;

int novel_result;

int cuInit(unsigned int flags)
{
	return (int)flags;
}

int cuMemAlloc_v2(uintptr_t *address, size_t bytes)
{
	*address = next_address;
	next_address += bytes;
	return novel_result;
}

int cuMemFree_v2(uintptr_t address)
{
	(void)address;
	return 0;
}

int cuMemAllocAsync(uintptr_t *address, size_t bytes, uintptr_t stream)
{
	(void)stream;
	return cuMemAlloc_v2(address, bytes);
}

int cuMemFreeAsync(uintptr_t address, uintptr_t stream)
{
	(void)address;
	(void)stream;
	return 0;
}

int cuCtxCreate_v2(uintptr_t *context, unsigned int flags, int device)
{
	(void)flags;
	(void)device;
	*context = next_handle += 64;
	return 0;
}

int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name)
{
	(void)module;
	(void)name;
	*function = next_handle += 64;
	return 0;
}

int cuLaunchKernel(uintptr_t function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, uintptr_t stream,
		   void **parameters, void **extra)
{
	(void)shared_bytes;
	(void)stream;
	(void)parameters;
	(void)extra;
	return function != 0 && grid_x + grid_y + grid_z + block_x + block_y + block_z > 0 ? 0 : 1;
}

#else

#define BYTES 4096

static void plain(unsigned long i)
{
	uintptr_t address;

	(void)i;
	cuMemAlloc_v2(&address, BYTES);
	cuMemFree_v2(address);
}

static void results(unsigned long i)
{
	uintptr_t address;

	for (int half = 0; half < 2; half++) {
		novel_result = (int)(1000 + 2 * i) + half;
		cuMemAlloc_v2(&address, BYTES);
	}
}

static void contexts(unsigned long i)
{
	uintptr_t context;

	cuCtxCreate_v2(&context, 0, 0);
	if (i % 2)
		plain(i);
}

static void streams(unsigned long i)
{
	uintptr_t address;

	cuMemAllocAsync(&address, BYTES, 0x6600000000 + 64 * i);
	cuMemFreeAsync(address, 0x6600000000 + 64 * i);
}

static void launch(uintptr_t function)
{
	cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, NULL, NULL);
}

static void handles(unsigned long i)
{
	launch(0x7700000000 + 128 * i);
	launch(0x7700000000 + 128 * i + 64);
}

static void names(unsigned long i)
{
	char name[64];
	uintptr_t function;

	snprintf(name, sizeof(name), "kernel_of_a_name_as_long_as_many_are_%lu", i);
	cuModuleGetFunction(&function, 1, name);
	launch(function);
}

static const struct kind {
	const char *name;
	void (*calls)(unsigned long i);
} kinds[] = {
	{ "plain", plain },     { "results", results }, { "contexts", contexts },
	{ "streams", streams }, { "handles", handles }, { "names", names },
};

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	useconds_t gap = argc > 3 ? (useconds_t)strtoul(argv[3], NULL, 10) : 0;

	for (size_t kind = 0; argc > 2 && kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		if (strcmp(argv[1], kinds[kind].name) != 0)
			continue;
		cuInit(0);
		if (getchar() == EOF)
			return 1;
		for (unsigned long i = 0; i < count; i++) {
			kinds[kind].calls(i);
			if (gap)
				usleep(gap);
		}
		printf("%lu\n", count);
		return 0;
	}
	fprintf(stderr, "usage: novel plain|results|contexts|streams|handles|names COUNT "
			"[GAP_US]\n");
	return 2;
}

#endif /* DRIVER */
