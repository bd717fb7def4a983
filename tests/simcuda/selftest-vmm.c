/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: addresses and memory apart.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selftest-vmm.h"

static void test_reservations(void)
{
	CUdeviceptr a, b, start_addr;
	size_t size;
	int mapped;

	start();
	FAILS(INVALID_VALUE, cuMemAddressReserve(NULL, GRANULE, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&a, 0, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&a, GRANULE + 1, 0, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&a, GRANULE, 3 * GRANULE, 0, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&a, GRANULE, 0, 1, 0));
	FAILS(INVALID_VALUE, cuMemAddressReserve(&a, GRANULE, 0, 0, 1));
	FAILS(OUT_OF_MEMORY, cuMemAddressReserve(&a, 1ul << 50, 0, 0, 0));
	a = reserve(GRANULE);
	OK(cuMemAddressReserve(&b, 5 * GRANULE, 16 * GRANULE, 0, 0));
	CHECK(!(a % GRANULE) && !(b % (16 * GRANULE)));
	CHECK(used() == 0); /* addresses are free */
	OK(cuPointerGetAttribute(&start_addr, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, b + GRANULE));
	OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, b + GRANULE));
	OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, b + GRANULE));
	CHECK(start_addr == b && size == 5 * GRANULE && !mapped);
	FAILS(INVALID_VALUE,
	      cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_RANGE_SIZE, b + 5 * GRANULE));
	FAILS(INVALID_VALUE,
	      cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(b, 0, 1));
	FAILS(INVALID_VALUE, cuMemcpy(b, (uintptr_t)&a, 1));
	FAILS(INVALID_VALUE, cuMemFree_v2(b));
	FAILS(INVALID_VALUE, cuMemAddressFree(b, 4 * GRANULE));
	FAILS(INVALID_VALUE, cuMemAddressFree(b + GRANULE, 4 * GRANULE));
	OK(cuMemAddressFree(b, 5 * GRANULE));
	FAILS(INVALID_VALUE, cuMemAddressFree(b, 5 * GRANULE));
	OK(cuMemAddressFree(a, GRANULE));
	CHECK(reserve(GRANULE) == a);
}

static void test_physical(void)
{
	CUmemAllocationProp prop = on_device(0), found;
	handle_t handle;
	size_t size;

	start();
	OK(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(size == GRANULE);
	FAILS(INVALID_VALUE, cuMemGetAllocationGranularity(&size, NULL, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&handle, GRANULE + 4096, &prop, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&handle, 0, &prop, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&handle, GRANULE, &prop, 1));
	FAILS(INVALID_VALUE, cuMemCreate(NULL, GRANULE, &prop, 0));
	FAILS(INVALID_VALUE, cuMemCreate(&handle, GRANULE, NULL, 0));
	prop = on_device(1);
	FAILS(INVALID_DEVICE, cuMemCreate(&handle, GRANULE, &prop, 0));
	prop = on_device(0);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	FAILS(NOT_SUPPORTED, cuMemCreate(&handle, GRANULE, &prop, 0));
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	FAILS(OUT_OF_MEMORY, cuMemCreate(&handle, 66 * MIB, &prop, 0));
	OK(cuMemCreate(&handle, 64 * MIB, &prop, 0));
	CHECK(used() == 64 * MIB);
	FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&(CUdeviceptr){ 0 }, 1));
	OK(cuMemGetAllocationPropertiesFromHandle(&found, handle));
	CHECK(found.location.type == CU_MEM_LOCATION_TYPE_DEVICE && found.location.id == 0);
	OK(cuMemRelease(handle));
	FAILS(INVALID_VALUE, cuMemRelease(handle));
	FAILS(INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(&found, handle));
	CHECK(used() == 0);
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	OK(cuMemCreate(&handle, 128 * MIB, &prop, 0)); /* of which there is more */
	OK(cuMemRelease(handle));
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	FAILS(INVALID_VALUE, cuMemCreate(&handle, GRANULE, &prop, 0));
	allocate(64 * MIB);
}

