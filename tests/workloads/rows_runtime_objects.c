// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_runtime: libraries, streams and events, which take memory of the driver's own whose size is
 * not known.
 */
#include "rows_runtime.h"

#include <stdlib.h>
#include <unistd.h>

static const char image[] = "\177ELF";

void *rows_runtime_make(const char *api, void *function, const char *driver_api, uint64_t first,
			uint64_t second)
{
	void *handle = NULL;

	rows_call(api, function, cudaSuccess, (uint64_t[ROWS_ARGS]){ P(&handle), first, second });
	EXPECT(.op = "memory", .api = api, .driver_api = driver_api, .addr = HEX(handle));
	return handle;
}

void rows_runtime_end(const char *api, void *function, const char *driver_api, const void *handle)
{
	rows_call(api, function, cudaSuccess, (uint64_t[ROWS_ARGS]){ P(handle) });
	EXPECT(.op = "memory", .api = api, .driver_api = driver_api, .addr = HEX(handle));
}

static void libraries(void)
{
	char path[] = "/tmp/rows-XXXXXX";
	int fd = mkstemp(path);
	void *library;

	if (fd < 0 || write(fd, image, sizeof(image)) < 0)
		rows_die(path, "cannot be written");
	close(fd);
	library = rows_runtime_make(API(cudaLibraryLoadData), "cuLibraryLoadData", P(image), 0);
	rows_runtime_end(API(cudaLibraryUnload), "cuLibraryUnload", library);
	library = rows_runtime_make(API(cudaLibraryLoadFromFile), "cuLibraryLoadFromFile", P(path),
				    0);
	rows_runtime_end(API(cudaLibraryUnload), "cuLibraryUnload", library);
	unlink(path);
}

/* 64 bytes by value: not through rows_call(). */
static void open_event(void)
{
	const cudaIpcEventHandle_t nothing = { { 0 } };
	cudaEvent_t event;

	rows_check("cudaIpcOpenEventHandle", cudaErrorInvalidResourceHandle,
		   cudaIpcOpenEventHandle(&event, nothing));
	EXPECT(.op = "memory", .api = "cudaIpcOpenEventHandle",
	       .driver_api = "cuIpcOpenEventHandle", .result = cudaErrorInvalidResourceHandle);
}

void rows_runtime_objects(void)
{
	void *handle =
		rows_runtime_make(API(cudaStreamCreateWithFlags), "cuStreamCreate", DIRTY(1), 0);

	rows_runtime_end(API(cudaStreamDestroy), "cuStreamDestroy_v2", handle);
	handle = rows_runtime_make(API(cudaStreamCreateWithPriority), "cuStreamCreateWithPriority",
				   DIRTY(1), DIRTY(-1));
	rows_runtime_end(API(cudaStreamDestroy), "cuStreamDestroy_v2", handle);
	handle = rows_runtime_make(API(cudaEventCreateWithFlags), "cuEventCreate", DIRTY(2), 0);
	rows_runtime_end(API(cudaEventDestroy), "cuEventDestroy_v2", handle);
	open_event();
	libraries();
	CALL(cudaSuccess, cudaDeviceSetLimit, DIRTY(cudaLimitMallocHeapSize), 0x2345678);
	EXPECT(.op = "memory", .api = "cudaDeviceSetLimit", .driver_api = "cuCtxSetLimit",
	       .size = DEC(0x2345678));
}
