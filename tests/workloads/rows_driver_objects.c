// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: modules, libraries, linkers, streams, events, semaphores and green contexts, which
 * take memory of the driver's own whose size is not known.
 */
#include "rows_driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const CUresult invalid = CUDA_ERROR_INVALID_HANDLE, unsupported = CUDA_ERROR_NOT_SUPPORTED;

/* The same image, in a file. */
static void modules_of_file(const void *image)
{
	char path[] = "/tmp/rows-XXXXXX";
	int fd = mkstemp(path);
	void *handle;

	if (fd < 0 || write(fd, image, strlen(image)) < 0)
		rows_die(path, "cannot be written");
	close(fd);
	handle = rows_driver_make("cuModuleLoad", CUDA_SUCCESS, P(path), 0);
	rows_driver_end("cuModuleUnload", handle, CUDA_SUCCESS);
	handle = rows_driver_make("cuLibraryLoadFromFile", CUDA_SUCCESS, P(path), 0);
	rows_driver_make("cuLibraryGetModule", CUDA_SUCCESS, P(handle), 0);
	rows_driver_end("cuLibraryUnload", handle, CUDA_SUCCESS);
	unlink(path);
	rows_driver_make("cuModuleLoad", CUDA_ERROR_FILE_NOT_FOUND, P(path), 0);
	rows_driver_make("cuLibraryLoadFromFile", CUDA_ERROR_FILE_NOT_FOUND, P(path), 0);
}

static void modules(const void *image)
{
	void *handle = rows_driver_make("cuModuleLoadDataEx", CUDA_SUCCESS, P(image), 0);

	rows_driver_end("cuModuleUnload", handle, CUDA_SUCCESS);
	rows_driver_end("cuModuleUnload", handle, invalid);
	handle = rows_driver_make("cuModuleLoadFatBinary", CUDA_SUCCESS, P(image), 0);
	rows_driver_end("cuModuleUnload", handle, CUDA_SUCCESS);
	rows_driver_end("cuLibraryUnload", handle, invalid);
	rows_driver_end("cuFuncLoad", handle, unsupported);
	modules_of_file(image);
}

/* ---- linkers --------------------------------------------------------------------------------- */

static void *new_linker(const char *api)
{
	void *linker = NULL;

	CALL(CUDA_SUCCESS, api, DIRTY(0), 0, 0, P(&linker));
	EXPECT(.op = "memory", .api = api, .addr = HEX(linker));
	return linker;
}

static void about_linker(const char *api, const void *linker, CUresult wanted, uint64_t second,
			 uint64_t third, uint64_t fourth)
{
	CALL(wanted, api, P(linker), second, third, fourth);
	EXPECT(.op = "memory", .api = api, .result = wanted, .addr = HEX(linker));
}

static void linkers(const void *image)
{
	static const char *const apis[][3] = {
		{ "cuLinkCreate", "cuLinkAddData", "cuLinkAddFile" },
		{ "cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkAddFile_v2" },
	};
	const uint64_t length = strlen(image) + 1;
	void *linked;
	size_t size;

	for (size_t i = 0; i < MANY(apis); i++) {
		void *linker = new_linker(apis[i][0]);

		about_linker(apis[i][1], linker, CUDA_SUCCESS, DIRTY(1), P(image), length);
		about_linker(apis[i][1], apis, invalid, DIRTY(1), P(image), length);
		about_linker(apis[i][2], linker, CUDA_ERROR_FILE_NOT_FOUND, DIRTY(1),
			     P("/nonexistent"), 0);
		about_linker("cuLinkComplete", linker, CUDA_SUCCESS, P(&linked), P(&size), 0);
		rows_driver_end("cuLinkDestroy", linker, CUDA_SUCCESS);
		rows_driver_end("cuLinkDestroy", linker, invalid);
	}
}

/* ---- streams, events, semaphores ------------------------------------------------------------- */

static void streams(void)
{
	void *handle = rows_driver_make("cuStreamCreateWithPriority", CUDA_SUCCESS,
					DIRTY(CU_STREAM_NON_BLOCKING), DIRTY(-1));

	rows_driver_end("cuStreamDestroy_v2", handle, CUDA_SUCCESS);
	rows_driver_end("cuStreamDestroy_v2", handle, invalid);
	handle = rows_driver_make("cuStreamCreate", CUDA_SUCCESS, DIRTY(0), 0);
	rows_driver_end("cuStreamDestroy", handle, CUDA_SUCCESS);
	rows_driver_make("cuStreamCreate", CUDA_ERROR_INVALID_VALUE, DIRTY(64), 0);
}

static void events(void)
{
	void *handle = rows_driver_make("cuEventCreate", CUDA_SUCCESS, DIRTY(CU_EVENT_DEFAULT), 0);

	rows_driver_end("cuEventDestroy", handle, CUDA_SUCCESS);
	rows_driver_end("cuEventDestroy", handle, invalid);
}

static void semaphores(void)
{
	rows_driver_make("cuImportExternalSemaphore", unsupported, 0x73, 0);
	rows_driver_end("cuDestroyExternalSemaphore", (void *)0x74, unsupported);
}

/* The stack, the heap and the buffer of printf on the device are made anew. */
static void limits(void)
{
	CALL(CUDA_SUCCESS, "cuCtxSetLimit", DIRTY(CU_LIMIT_MALLOC_HEAP_SIZE), 0x2345678);
	EXPECT(.op = "memory", .api = "cuCtxSetLimit", .size = DEC(0x2345678));
	CALL(CUDA_ERROR_UNSUPPORTED_LIMIT, "cuCtxSetLimit", DIRTY(77), 0x345678);
	EXPECT(.op = "memory", .api = "cuCtxSetLimit", .result = CUDA_ERROR_UNSUPPORTED_LIMIT,
	       .size = DEC(0x345678));
}

static void green(void)
{
	CUcontext context = NULL;

	CALL(unsupported, "cuGreenCtxCreate", P(&context), 0, DIRTY(1), DIRTY(1));
	EXPECT(.op = "memory", .api = "cuGreenCtxCreate", .result = unsupported, .device = "1");
	rows_driver_make("cuGreenCtxStreamCreate", unsupported, 0x71, DIRTY(1));
	rows_driver_end("cuGreenCtxDestroy", (void *)0x72, unsupported);
}

void rows_driver_objects(const void *image)
{
	modules(image);
	linkers(image);
	streams();
	events();
	semaphores();
	limits();
	green();
}
