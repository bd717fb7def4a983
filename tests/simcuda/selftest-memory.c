/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: allocation, pools, copies.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest-driver.h"

static void test_allocation(void)
{
	CUdeviceptr a, b, base;
	size_t size;

	start();
	FAILS(INVALID_VALUE, cuMemAlloc_v2(&a, 0));
	FAILS(INVALID_VALUE, cuMemAlloc_v2(NULL, 1));
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&a, (size_t)-1));
	a = allocate(1000);
	b = allocate(1000);
	CHECK(!(a % 512) && !(b % 512) && used() == 2048);
	OK(cuMemGetAddressRange_v2(&base, &size, b + 999));
	CHECK(base == b && size == 1000);
	FAILS(NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, b + 1000));
	FAILS(INVALID_VALUE, cuMemFree_v2(b + 512));
	OK(cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemFree_v2(a));
	OK(cuMemFree_v2(b));
	CHECK(allocate(1024) == b && allocate(513) == a); /* the last freed first */
	OK(cuMemFree_v2(a));
	CHECK(allocate(100) != a); /* another size: elsewhere, while there is room */
}

static void test_pitch(void)
{
	CUdeviceptr ptr;
	size_t pitch;

	start();
	OK(cuMemAllocPitch_v2(&ptr, &pitch, 1000, 30, 4));
	CHECK(pitch == 1024 && used() == 1024 * 30);
	FAILS(INVALID_VALUE, cuMemAllocPitch_v2(&ptr, &pitch, 1000, 30, 3));
	FAILS(INVALID_VALUE, cuMemAllocPitch_v2(&ptr, &pitch, 1000, 0, 4));
}

static void test_capacity(void)
{
	enum { COUNT = 128 };
	CUdeviceptr ptrs[COUNT], all;

	start();
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&all, 64 * MIB + 1));
	for (int i = 0; i < COUNT; i++)
		ptrs[i] = allocate(MIB / 2);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&all, 1));
	for (int i = 0; i < COUNT; i += 2)
		OK(cuMemFree_v2(ptrs[i]));
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&all, MIB)); /* room enough, but in pieces */
	OK(cuMemFree_v2(ptrs[1]));
	CHECK(allocate(3 * MIB / 2) == ptrs[0]);
	for (int i = 3; i < COUNT; i += 2)
		OK(cuMemFree_v2(ptrs[i]));
	OK(cuMemFree_v2(ptrs[0]));
	all = allocate(64 * MIB);
	OK(cuMemFree_v2(all));
	CHECK(used() == 0);
}

static void hold(int begun)
{
	start();
	allocate(40 * MIB);
	CHECK(write(begun, "", 1) == 1);
	pause();
}

/* Until the other ends, however it does. */
static void test_tenants(void)
{
	char path[] = "/tmp/simcuda-tenants-XXXXXX", byte;
	int pipes[2], file = mkstemp(path);
	size_t left, total;
	CUdeviceptr ptr;
	pid_t other;

	CHECK(file >= 0 && !setenv("SIMCUDA_TENANTS", path, 1) && !pipe(pipes));
	other = fork();
	if (!other)
		hold(pipes[1]);
	CHECK(read(pipes[0], &byte, 1) == 1);
	start();
	OK(cuMemGetInfo_v2(&left, &total));
	CHECK(left == 24 * MIB && total == 64 * MIB);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&ptr, 25 * MIB));
	ptr = allocate(24 * MIB);
	CHECK(!kill(other, SIGKILL) && waitpid(other, NULL, 0) == other);
	allocate(40 * MIB);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&ptr, 1));
	close(file);
	unlink(path);
}

static unsigned int next(unsigned int *seed)
{
	return (*seed = *seed * 1664525 + 1013904223) >> 8;
}

/* The same calls on two devices of the same size give the same addresses, but for the base. */
static void test_deterministic(void)
{
	static CUdeviceptr offsets[2][20000];
	CUcontext context;

	OK(cuInit(0));
	for (int device = 0; device < 2; device++) {
		CUdeviceptr live[64] = { 0 }, base;
		unsigned int seed = 1;

		OK(cuCtxCreate_v2(&context, 0, device));
		base = allocate(1);
		for (int i = 0; i < 20000; i++) {
			unsigned int slot = next(&seed) % 64;

			if (live[slot])
				OK(cuMemFree_v2(live[slot]));
			if (cuMemAlloc_v2(&live[slot], 1 + next(&seed) % (2 * MIB)))
				live[slot] = 0;
			offsets[device][i] = live[slot] ? live[slot] - base : 0;
		}
	}
	CHECK(!memcmp(offsets[0], offsets[1], sizeof(offsets[0])));
}