/* One reservation, two handles, the first of them mapped twice. */
static void test_mapping(void)
{
	handle_t a, b, found;
	CUdeviceptr ptr, start_addr;
	char out[16] = { 0 };
	int ordinal;
	size_t size;

	start();
	a = create(2 * GRANULE, CU_MEM_HANDLE_TYPE_NONE);
	b = create(GRANULE, CU_MEM_HANDLE_TYPE_NONE);
	ptr = reserve(6 * GRANULE);
	FAILS(INVALID_VALUE, cuMemMap(ptr, 3 * GRANULE, 0, a, 0));
	FAILS(INVALID_VALUE, cuMemMap(ptr, 2 * GRANULE, GRANULE, a, 0));
	FAILS(INVALID_VALUE, cuMemMap(ptr + 4096, GRANULE, 0, a, 0));
	FAILS(INVALID_VALUE, cuMemMap(ptr, GRANULE, 0, a + 8, 0));
	FAILS(INVALID_VALUE, cuMemMap(ptr, GRANULE, 0, a, 1));
	FAILS(INVALID_VALUE, cuMemMap(ptr + 5 * GRANULE, 2 * GRANULE, 0, a, 0));
	OK(cuMemMap(ptr, 2 * GRANULE, 0, a, 0));
	FAILS(INVALID_VALUE, cuMemMap(ptr + GRANULE, GRANULE, 0, b, 0));
	OK(cuMemMap(ptr + 2 * GRANULE, GRANULE, 0, b, 0));
	OK(cuMemMap(ptr + 3 * GRANULE, 2 * GRANULE, 0, a, 0));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1)); /* no access yet */
	allow(ptr, 5 * GRANULE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemsetD8_v2(ptr, 1, 5 * GRANULE));
	OK(cuMemsetD8_v2(ptr + 2 * GRANULE - 8, 2, 16)); /* the end of a and the start of b */
	OK(cuMemcpyDtoH_v2(out, ptr + 5 * GRANULE - 8, 8));
	CHECK(out[0] == 2 && out[7] == 2);
	CHECK(byte_at(ptr + 2 * GRANULE + 7) == 2 && byte_at(ptr + 2 * GRANULE + 8) == 1);
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 5 * GRANULE + 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(out, ptr + 5 * GRANULE - 8, 16));
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr + 5));
	CHECK(ordinal == 0);
	OK(cuMemGetAddressRange_v2(&start_addr, &size, ptr + 3 * GRANULE + 1));
	CHECK(start_addr == ptr + 3 * GRANULE && size == 2 * GRANULE);
	OK(cuMemRetainAllocationHandle(&found, (void *)(uintptr_t)(ptr + GRANULE + 1)));
	CHECK(found == a);
	FAILS(INVALID_VALUE,
	      cuMemRetainAllocationHandle(&found, (void *)(uintptr_t)(ptr + 5 * GRANULE)));
	FAILS(INVALID_VALUE, cuMemRetainAllocationHandle(&found, out));
	OK(cuMemRelease(a));
	OK(cuMemRelease(a));
	FAILS(INVALID_VALUE, cuMemRelease(a));
	FAILS(INVALID_VALUE, cuMemAddressFree(ptr, 6 * GRANULE));
	FAILS(INVALID_VALUE, cuMemUnmap(ptr, GRANULE));
	FAILS(INVALID_VALUE, cuMemUnmap(ptr + GRANULE, GRANULE));
	FAILS(INVALID_VALUE, cuMemUnmap(ptr, 6 * GRANULE));
	OK(cuMemUnmap(ptr, 3 * GRANULE)); /* two mappings at once */
	FAILS(INVALID_VALUE, cuMemUnmap(ptr, 3 * GRANULE));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1));
	CHECK(used() == 3 * GRANULE && byte_at(ptr + 3 * GRANULE) == 1);
	OK(cuMemUnmap(ptr + 3 * GRANULE, 2 * GRANULE)); /* the last of a */
	CHECK(used() == GRANULE);
	OK(cuMemRelease(b));
	CHECK(used() == 0);
	OK(cuMemAddressFree(ptr, 6 * GRANULE));
}

