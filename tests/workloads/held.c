// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocates on two devices in ten steps, or on one if it sees but one, a step for each line of
 * standard input; in two more, it maps physical memory, and ends the mapping. After a step it
 * writes what it has allocated with CUDA on either device: "0 BYTES 1 BYTES", for the driver's own
 * account to be held against.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "simcuda.h"

#define MIB (1ull << 20)

static CUcontext contexts[2];
static CUdeviceptr large, small[3], pooled, managed, other, mapped;
static CUmemGenericAllocationHandle physical;
static void *pinned;
static uint64_t held[2];
static int devices;

static void check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "held: %s: %d\n", what, (int)result);
	exit(1);
}

static void use(int device)
{
	CUuuid uuid;

	check(cuDeviceGetUuid_v2(&uuid, device), "cuDeviceGetUuid_v2");
	check(cuDevicePrimaryCtxRetain(&contexts[device], device), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(contexts[device]), "cuCtxSetCurrent");
}

static void take(int device, CUdeviceptr *block, uint64_t bytes)
{
	check(cuMemAlloc_v2(block, bytes), "cuMemAlloc");
	held[device] += bytes;
}

static void first(void)
{
	CUdeviceptr block;

	check(cuInit(0), "cuInit");
	check(cuDeviceGetCount(&devices), "cuDeviceGetCount");
	use(0);
	take(0, &block, 3 * MIB);
}

static void large_block(void)
{
	take(0, &large, 16 * MIB);
}

static void small_blocks(void)
{
	for (int i = 0; i < 3; i++)
		take(0, &small[i], 1024);
}

static void pool(void)
{
	check(cuMemAllocAsync(&pooled, 10 * MIB, NULL), "cuMemAllocAsync");
	check(cuStreamSynchronize(NULL), "cuStreamSynchronize");
	held[0] += 10 * MIB;
}

static void vmm(void)
{
	const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
						 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	check(cuMemCreate(&physical, 4 * MIB, &properties, 0), "cuMemCreate");
	held[0] += 4 * MIB;
}

/* Neither is memory of a device for certain. */
static void elsewhere(void)
{
	check(cuMemAllocManaged(&managed, 8 * MIB, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
	check(cuMemHostAlloc(&pinned, 2 * MIB, 0), "cuMemHostAlloc");
}

static void second_device(void)
{
	if (devices < 2)
		return;
	use(1);
	take(1, &other, 50 * MIB + 1);
}

static void free_large(void)
{
	check(cuCtxSetCurrent(contexts[0]), "cuCtxSetCurrent");
	check(cuMemFree_v2(large), "cuMemFree");
	held[0] -= 16 * MIB;
}

static void give_pool_back(void)
{
	CUmemoryPool memory;

	check(cuMemFreeAsync(pooled, NULL), "cuMemFreeAsync");
	check(cuStreamSynchronize(NULL), "cuStreamSynchronize");
	check(cuDeviceGetDefaultMemPool(&memory, 0), "cuDeviceGetDefaultMemPool");
	check(cuMemPoolTrimTo(memory, 0), "cuMemPoolTrimTo");
	held[0] -= 10 * MIB;
}

static void leave_second(void)
{
	if (devices < 2)
		return;
	check(cuDevicePrimaryCtxRelease_v2(1), "cuDevicePrimaryCtxRelease");
	held[1] = 0;
}

static void map(void)
{
	check(cuMemAddressReserve(&mapped, 4 * MIB, 0, 0, 0), "cuMemAddressReserve");
	check(cuMemMap(mapped, 4 * MIB, 0, physical, 0), "cuMemMap");
}

static void unmap(void)
{
	check(cuMemUnmap(mapped, 4 * MIB), "cuMemUnmap");
}

int main(void)
{
	static void (*const steps[])(
		void) = { first,         large_block, small_blocks,   pool,         vmm, elsewhere,
			  second_device, free_large,  give_pool_back, leave_second, map, unmap };
	char line[64];

	for (size_t i = 0; fgets(line, sizeof(line), stdin); i++) {
		if (i < sizeof(steps) / sizeof(*steps))
			steps[i]();
		printf("0 %" PRIu64 " 1 %" PRIu64 "\n", held[0], held[1]);
		fflush(stdout);
	}
	return 0;
}