static CUcontext shared_context;

static void churn(unsigned int index)
{
	enum { LIVE = 256, ROUNDS = 20000 };
	CUdeviceptr live[LIVE] = { 0 };
	unsigned int seed = index + 1;

	OK(cuCtxSetCurrent(shared_context));
	for (int i = 0; i < ROUNDS; i++) {
		unsigned int slot = next(&seed) % LIVE;
		unsigned int mark = index << 16 | slot, found;

		if (!live[slot]) {
			if (cuMemAlloc_v2(&live[slot], 4 + next(&seed) % 100000))
				live[slot] = 0;
			else
				OK(cuMemcpyHtoD_v2(live[slot], &mark, sizeof(mark)));
			continue;
		}
		OK(cuMemcpyDtoH_v2(&found, live[slot], sizeof(found)));
		CHECK(found == mark);
		OK(cuMemFree_v2(live[slot]));
		live[slot] = 0;
	}
	for (int i = 0; i < LIVE; i++)
		if (live[i])
			OK(cuMemFree_v2(live[i]));
}

/* So little memory that blocks are merged and carved all the time. */
static void test_threads(void)
{
	CUdeviceptr all;

	shared_context = start();
	selftest_threads(8, churn);
	CHECK(used() == 0);
	OK(cuMemAlloc_v2(&all, 64 * MIB));
}

static unsigned int pointer_int(CUdeviceptr ptr, CUpointer_attribute attribute)
{
	unsigned int value = 0;

	OK(cuPointerGetAttribute(&value, attribute, ptr));
	return value;
}

static void test_host_memory(void)
{
	CUcontext context = start(), owner;
	CUdeviceptr managed, device;
	unsigned int flags;
	char own[10000];
	char *pinned;

	OK(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)managed, 1, MIB);
	CHECK(pointer_int(managed + 5, CU_POINTER_ATTRIBUTE_IS_MANAGED) == 1);
	CHECK(pointer_int(managed, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) == CU_MEMORYTYPE_DEVICE);
	FAILS(INVALID_VALUE, cuMemFreeHost((void *)(uintptr_t)managed));
	OK(cuMemFree_v2(managed));

	OK(cuMemHostAlloc((void **)&pinned, MIB, CU_MEMHOSTALLOC_PORTABLE));
	memset(pinned, 2, MIB);
	CHECK(pointer_int((uintptr_t)pinned, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) ==
	      CU_MEMORYTYPE_HOST);
	OK(cuMemHostGetFlags(&flags, pinned + 1));
	CHECK(flags == CU_MEMHOSTALLOC_PORTABLE);
	OK(cuMemHostGetDevicePointer_v2(&device, pinned, 0));
	CHECK(device == (uintptr_t)pinned);
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(pinned, 10, 0));
	FAILS(INVALID_VALUE, cuMemFree_v2((uintptr_t)pinned));
	OK(cuMemFreeHost(pinned));
	FAILS(INVALID_VALUE, cuMemFreeHost(pinned));

	FAILS(INVALID_VALUE,
	      cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)own));
	OK(cuMemHostRegister_v2(own, sizeof(own), 0));
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)own));
	CHECK(owner == context);
	FAILS(HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own + 9999, 10, 0));
	FAILS(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own + 1));
	OK(cuMemHostUnregister(own));
	FAILS(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
	CHECK(used() == 0);
}

static uint64_t pool_value(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	uint64_t value;

	OK(cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

#define RESERVED(pool) pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
#define USED(pool) pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)

static CUmemoryPool make_pool(size_t max_bytes)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
		.maxSize = max_bytes,
	};
	CUmemoryPool pool;

	OK(cuMemPoolCreate(&pool, &props));
	return pool;
}

