/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the driver share.
 */
#ifndef SIMCUDA_SELFTEST_DRIVER_H
#define SIMCUDA_SELFTEST_DRIVER_H

#include "selftest.h"
#include "simcuda.h"

#define MIB (1ul << 20)
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define FAILS(error, call) CHECK((call) == CUDA_ERROR_##error)

/* Two kernels and two variables. */
static const char ptx[] = "// text\n.version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .global .align 4 .u32 counter;\n"
			  ".const .align 8 .b8 table[48] = {1, 2};\n"
			  ".visible .entry scale(\n.param .u64 p)\n{ ret; }\n"
			  ".entry scale_all()\n{ ret; }\n";

/* A current context on device 0. */
static inline CUcontext start(void)
{
	CUcontext context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	return context;
}

static inline size_t used(void)
{
	size_t free_bytes, total_bytes;

	OK(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	return total_bytes - free_bytes;
}

static inline CUdeviceptr allocate(size_t size)
{
	CUdeviceptr ptr;

	OK(cuMemAlloc_v2(&ptr, size));
	return ptr;
}

#endif
