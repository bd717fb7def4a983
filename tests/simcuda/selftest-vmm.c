/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: addresses and memory apart, memory of other processes and APIs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest-driver.h"

#define GRANULE (2 * MIB)

typedef CUmemGenericAllocationHandle handle_t;

static CUmemAllocationProp on_device(int ordinal)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, ordinal },
	};
}

static handle_t create(size_t size, CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = on_device(0);
	handle_t handle;

	prop.requestedHandleTypes = type;
	OK(cuMemCreate(&handle, size, &prop, 0));
	return handle;
}

static CUdeviceptr reserve(size_t size)
{
	CUdeviceptr ptr;

	OK(cuMemAddressReserve(&ptr, size, 0, 0, 0));
	return ptr;
}

static void allow(CUdeviceptr ptr, size_t size, CUmemAccess_flags flags)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, flags };

	OK(cuMemSetAccess(ptr, size, &desc, 1));
}

/* Mapped, with access. */
static CUdeviceptr map_anywhere(size_t size, handle_t handle)
{
	CUdeviceptr ptr = reserve(size);

	OK(cuMemMap(ptr, size, 0, handle, 0));
	allow(ptr, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	return ptr;
}

static char byte_at(CUdeviceptr ptr)
{
	char byte;

	OK(cuMemcpyDtoH_v2(&byte, ptr, 1));
	return byte;
}

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

static void test_access(void)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 3 };
	CUmemAllocationProp prop = on_device(0);
	unsigned long long flags;
	CUdeviceptr ptr, other;
	unsigned int type;
	handle_t handle;
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

	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	OK(cuMemCreate(&handle, GRANULE, &prop, 0));
	OK(cuMemMap(ptr + GRANULE, GRANULE, 0, handle, 0));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr + GRANULE));
	CHECK(type == CU_MEMORYTYPE_HOST);
	desc.location.type = CU_MEM_LOCATION_TYPE_HOST;
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	FAILS(INVALID_VALUE, cuMemSetAccess(ptr, 2 * GRANULE, &desc, 1));
	OK(cuMemSetAccess(ptr + GRANULE, GRANULE, &desc, 1));
	*(volatile char *)(uintptr_t)(ptr + GRANULE) = 9;
	CHECK(byte_at(ptr + GRANULE) == 9);
}

/* Another process, which has not used CUDA so far; 0: this is it. Its exit status is checked. */
static pid_t other_process(int channel[2])
{
	pid_t pid;

	CHECK(!pipe(channel));
	pid = fork();
	CHECK(pid >= 0);
	return pid;
}

static void tell(int channel[2], const void *data, size_t size)
{
	CHECK(write(channel[1], data, size) == (ssize_t)size);
}

static void hear(int channel[2], void *data, size_t size)
{
	CHECK(read(channel[0], data, size) == (ssize_t)size);
}

static void finish(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void import_in_other(int channel[2])
{
	CUmemAllocationProp prop;
	CUdeviceptr ptr;
	handle_t handle;
	char path[64];
	int fd;

	start();
	hear(channel, &fd, sizeof(fd));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getppid(), fd);
	fd = open(path, O_RDWR);
	OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, 1));
	close(fd);
	OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
	CHECK(prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop.location.id == 0);
	ptr = map_anywhere(2 * GRANULE, handle);
	CHECK(used() == 0); /* of this process */
	CHECK(byte_at(ptr + GRANULE) == 5);
	OK(cuMemsetD8_v2(ptr, 6, 1));
	OK(cuMemRelease(handle));
	exit(0);
}

static void test_export(void)
{
	handle_t handle, again;
	int channel[2], fd;
	CUdeviceptr a, b;
	pid_t pid = other_process(channel);

	if (!pid)
		import_in_other(channel);
	start();
	FAILS(INVALID_VALUE, cuMemExportToShareableHandle(&fd, create(GRANULE, 0), 1, 0));
	handle = create(2 * GRANULE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	FAILS(NOT_SUPPORTED, cuMemExportToShareableHandle(&fd, handle, 2, 0));
	FAILS(INVALID_VALUE, cuMemExportToShareableHandle(&fd, handle, 1, 1));
	FAILS(INVALID_VALUE, cuMemExportToShareableHandle(NULL, handle, 1, 0));
	OK(cuMemExportToShareableHandle(&fd, handle, 1, 0));
	a = map_anywhere(2 * GRANULE, handle);
	OK(cuMemsetD8_v2(a, 5, 2 * GRANULE));
	tell(channel, &fd, sizeof(fd));
	finish(pid);
	CHECK(byte_at(a) == 6 && byte_at(a + 1) == 5);

	FAILS(INVALID_VALUE, cuMemImportFromShareableHandle(&again, (void *)0, 1));
	FAILS(NOT_SUPPORTED, cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, 2));
	OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, 1));
	CHECK(again != handle && used() == 3 * GRANULE);
	OK(cuMemRelease(handle));
	b = map_anywhere(2 * GRANULE, again);
	OK(cuMemsetD8_v2(a + 3, 4, 1));
	CHECK(byte_at(b + 3) == 4);
	close(fd);
}