/* Mapped behind the first granule of the range, which is memory of a device. */
static void test_access_to_host_memory(CUdeviceptr ptr)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_HOST, 0 },
				 CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAllocationProp prop = on_device(0);
	unsigned int type;
	handle_t handle;

	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	OK(cuMemCreate(&handle, GRANULE, &prop, 0));
	OK(cuMemMap(ptr + GRANULE, GRANULE, 0, handle, 0));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr + GRANULE));
	CHECK(type == CU_MEMORYTYPE_HOST);
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, 2 * GRANULE, &desc, 1));
	OK(cuMemSetAccess(ptr + GRANULE, GRANULE, &desc, 1));
	*(volatile char *)(uintptr_t)(ptr + GRANULE) = 9;
	CHECK(byte_at(ptr + GRANULE) == 9);
}

static void test_access(void)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 3 };
	CUmemAllocationProp prop = on_device(0);
	unsigned long long flags;
	CUdeviceptr ptr, other;
	char byte = 7;
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = &byte,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = 1,
		.Height = 1,
	};

	start();
	ptr = reserve(2 * GRANULE);
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, GRANULE, &desc, 1));
	OK(cuMemMap(ptr, GRANULE, 0, create(GRANULE, 0), 0));
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, 2 * GRANULE, &desc, 1));
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, GRANULE / 2, &desc, 1));
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, GRANULE, &desc, 0));
	desc.flags = 2;
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, GRANULE, &desc, 1));
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	desc.location.id = 2;
	FAILS(INVALID_DEVICE, cuMemSetAccess(ptr, GRANULE, &desc, 1));
	desc.location.type = CU_MEM_LOCATION_TYPE_HOST;
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, GRANULE, &desc, 1));
	desc.location = prop.location;
	OK(cuMemGetAccess(&flags, &desc.location, ptr));
	CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
	OK(cuMemSetAccess(ptr, GRANULE, &desc, 1));
	OK(cuMemGetAccess(&flags, &desc.location, ptr + GRANULE - 1));
	CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
	OK(cuMemGetAccess(&flags, &(CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 1 }, ptr));
	CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
	FAILS(INVALID_VALUE, cuMemGetAccess(&flags, &desc.location, ptr + GRANULE));
	other = allocate(1);
	FAILS(INVALID_VALUE, cuMemGetAccess(&flags, &desc.location, other));
	copy.dstDevice = ptr;
	OK(cuMemcpyDtoD_v2(other, ptr, 1));
	FAILS(INVALID_VALUE, cuMemcpyDtoD_v2(ptr, other, 1));
	FAILS(INVALID_VALUE, cuMemcpyHtoD_v2(ptr, &byte, 1));
	FAILS(INVALID_VALUE, cuMemcpy2D_v2(&copy));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1));
	allow(ptr, GRANULE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	FAILS(INVALID_VALUE, cuMemcpyDtoH_v2(&byte, ptr, 1));
	test_access_to_host_memory(ptr);
}

