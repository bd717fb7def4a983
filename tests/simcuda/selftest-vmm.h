/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of virtual memory management and of imported memory share.
 */
#ifndef SIMCUDA_SELFTEST_VMM_H
#define SIMCUDA_SELFTEST_VMM_H

#include "selftest-driver.h"

#define GRANULE (2 * MIB)

typedef CUmemGenericAllocationHandle handle_t;

static inline CUmemAllocationProp on_device(int ordinal)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, ordinal },
	};
}

static inline handle_t create(size_t size, CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = on_device(0);
	handle_t handle;

	prop.requestedHandleTypes = type;
	OK(cuMemCreate(&handle, size, &prop, 0));
	return handle;
}

static inline CUdeviceptr reserve(size_t size)
{
	CUdeviceptr ptr;

	OK(cuMemAddressReserve(&ptr, size, 0, 0, 0));
	return ptr;
}

static inline void allow(CUdeviceptr ptr, size_t size, CUmemAccess_flags flags)
{
	CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, flags };

	OK(cuMemSetAccess(ptr, size, &desc, 1));
}

/* Mapped, with access. */
static inline CUdeviceptr map_anywhere(size_t size, handle_t handle)
{
	CUdeviceptr ptr = reserve(size);

	OK(cuMemMap(ptr, size, 0, handle, 0));
	allow(ptr, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	return ptr;
}

static inline char byte_at(CUdeviceptr ptr)
{
	char byte;

	OK(cuMemcpyDtoH_v2(&byte, ptr, 1));
	return byte;
}

#endif