static void test_pool(void)
{
	uint64_t threshold = 3 * MIB, zero = 0;
	CUdeviceptr a, b, again;
	CUmemoryPool pool;

	start();
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&a, 2 * MIB, NULL));
	OK(cuMemAllocAsync(&b, 2 * MIB, NULL));
	CHECK(RESERVED(pool) == 4 * MIB && USED(pool) == 4 * MIB && used() == 4 * MIB);
	OK(cuMemFreeAsync(a, NULL));
	FAILS(INVALID_VALUE, cuMemFreeAsync(a, NULL));
	FAILS(INVALID_VALUE, cuMemcpyDtoD_v2(a, b, 1));
	CHECK(RESERVED(pool) == 4 * MIB && USED(pool) == 2 * MIB);
	OK(cuMemAllocAsync(&again, 2 * MIB, NULL));
	CHECK(again == a && RESERVED(pool) == 4 * MIB);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemFree_v2(b));
	CHECK(USED(pool) == 0 && used() == 4 * MIB);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	OK(cuStreamSynchronize(NULL));
	CHECK(RESERVED(pool) == 2 * MIB || RESERVED(pool) == 4 * MIB);
	OK(cuMemPoolTrimTo(pool, 2 * MIB));
	CHECK(RESERVED(pool) == 2 * MIB && used() == 2 * MIB);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
	OK(cuCtxSynchronize());
	CHECK(RESERVED(pool) == 0 && used() == 0);
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 4 * MIB);
	FAILS(INVALID_VALUE,
	      cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &threshold));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
	FAILS(INVALID_VALUE, cuMemPoolDestroy(pool));
}

static void test_own_pool(void)
{
	CUmemoryPool pool, current;
	CUdeviceptr a, b;

	start();
	pool = make_pool(8 * MIB);
	OK(cuDeviceSetMemPool(0, pool));
	OK(cuMemAllocAsync(&a, 6 * MIB, NULL));
	CHECK(RESERVED(pool) == 6 * MIB);
	FAILS(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 4 * MIB, pool, NULL));
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemAllocFromPoolAsync(&b, 4 * MIB, pool, NULL)); /* what is parked makes way */
	OK(cuMemPoolDestroy(pool));
	OK(cuDeviceGetMemPool(&current, 0));
	CHECK(current != pool);
	FAILS(INVALID_VALUE, cuMemAllocFromPoolAsync(&a, 1, pool, NULL));
	OK(cuMemsetD8_v2(b, 1, 4 * MIB)); /* outstanding, so still there */
	OK(cuMemFreeAsync(b, NULL));
	CHECK(used() == 0);

	pool = make_pool(0);
	OK(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, NULL));
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemAllocFromPoolAsync(&a, 61 * MIB, pool, NULL)); /* the device is full otherwise */
	OK(cuDevicePrimaryCtxReset_v2(0));
	start();
	CHECK(used() == 61 * MIB);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemPoolTrimTo(pool, 0));
	CHECK(used() == 0);
}

static void test_copies(void)
{
	unsigned char out[4096] = { 0 }, in[4096];
	CUdeviceptr a, b;

	start();
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 7);
	a = allocate(4096);
	b = allocate(4096);
	OK(cuMemcpyHtoD_v2(a, in, 4096));
	OK(cuMemcpyDtoDAsync_v2(b, a, 4096, CU_STREAM_PER_THREAD));
	OK(cuMemcpyDtoH_v2_ptds(out, b, 4096));
	CHECK(!memcmp(in, out, 4096));
	OK(cuMemcpy(a, (uintptr_t)(in + 1), 16));
	OK(cuMemcpyAsync_ptsz((uintptr_t)out, a, 16, NULL));
	CHECK(!memcmp(in + 1, out, 16));
	OK(cuMemcpyHtoD_v2(a, in, 0));
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(a + 1, in, 4096));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(out, (uintptr_t)in, 16));
	FAILS(INVALID_HANDLE, cuMemcpyDtoHAsync_v2(out, a, 16, (CUstream)&a));
	OK(cuMemsetD32_v2(a, 0x01020304, 1024));
	OK(cuMemsetD16Async(a + 4, 0x0506, 2, NULL));
	OK(cuMemcpyDtoH_v2(out, a, 12));
	CHECK(!memcmp(out, "\4\3\2\1\6\5\6\5\4\3\2\1", 12));
	FAILS(INVALID_VALUE, cuMemsetD32_v2(a + 1, 0, 1));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(a, 0, 4097));
	OK(cuMemFree_v2(a));
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(a, in, 16));
}

/* The oracle wants to know what the addresses are, of which nothing is known yet. */
static void test_too_early(void)
{
	char bytes[2] = { 0 };

	FAILS(NOT_INITIALIZED, cuMemcpy((uintptr_t)bytes, (uintptr_t)&bytes[1], 1));
}