/* More handles than a process may have files open. */
static void test_many(void)
{
	enum { COUNT = 3000 };
	static handle_t handles[COUNT];
	CUdeviceptr ptr;

	start();
	ptr = reserve(COUNT * GRANULE);
	for (unsigned int i = 0; i < COUNT; i++) {
		handles[i] = create(GRANULE, 0);
		OK(cuMemMap(ptr + i * GRANULE, GRANULE, 0, handles[i], 0));
		OK(cuMemRelease(handles[i]));
	}
	allow(ptr, COUNT * GRANULE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	for (unsigned int i = 0; i < COUNT; i++)
		OK(cuMemsetD32_v2(ptr + i * GRANULE, i, 1));
	CHECK(byte_at(ptr + 2999 * GRANULE) == (char)2999);
	CHECK(used() == COUNT * GRANULE);
	OK(cuMemUnmap(ptr, COUNT * GRANULE));
	CHECK(used() == 0);
}

/* With the context goes what was imported in it, but neither physical memory nor addresses. */
static void test_contexts(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = 1, .size = 4096 };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = 4096 };
	CUcontext first = start(), second;
	CUdeviceptr ptr, external;
	CUexternalMemory memory;
	handle_t handle;
	int fd;

	OK(cuCtxCreate_v2(&second, 0, 0));
	handle = create(GRANULE, 0);
	ptr = map_anywhere(GRANULE, handle);
	desc.handle.fd = fd = memfd_create("external", 0);
	CHECK(!ftruncate(fd, 4096));
	OK(cuImportExternalMemory(&memory, &desc));
	OK(cuExternalMemoryGetMappedBuffer(&external, memory, &buffer));
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxSetCurrent(first));
	CHECK(fcntl(fd, F_GETFD) < 0);
	FAILS(INVALID_HANDLE, cuDestroyExternalMemory(memory));
	FAILS(INVALID_VALUE, cuMemFree_v2(external));
	CHECK(reserve(GRANULE) == external); /* its place was given back */
	CHECK(used() == GRANULE);
	OK(cuMemsetD8_v2(ptr, 1, GRANULE));
	OK(cuMemUnmap(ptr, GRANULE));
	OK(cuMemAddressFree(ptr, GRANULE));
	CHECK(used() == GRANULE);
	OK(cuMemRelease(handle));
	CHECK(used() == 0);
}

/* Resetting a primary context leaves physical memory and what maps it. */
static void test_reset(void)
{
	CUmemAllocationProp prop = on_device(1);
	CUdeviceptr ptr, only_mapped;
	handle_t handle, other, host, temporary;
	CUcontext context;

	OK(cuInit(0));
	handle = create(GRANULE, 0); /* without a context */
	OK(cuMemCreate(&other, GRANULE, &prop, 0));
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	OK(cuMemCreate(&host, GRANULE, &prop, 0));
	start();
	ptr = reserve(2 * GRANULE);
	OK(cuMemMap(ptr, GRANULE, 0, handle, 0));
	OK(cuMemMap(ptr + GRANULE, GRANULE, 0, other, 0));
	allow(ptr, 2 * GRANULE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemsetD8_v2(ptr, 1, 2 * GRANULE));
	temporary = create(GRANULE, 0);
	only_mapped = map_anywhere(GRANULE, temporary);
	OK(cuMemRelease(temporary));
	CHECK(used() == 2 * GRANULE);
	OK(cuDevicePrimaryCtxReset_v2(0));
	start();
	CHECK(used() == 2 * GRANULE);
	OK(cuMemsetD8_v2(only_mapped, 1, 1));
	OK(cuDevicePrimaryCtxRetain(&context, 1));
	OK(cuDevicePrimaryCtxReset_v2(1));
	CHECK(byte_at(ptr + GRANULE) == 1);
	OK(cuMemUnmap(only_mapped, GRANULE));
	OK(cuMemAddressFree(only_mapped, GRANULE));
	CHECK(used() == GRANULE);
	OK(cuMemUnmap(ptr, GRANULE));
	OK(cuMemUnmap(ptr + GRANULE, GRANULE));
	OK(cuMemAddressFree(ptr, 2 * GRANULE));
	OK(cuMemRelease(handle));
	OK(cuMemRelease(other));
	OK(cuMemRelease(host));
	CHECK(used() == 0);
}

const struct selftest selftests[] = {
	{ "reservations", test_reservations, { NULL }, NULL, 0 },
	{ "physical", test_physical, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "mapping", test_mapping, { NULL }, NULL, 0 },
	{ "access", test_access, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "many", test_many, { NULL }, NULL, 0 },
	{ "contexts", test_contexts, { NULL }, NULL, 0 },
	{ "reset", test_reset, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
