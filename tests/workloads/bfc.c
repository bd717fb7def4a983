// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program whose tensors lie in regions of TensorFlow's and JAX's allocator (tsl.c): a large one,
 * later a second one, and one of page-locked memory with an allocator of its own. It says on its
 * standard output what an observer has to have found, of the device.
 *
 * usage: bfc LIBRARY now|before STEPS
 *
 * `before` does half of the steps, then waits for a line of standard input. A line of its output is
 * "alloc|free|out_of_memory ADDRESS BYTES ALLOCATED RESERVED": the bytes that were asked for, and
 * the regions that have had a block. The last one: "end ALLOCATED RESERVED LIVE_BLOCKS".
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probed.h"
#include "simcuda.h"
#include "tsl.h"

#define BLOCKS 256
#define REGION (48ul << 20)
#define REGIONS 2
#define HOST_REGION (8ul << 20)

static const struct tsl_functions *tsl;
static struct tsl_allocator *device, *host;
static struct {
	void *addr;
	uint64_t bytes;
} live[BLOCKS];
static struct {
	CUdeviceptr addr;
	int is_used;
} regions[REGIONS];
static unsigned int regions_count;
static uint64_t allocated, reserved, live_count;

static void need(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "bfc: %s: %d\n", what, result);
	exit(2);
}

#define NEED(call) need(call, #call)

static void say(const char *what, const void *addr, uint64_t bytes)
{
	printf("%s 0x%" PRIxPTR " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, (uintptr_t)addr,
	       bytes, allocated, reserved);
}

static void take_region(void)
{
	CUdeviceptr addr;

	NEED(cuMemAlloc_v2(&addr, REGION));
	regions[regions_count++].addr = addr;
	tsl->extend(device, (void *)addr, REGION);
}

static void note_region(uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < regions_count; i++)
		if (addr >= regions[i].addr && addr - regions[i].addr < REGION &&
		    !regions[i].is_used) {
			regions[i].is_used = 1;
			reserved += REGION;
		}
}

static void give(unsigned int slot)
{
	const uint64_t bytes = rand() % 4 ? 1 + rand() % 100000 : (1 << 20) + rand() % (1 << 20);
	void *addr = tsl->allocate(device, bytes, rand() % 2);

	if (!addr) {
		say("out_of_memory", NULL, bytes);
		return;
	}
	note_region((uintptr_t)addr);
	live[slot].addr = addr;
	live[slot].bytes = bytes;
	live_count++;
	allocated += bytes;
	say("alloc", addr, bytes);
}

static void take_back(unsigned int slot)
{
	tsl->deallocate(device, live[slot].addr);
	allocated -= live[slot].bytes;
	live_count--;
	say("free", live[slot].addr, live[slot].bytes);
	live[slot].bytes = 0;
}

/* What is of the host, or nothing at all, is not to be seen. */
static void use_host(void)
{
	void *addr = tsl->allocate(host, 1 + rand() % 5000, 1);

	tsl->deallocate(host, addr);
	tsl->deallocate(device, NULL);
	if (tsl->allocate(device, 0, 0))
		exit(3);
}

static void steps(unsigned long count)
{
	while (count--) {
		const unsigned int slot = rand() % BLOCKS;

		if (live[slot].bytes)
			take_back(slot);
		else
			give(slot);
		use_host();
	}
}

static void begin(void)
{
	CUcontext context;
	CUdevice ordinal;
	void *region;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&ordinal, 0));
	NEED(cuDevicePrimaryCtxRetain(&context, ordinal));
	NEED(cuCtxSetCurrent(context));
	device = tsl->create();
	host = tsl->create();
	take_region();
	NEED(cuMemHostAlloc(&region, HOST_REGION, 0));
	tsl->extend(host, region, HOST_REGION);
}

int main(int argc, char **argv)
{
	const struct tsl_functions *(*functions)(void);
	unsigned long count;
	void *library;

	if (argc != 4)
		return 2;
	library = dlopen(argv[1], RTLD_NOW);
	functions = library ? (const struct tsl_functions *(*)(void))(
				      uintptr_t)dlsym(library, "tsl_functions") :
			      NULL;
	if (!functions)
		return 4;
	tsl = functions();
	setvbuf(stdout, NULL, _IOLBF, 0);
	count = strtoul(argv[3], NULL, 10);
	NEED(cuInit(0));
	if (strcmp(argv[2], "before") != 0)
		probed_wait(argv[1], tsl->probed);
	begin();
	steps(count / 2);
	if (!strcmp(argv[2], "before")) {
		puts("waiting");
		if (getchar() == EOF)
			return 5;
		probed_wait(argv[1], tsl->probed);
	}
	take_region();
	steps(count - count / 2);
	printf("end %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", allocated, reserved, live_count);
	return 0;
}