static void log_export(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemCreate result=0 handle=0x[0-9a-f]+ size=4194304 "
				    "ordinal=0 flags=0 ") == 1);
	CHECK(selftest_count(lines, " cuMemAddressReserve result=0 addr=0x[0-9a-f]+ size=4194304 "
				    "flags=0 ") == 3);
	CHECK(selftest_count(lines, " cuMemMap result=0 addr=0x[0-9a-f]+ size=4194304 offset=0 "
				    "handle=0x[0-9a-f]+ flags=0 ") == 3);
	CHECK(selftest_count(lines,
			     " cuMemSetAccess result=0 addr=0x[0-9a-f]+ size=4194304 count=1 "
			     "ordinal=0 flags=3 ") == 3);
	CHECK(selftest_count(lines, " cuMemExportToShareableHandle result=0 handle=0x[0-9a-f]+ "
				    "flags=0 fd=[0-9]+ ") == 1);
	CHECK(selftest_count(lines, " cuMemImportFromShareableHandle result=0 handle=0x[0-9a-f]+ "
				    "size=4194304 ordinal=0 fd=[0-9]+ ") == 2);
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

static void open_in_other(int channel[2])
{
	CUcontext context = start(), second;
	CUdeviceptr ptr, again, base, elsewhere;
	CUipcMemHandle handle, broken;
	size_t size;
	int ipc;

	hear(channel, &handle, sizeof(handle));
	broken = handle;
	memset(broken.reserved + 8, 0x7f, 4); /* no such process */
	FAILS(MAP_FAILED, cuIpcOpenMemHandle_v2(&again, broken, 1));
	OK(cuIpcOpenMemHandle_v2(&ptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(again == ptr && used() == 0);
	OK(cuMemGetAddressRange_v2(&base, &size, ptr + 2999));
	CHECK(base == ptr && size == 3000);
	CHECK(byte_at(ptr) == 1 && byte_at(ptr + 2999) == 1);
	OK(cuMemsetD8_v2(ptr, 2, 3000));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 2, 3001));
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&broken, ptr));
	OK(cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, ptr));
	CHECK(!ipc);
	FAILS(INVALID_VALUE, cuIpcOpenMemHandle_v2(&again, handle, 0));
	broken = handle;
	broken.reserved[0] ^= 1;
	FAILS(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&again, broken, 1));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuIpcOpenMemHandle_v2(&elsewhere, handle, 1));
	CHECK(elsewhere != ptr && byte_at(elsewhere) == 2);
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxSetCurrent(context));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(elsewhere, 2, 1));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(ptr + 1));
	OK(cuIpcCloseMemHandle(ptr));
	OK(cuMemsetD8_v2(ptr, 3, 1)); /* open twice */
	OK(cuIpcCloseMemHandle(ptr));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 3, 1));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(ptr));
	exit(0);
}

static void test_ipc(void)
{
	CUdeviceptr ptr, managed, pooled;
	CUipcMemHandle handle;
	int channel[2], ipc;
	pid_t pid = other_process(channel);

	if (!pid)
		open_in_other(channel);
	start();
	allocate(100);
	ptr = allocate(3000);
	OK(cuMemsetD8_v2(ptr, 1, 3000));
	OK(cuMemAllocManaged(&managed, 1, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemAllocAsync(&pooled, 1, NULL));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, managed));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(&handle, pooled));
	FAILS(INVALID_VALUE, cuIpcGetMemHandle(NULL, ptr));
	OK(cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, ptr));
	CHECK(ipc);
	OK(cuIpcGetMemHandle(&handle, ptr + 5)); /* of all of it */
	FAILS(INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&managed, handle, 1));
	FAILS(INVALID_VALUE, cuIpcCloseMemHandle(ptr));
	tell(channel, &handle, sizeof(handle));
	finish(pid);
	CHECK(byte_at(ptr) == 3 && byte_at(ptr + 2999) == 2);
}