static void log_too_early(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemcpy result=3 .* direction=HtoH ") == 1);
}

static void test_copies_2d(void)
{
	unsigned char in[10][100], out[10][100] = { 0 };
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcPitch = 100,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = 90,
		.Height = 10,
	};
	CUDA_MEMCPY2D back = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcXInBytes = 1,
		.srcY = 2,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = out,
		.dstPitch = 100,
		.WidthInBytes = 80,
		.Height = 8,
	};
	CUdeviceptr ptr;
	size_t pitch;

	start();
	for (size_t i = 0; i < sizeof(in); i++)
		in[i / 100][i % 100] = (unsigned char)i;
	OK(cuMemAllocPitch_v2(&ptr, &pitch, 100, 10, 4));
	copy.dstDevice = back.srcDevice = ptr;
	copy.dstPitch = back.srcPitch = pitch;
	OK(cuMemcpy2DUnaligned_v2(&copy));
	OK(cuMemcpy2DAsync_v2_ptsz(&back, NULL));
	for (int y = 0; y < 8; y++)
		CHECK(!memcmp(out[y], in[y + 2] + 1, 80) && !out[y][80]);
	copy.Height = 11;
	FAILS(INVALID_VALUE, cuMemcpy2D_v2(&copy));
	copy.Height = 10;
	copy.srcPitch = 89;
	FAILS(INVALID_VALUE, cuMemcpy2D_v2(&copy));
	OK(cuMemsetD2D8_v2(ptr, pitch, 9, 100, 10));
	OK(cuMemcpy2D_v2(&back));
	CHECK(out[7][79] == 9);
}

static void test_arrays(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 8,
		.Height = 4,
		.Depth = 2,
		.Format = CU_AD_FORMAT_UNSIGNED_INT16,
		.NumChannels = 2,
	};
	unsigned char in[2][4][32], out[2][4][32] = { 0 };
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcPitch = 32,
		.srcHeight = 4,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 32,
		.Height = 4,
		.Depth = 2,
	};
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC description = { 0 };
	CUtexObject texture;
	CUsurfObject surface;

	start();
	for (size_t i = 0; i < sizeof(in); i++)
		in[i / 128][i / 32 % 4][i % 32] = (unsigned char)i;
	OK(cuArray3DCreate_v2(&copy.dstArray, &d));
	CHECK(used() == 512);
	OK(cuMemcpy3D_v2(&copy));
	OK(cuMemcpyAtoH_v2(out, copy.dstArray, 0, sizeof(out)));
	CHECK(!memcmp(in, out, sizeof(out)));
	FAILS(INVALID_VALUE, cuMemcpyAtoH_v2(out, copy.dstArray, 1, sizeof(out)));
	copy.dstZ = 1;
	FAILS(INVALID_VALUE, cuMemcpy3D_v2(&copy));
	resource.res.array.hArray = copy.dstArray;
	OK(cuTexObjectCreate(&texture, &resource, &description, NULL));
	OK(cuTexObjectDestroy(texture));
	FAILS(INVALID_VALUE, cuTexObjectDestroy(texture));
	OK(cuSurfObjectCreate(&surface, &resource));
	OK(cuSurfObjectDestroy(surface));
	FAILS(INVALID_VALUE, cuSurfObjectDestroy(surface));
	OK(cuArrayDestroy(copy.dstArray));
	FAILS(INVALID_HANDLE, cuArrayDestroy(copy.dstArray));
	CHECK(used() == 0);
}

const struct selftest selftests[] = {
	{ "allocation", test_allocation, { NULL }, NULL, 0 },
	{ "pitch", test_pitch, { NULL }, NULL, 0 },
	{ "capacity", test_capacity, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "tenants", test_tenants, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "deterministic",
	  test_deterministic,
	  { "SIMCUDA_DEVICES=2", "SIMCUDA_MEMORY=64M" },
	  NULL,
	  0 },
	{ "threads", test_threads, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "host-memory", test_host_memory, { NULL }, NULL, 0 },
	{ "pool", test_pool, { NULL }, NULL, 0 },
	{ "own-pool", test_own_pool, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "copies", test_copies, { NULL }, NULL, 0 },
	{ "too-early", test_too_early, { NULL }, log_too_early, 0 },
	{ "copies-2d", test_copies_2d, { NULL }, NULL, 0 },
	{ "arrays", test_arrays, { NULL }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
