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
