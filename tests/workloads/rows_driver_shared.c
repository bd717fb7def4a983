// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: memory of other processes and APIs. The other process is a child that has not used
 * CUDA before; what it prints comes while its parent waits.
 */
#include "rows_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const CUresult invalid = CUDA_ERROR_INVALID_VALUE;

#define EXPORTED 30029 /* bytes: the driver does not say them where they are opened */

static bool is_open; /* in the child */
static int channel[2];
static pid_t child;
static unsigned char host[64];

static void copy_default(uint64_t dst, uint64_t src, uint64_t size, const char *direction)
{
	CALL(CUDA_SUCCESS, "cuMemcpy", dst, src, size);
	EXPECT(.op = "copy", .api = "cuMemcpy", .addr = HEX(dst), .src = HEX(src),
	       .size = DEC(size), .direction = direction);
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* A structure by value: every architecture passes it in another way. */
static CUdeviceptr open_handle(const char *api, CUipcMemHandle handle, CUresult wanted)
{
	CUresult (*function)(CUdeviceptr *, CUipcMemHandle, unsigned int) = rows_driver_symbol(api);
	CUdeviceptr addr = 0;

	rows_check(api, wanted, function(&addr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	EXPECT(.op = "alloc", .api = api, .result = wanted, .addr = addr ? HEX(addr) : UNKNOWN,
	       .size = addr ? DEC(EXPORTED) : UNKNOWN, .space = "imported",
	       .live = is_open || addr ? DEC(EXPORTED) : "0", .backing = rows_handle_hash(&handle));
	is_open |= addr != 0;
	return addr;
}

static void open_event(CUipcEventHandle handle, CUresult wanted)
{
	CUresult (*function)(CUevent *, CUipcEventHandle) =
		rows_driver_symbol("cuIpcOpenEventHandle");
	CUevent event = NULL;

	rows_check("cuIpcOpenEventHandle", wanted, function(&event, handle));
	EXPECT(.op = "memory", .api = "cuIpcOpenEventHandle", .result = wanted,
	       .addr = event ? HEX(event) : UNKNOWN);
	if (event)
		rows_driver_end("cuEventDestroy_v2", event, CUDA_SUCCESS);
}

static void close_handle(CUdeviceptr addr, const char *freed)
{
	CALL(CUDA_SUCCESS, "cuIpcCloseMemHandle", addr);
	EXPECT(.op = "free", .api = "cuIpcCloseMemHandle", .addr = HEX(addr), .size = DEC(EXPORTED),
	       .space = "imported", .freed = freed, .live = freed ? DEC(EXPORTED) : "0");
}

static void close_in_vain(CUdeviceptr addr)
{
	CALL(invalid, "cuIpcCloseMemHandle", addr);
	EXPECT(.op = "free", .api = "cuIpcCloseMemHandle", .result = invalid, .addr = HEX(addr));
}

_Noreturn static void be_child(void)
{
	const CUipcEventHandle nothing = { { 0 } };
	CUipcMemHandle handle, broken;
	CUipcEventHandle event;
	CUdeviceptr addr;
	CUcontext own;

	close(channel[1]); /* or it would wait for itself if the parent fails */
	if (read(channel[0], &handle, sizeof(handle)) != sizeof(handle) ||
	    read(channel[0], &event, sizeof(event)) != sizeof(event))
		rows_die("the child", "was told nothing");
	rows_wait_for_tracer();
	broken = handle;
	broken.reserved[0] ^= 1;
	NEED(cuInit(0));
	own = rows_driver_create("cuCtxCreate_v2", 2, 0, CUDA_SUCCESS);
	addr = open_handle("cuIpcOpenMemHandle_v2", handle, CUDA_SUCCESS);
	if (open_handle("cuIpcOpenMemHandle", handle, CUDA_SUCCESS) != addr)
		rows_die("cuIpcOpenMemHandle", "the second address is another one");
	open_handle("cuIpcOpenMemHandle_v2", broken, CUDA_ERROR_INVALID_HANDLE);
	open_handle("cuIpcOpenMemHandle", broken, CUDA_ERROR_INVALID_HANDLE);
	open_event(event, CUDA_SUCCESS);
	open_event(nothing, CUDA_ERROR_INVALID_HANDLE);
	close_in_vain(addr + 1);
	close_handle(addr, "kept");
	CALL(CUDA_SUCCESS, "cuMemcpyDtoH_v2", P(host), addr, 11);
	EXPECT(.op = "copy", .api = "cuMemcpyDtoH_v2", .addr = HEX(host), .src = HEX(addr),
	       .size = "11", .direction = "DtoH");
	close_handle(addr, NULL);
	close_in_vain(addr);
	CALL(CUDA_SUCCESS, "cuCtxDestroy_v2", P(own));
	rows_at(NULL, 0);
	EXPECT(.op = "context", .api = "cuCtxDestroy_v2", .addr = HEX(own));
	exit(0);
}

void rows_driver_fork(void)
{
	if (pipe(channel))
		rows_die("pipe", "failed");
	child = fork();
	if (child < 0)
		rows_die("fork", "failed");
	if (!child)
		be_child();
}

/* ---- in the parent --------------------------------------------------------------------------- */

static void get_handle(CUipcMemHandle *handle, CUdeviceptr addr, CUresult wanted)
{
	CALL(wanted, "cuIpcGetMemHandle", P(handle), addr);
	EXPECT(.op = "memory", .api = "cuIpcGetMemHandle", .result = wanted, .addr = HEX(addr));
}

static CUevent get_event(CUipcEventHandle *handle)
{
	CUevent event = rows_driver_make("cuEventCreate", CUDA_SUCCESS,
					 DIRTY(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), 0);

	CALL(CUDA_SUCCESS, "cuIpcGetEventHandle", P(handle), P(event));
	EXPECT(.op = "memory", .api = "cuIpcGetEventHandle", .addr = HEX(event));
	return event;
}

static void ipc(void)
{
	struct block block = rows_driver_allocate("cuMemAlloc_v2", "device", EXPORTED, 0);
	CUipcEventHandle event_handle;
	CUipcMemHandle handle;
	CUevent event;
	int status;

	get_handle(&handle, P(host), invalid);
	get_handle(&handle, block.addr + 5, CUDA_SUCCESS);
	event = get_event(&event_handle);
	fflush(stdout);
	if (write(channel[1], &handle, sizeof(handle)) != sizeof(handle) ||
	    write(channel[1], &event_handle, sizeof(event_handle)) != sizeof(event_handle) ||
	    waitpid(child, &status, 0) != child || status)
		rows_die("the child", "failed");
	rows_driver_end("cuEventDestroy_v2", event, CUDA_SUCCESS);
	rows_driver_free("cuMemFree_v2", &block);
}

static CUexternalMemory import(int fd, uint64_t size, CUresult wanted)
{
	const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
		.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
		.handle.fd = fd,
		.size = size,
	};
	CUexternalMemory memory = NULL;

	CALL(wanted, "cuImportExternalMemory", P(&memory), P(&desc));
	EXPECT(.op = "alloc", .api = "cuImportExternalMemory", .result = wanted,
	       .addr = memory ? HEX(memory) : UNKNOWN, .size = DEC(size), .space = "imported",
	       .live = wanted == CUDA_SUCCESS ? DEC(size) : "0");
	return memory;
}

static CUdeviceptr map(CUexternalMemory memory, uint64_t offset, uint64_t size, CUresult wanted)
{
	const CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .offset = offset, .size = size };
	CUdeviceptr addr = 0;

	CALL(wanted, "cuExternalMemoryGetMappedBuffer", P(&addr), P(memory), P(&buffer));
	EXPECT(.op = "alloc", .api = "cuExternalMemoryGetMappedBuffer", .result = wanted,
	       .addr = addr ? HEX(addr) : UNKNOWN, .size = DEC(size), .space = "mapped",
	       .backing = HEX(memory), .live = wanted == CUDA_SUCCESS ? DEC(size) : "0");
	return addr;
}

static void external(void)
{
	int fd = memfd_create("external", 0);
	CUexternalMemory memory;
	CUdeviceptr addr;

	if (fd < 0 || ftruncate(fd, 10007))
		rows_die("memfd_create", "failed");
	import(fd, 10009, invalid);
	memory = import(fd, 10007, CUDA_SUCCESS);
	map(memory, 5003, 5005, invalid);
	addr = map(memory, 5003, 5004, CUDA_SUCCESS);
	copy_default(addr + 3, P(host), 13, "HtoD");
	CALL(CUDA_SUCCESS, "cuDestroyExternalMemory", P(memory));
	EXPECT(.op = "free", .api = "cuDestroyExternalMemory", .addr = HEX(memory),
	       .size = DEC(10007), .space = "imported", .live = "0");
	CALL(CUDA_ERROR_INVALID_HANDLE, "cuDestroyExternalMemory", P(memory));
	EXPECT(.op = "free", .api = "cuDestroyExternalMemory", .addr = HEX(memory),
	       .result = CUDA_ERROR_INVALID_HANDLE);
	CALL(CUDA_SUCCESS, "cuMemFree_v2", addr);
	EXPECT(.op = "free", .api = "cuMemFree_v2", .addr = HEX(addr), .size = DEC(5004),
	       .space = "mapped", .live = "0");
}

void rows_driver_shared(void)
{
	ipc();
	external();
}