static void log_ipc(const char *lines)
{
	CHECK(selftest_count(lines, " cuIpcGetMemHandle result=0 addr=0x[0-9a-f]+ ") == 1);
	CHECK(selftest_count(lines, " cuIpcOpenMemHandle(_v2)? result=0 addr=0x[0-9a-f]+ size=3000 "
				    "flags=1 ") == 3);
	CHECK(selftest_count(lines, " cuIpcCloseMemHandle result=0 addr=0x[0-9a-f]+ ") == 2);
}

static void test_external(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = 1, .size = 10000 };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .offset = 5000, .size = 5000 };
	CUexternalMemory memory;
	CUdeviceptr ptr;
	char *bytes;
	int fd;

	start();
	fd = memfd_create("external", 0);
	CHECK(fd >= 0 && !ftruncate(fd, 10000));
	bytes = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	desc.handle.fd = -1;
	FAILS(OPERATING_SYSTEM, cuImportExternalMemory(&memory, &desc));
	desc.handle.fd = fd;
	desc.size = 10001;
	FAILS(INVALID_VALUE, cuImportExternalMemory(&memory, &desc));
	desc.size = 10000;
	desc.flags = 2;
	FAILS(INVALID_VALUE, cuImportExternalMemory(&memory, &desc));
	desc.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
	desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
	FAILS(NOT_SUPPORTED, cuImportExternalMemory(&memory, &desc));
	desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
	OK(cuImportExternalMemory(&memory, &desc));
	OK(cuExternalMemoryGetMappedBuffer(&ptr, memory, &buffer));
	OK(cuMemsetD8_v2(ptr, 3, 5000));
	CHECK(bytes[4999] == 0 && bytes[5000] == 3 && bytes[9999] == 3 && used() == 0);
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 3, 5001));
	buffer.size = 5001;
	FAILS(INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&ptr, memory, &buffer));
	buffer.size = 0;
	FAILS(INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&ptr, memory, &buffer));
	OK(cuDestroyExternalMemory(memory));
	CHECK(fcntl(fd, F_GETFD) < 0); /* it was handed over */
	FAILS(INVALID_HANDLE, cuDestroyExternalMemory(memory));
	FAILS(INVALID_HANDLE, cuExternalMemoryGetMappedBuffer(&ptr, memory, &buffer));
	OK(cuMemsetD8_v2(ptr, 4, 1));
	CHECK(bytes[5000] == 4);
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr + 1));
	OK(cuMemFree_v2(ptr));
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 4, 1));
}

static void log_external(const char *lines)
{
	CHECK(selftest_count(lines,
			     " cuImportExternalMemory result=0 handle=0x[0-9a-f]+ size=10000 "
			     "flags=1 ") == 1);
	CHECK(selftest_count(lines, " cuExternalMemoryGetMappedBuffer result=0 addr=0x[0-9a-f]+ "
				    "size=5000 offset=5000 handle=0x[0-9a-f]+ ") == 1);
	CHECK(selftest_count(lines, " cuDestroyExternalMemory result=0 handle=0x[0-9a-f]+ ") == 1);
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

/* Resetting a primary context ends the physical memory of its device, and no other. */
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
	CHECK(used() == 0);
	FAILS(INVALID_VALUE, cuMemRelease(handle));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr, 1, 1));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(only_mapped, 1, 1));
	OK(cuMemAddressFree(only_mapped, GRANULE));
	CHECK(byte_at(ptr + GRANULE) == 1);
	OK(cuMemMap(ptr, GRANULE, 0, create(GRANULE, 0), 0)); /* addresses stay reserved */
	OK(cuDevicePrimaryCtxRetain(&context, 1));
	OK(cuDevicePrimaryCtxReset_v2(1));
	FAILS(INVALID_VALUE, cuMemRelease(other));
	FAILS(INVALID_VALUE, cuMemsetD8_v2(ptr + GRANULE, 1, 1));
	CHECK(used() == GRANULE);
	OK(cuMemUnmap(ptr, GRANULE));
	OK(cuMemAddressFree(ptr, 2 * GRANULE));
	OK(cuMemRelease(host));
}

const struct selftest selftests[] = {
	{ "reservations", test_reservations, { NULL }, NULL, 0 },
	{ "physical", test_physical, { "SIMCUDA_MEMORY=64M" }, NULL, 0 },
	{ "mapping", test_mapping, { NULL }, NULL, 0 },
	{ "access", test_access, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "export", test_export, { NULL }, log_export, 0 },
	{ "many", test_many, { NULL }, NULL, 0 },
	{ "ipc", test_ipc, { NULL }, log_ipc, 0 },
	{ "external", test_external, { NULL }, log_external, 0 },
	{ "contexts", test_contexts, { NULL }, NULL, 0 },
	{ "reset", test_reset, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
