/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: modules, libraries, and launches of the kernels in them.
 */
#include <string.h>

#include "selftest-driver.h"

static void test_modules(void)
{
	CUmodule module, other;
	CUfunction function, again;
	CUlibrary library;
	CUkernel kernels[2];
	const char *name;
	unsigned int count;
	CUdeviceptr ptr;
	size_t size;

	start();
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&function, module, "scale"));
	OK(cuModuleGetFunction(&again, module, "scale"));
	CHECK(function == again);
	FAILS(NOT_FOUND, cuModuleGetFunction(&again, module, "scal"));
	OK(cuFuncGetName(&name, function));
	OK(cuFuncGetModule(&other, function));
	CHECK(!strcmp(name, "scale") && other == module);
	OK(cuModuleGetGlobal_v2(&ptr, &size, module, "counter"));
	CHECK(size == 4 && used() == 512);
	OK(cuModuleGetGlobal_v2(NULL, &size, module, "table"));
	CHECK(size == 48);
	FAILS(NOT_FOUND, cuModuleGetGlobal_v2(&ptr, &size, module, "p"));
	OK(cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
	CHECK(used() == 0);
	FAILS(FILE_NOT_FOUND, cuModuleLoad(&module, "/nonexistent.ptx"));

	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&count, library));
	CHECK(count == 2);
	OK(cuLibraryEnumerateKernels(kernels, 2, library));
	OK(cuKernelGetName(&name, kernels[1]));
	CHECK(!strcmp(name, "scale_all"));
	OK(cuKernelGetFunction(&function, kernels[0]));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
	OK(cuLibraryUnload(library));
	FAILS(INVALID_HANDLE, cuKernelGetName(&name, kernels[1]));
}

static void test_linkers(void)
{
	CUlinkState linker;
	CUmodule module;
	void *image;
	size_t size;

	start();
	OK(cuLinkCreate_v2(0, NULL, NULL, &linker));
	FAILS(INVALID_VALUE, cuLinkComplete(linker, &image, &size));
	FAILS(FILE_NOT_FOUND, cuLinkAddFile_v2(linker, 1, "/nonexistent.ptx", 0, NULL, NULL));
	OK(cuLinkAddData_v2(linker, 1, (void *)ptx, strlen(ptx) + 1, "ptx", 0, NULL, NULL));
	OK(cuLinkComplete(linker, &image, &size));
	CHECK(size == strlen(ptx) + 1);
	OK(cuModuleLoadData(&module, image));
	OK(cuLinkDestroy(linker));
	FAILS(INVALID_HANDLE, cuLinkDestroy(linker));
	FAILS(INVALID_HANDLE, cuLinkComplete(linker, &image, &size));
	OK(cuModuleUnload(module));
}

static void test_launches(void)
{
	CUlaunchConfig config = { 2, 2, 2, 32, 1, 1, 0, NULL, NULL, 0 };
	CUfunction function;
	CUmodule module;

	start();
	OK(cuModuleLoadData(&module, "\177ELF, or so"));
	OK(cuModuleGetFunction(&function, module, "anything"));
	OK(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, CU_STREAM_PER_THREAD, NULL, NULL));
	OK(cuLaunchKernelEx_ptsz(&config, function, NULL, NULL));
	OK(cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	FAILS(INVALID_VALUE, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 1024, 2, 1, 0, NULL, NULL, NULL));
	FAILS(INVALID_HANDLE,
	      cuLaunchKernel((CUfunction)&module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static int occupancy(CUfunction function, int block_size, size_t shared_bytes)
{
	int blocks, with_flags;

	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block_size,
						       shared_bytes));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&with_flags, function, block_size,
								shared_bytes, 1));
	CHECK(with_flags == blocks);
	return blocks;
}

static void test_occupancy(void)
{
	CUfunction function;
	CUmodule module;
	int blocks;

	start();
	OK(cuModuleLoadData(&module, "\177ELF, or so"));
	OK(cuModuleGetFunction(&function, module, "anything"));
	CHECK(occupancy(function, 1, 0) == 32);
	CHECK(occupancy(function, 33, 0) == 32);
	CHECK(occupancy(function, 256, 0) == 8);
	CHECK(occupancy(function, 1000, 0) == 2);
	CHECK(occupancy(function, 1025, 0) == 0);
	CHECK(occupancy(function, 256, 64 << 10) == 3); /* and 1 KiB that each block has reserved */
	CHECK(occupancy(function, 256, 1 << 20) == 0);
	FAILS(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 1, 0));
	FAILS(INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
	FAILS(INVALID_VALUE,
	      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, 1, 0, 2));
	FAILS(INVALID_HANDLE,
	      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (CUfunction)&module, 1, 0));
}

const struct selftest selftests[] = {
	{ "linkers", test_linkers, { NULL }, NULL, 0 },
	{ "modules", test_modules, { NULL }, NULL, 0 },
	{ "launches", test_launches, { NULL }, NULL, 0 },
	{ "occupancy", test_occupancy, { NULL }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
