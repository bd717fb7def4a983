/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stream-ordered allocation.
 */
#include "runtime.h"

RT_DEFINE_PTSZ(CONTEXT, cudaMallocAsync, (void **ptr, size_t size, cudaStream_t stream),
	       (ptr, size, stream), OUT_HEX(addr, ptr), DEC(size, size), HEX(stream, stream))
{
	CUdeviceptr addr = 0;
	CUresult result;

	if (!ptr)
		return cudaErrorInvalidValue;
	result = size ? cu->cuMemAllocAsync(&addr, size, stream) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMallocFromPoolAsync,
	       (void **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream),
	       (ptr, size, pool, stream), OUT_HEX(addr, ptr), DEC(size, size), HEX(stream, stream),
	       HEX(pool, pool))
{
	CUdeviceptr addr = 0;
	CUresult result;

	if (!ptr)
		return cudaErrorInvalidValue;
	result = size ? cu->cuMemAllocFromPoolAsync(&addr, size, pool, stream) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE_PTSZ(CONTEXT, cudaFreeAsync, (void *ptr, cudaStream_t stream), (ptr, stream),
	       HEX(addr, ptr), HEX(stream, stream))
{
	return ptr ? runtime_error(cu->cuMemFreeAsync(runtime_ptr(ptr), stream)) : cudaSuccess;
}

RT_DEFINE(DRIVER, cudaMemPoolCreate, (cudaMemPool_t *pool, const struct cudaMemPoolProps *props),
	  (pool, props), OUT_HEX(handle, pool))
{
	_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps),
		       "the two APIs share this structure");
	return runtime_error(cu->cuMemPoolCreate(pool, (const CUmemPoolProps *)props));
}

RT_DEFINE(DRIVER, cudaMemPoolDestroy, (cudaMemPool_t pool), (pool), HEX(handle, pool))
{
	return runtime_error(cu->cuMemPoolDestroy(pool));
}

RT_DEFINE(DRIVER, cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep_bytes), (pool, keep_bytes),
	  HEX(handle, pool), DEC(size, keep_bytes))
{
	return runtime_error(cu->cuMemPoolTrimTo(pool, keep_bytes));
}

RT_DEFINE(DRIVER, cudaMemPoolSetAttribute,
	  (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
	  (pool, attribute, value), HEX(handle, pool), DEC(attribute, attribute))
{
	return runtime_error(
		cu->cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

RT_DEFINE(DRIVER, cudaMemPoolGetAttribute,
	  (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
	  (pool, attribute, value), HEX(handle, pool), DEC(attribute, attribute))
{
	return runtime_error(
		cu->cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

RT_DEFINE(DRIVER, cudaDeviceGetDefaultMemPool, (cudaMemPool_t *pool, int device), (pool, device),
	  DEC(ordinal, device), OUT_HEX(handle, pool))
{
	return runtime_error(cu->cuDeviceGetDefaultMemPool(pool, device));
}

RT_DEFINE(DRIVER, cudaDeviceGetMemPool, (cudaMemPool_t *pool, int device), (pool, device),
	  DEC(ordinal, device), OUT_HEX(handle, pool))
{
	return runtime_error(cu->cuDeviceGetMemPool(pool, device));
}

RT_DEFINE(DRIVER, cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), (device, pool),
	  DEC(ordinal, device), HEX(handle, pool))
{
	return runtime_error(cu->cuDeviceSetMemPool(device, pool));
}
