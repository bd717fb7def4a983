/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: memory of other processes and of other APIs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest-vmm.h"

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

static void open_event_in_other(int channel[2])
{
	CUipcEventHandle handle, broken;
	CUevent event, again;
	float milliseconds;

	start();
	hear(channel, &handle, sizeof(handle));
	OK(cuIpcOpenEventHandle(&event, handle));
	OK(cuIpcOpenEventHandle(&again, handle));
	CHECK(event != again);
	OK(cuEventQuery(event));
	OK(cuEventSynchronize(event));
	OK(cuStreamWaitEvent(NULL, event, 0));
	OK(cuEventRecord(event, NULL));
	FAILS(INVALID_HANDLE, cuEventElapsedTime(&milliseconds, event, event));
	OK(cuEventDestroy_v2(event));
	FAILS(INVALID_HANDLE, cuEventQuery(event));
	OK(cuEventQuery(again));
	FAILS(INVALID_VALUE, cuIpcOpenEventHandle(NULL, handle));
	broken = handle;
	memset(broken.reserved + 8, 0x7f, 4); /* no such process */
	FAILS(MAP_FAILED, cuIpcOpenEventHandle(&event, broken));
	broken = handle;
	broken.reserved[0] ^= 1;
	FAILS(INVALID_HANDLE, cuIpcOpenEventHandle(&event, broken));
	exit(0);
}

static void test_event(void)
{
	CUipcEventHandle handle;
	CUevent event, own;
	int channel[2];
	pid_t pid = other_process(channel);

	if (!pid)
		open_event_in_other(channel);
	start();
	OK(cuEventCreate(&own, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
	FAILS(INVALID_HANDLE, cuIpcGetEventHandle(&handle, own));
	FAILS(INVALID_VALUE, cuIpcGetEventHandle(NULL, event));
	OK(cuIpcGetEventHandle(&handle, event));
	FAILS(INVALID_CONTEXT, cuIpcOpenEventHandle(&own, handle));
	tell(channel, &handle, sizeof(handle));
	finish(pid);
	OK(cuEventDestroy_v2(event));
	FAILS(INVALID_HANDLE, cuIpcGetEventHandle(&handle, event));
}

static void log_event(const char *lines)
{
	CHECK(selftest_count(lines, " cuIpcGetEventHandle result=0 event=0x[0-9a-f]+ ") == 1);
	CHECK(selftest_count(lines, " cuIpcOpenEventHandle result=0 event=0x[0-9a-f]+ ") == 2);
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

const struct selftest selftests[] = {
	{ "export", test_export, { NULL }, log_export, 0 },
	{ "ipc", test_ipc, { NULL }, log_ipc, 0 },
	{ "event", test_event, { NULL }, log_event, 0 },
	{ "external", test_external, { NULL }, log_external, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
