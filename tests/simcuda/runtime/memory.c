/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation, of every kind. An allocation of nothing and a free of NULL succeed without the driver
 * being asked.
 */
#include "runtime.h"

RT_DEFINE(CONTEXT, cudaMalloc, (void **ptr, size_t size), (ptr, size), OUT_HEX(addr, ptr),
	  DEC(size, size))
{
	CUdeviceptr addr = 0;
	CUresult result;

	if (!ptr)
		return cudaErrorInvalidValue;
	result = size ? cu->cuMemAlloc(&addr, size) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

static cudaError_t pitched(const struct driver *cu, void **ptr, size_t *pitch, size_t width,
			   size_t height)
{
	enum { ELEMENT_BYTES = 4 };
	CUdeviceptr addr = 0;
	CUresult result = CUDA_SUCCESS;

	*pitch = 0;
	if (width && height)
		result = cu->cuMemAllocPitch(&addr, pitch, width, height, ELEMENT_BYTES);
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaMallocPitch, (void **ptr, size_t *pitch, size_t width, size_t height),
	  (ptr, pitch, width, height), OUT_HEX(addr, ptr), OUT_DEC(pitch, pitch),
	  result ? (void)0 : DEC(size, *pitch * height), DEC(width, width), DEC(height, height))
{
	if (!ptr || !pitch)
		return cudaErrorInvalidValue;
	return pitched(cu, ptr, pitch, width, height);
}

RT_DEFINE(CONTEXT, cudaMalloc3D, (struct cudaPitchedPtr *ptr, struct cudaExtent extent),
	  (ptr, extent), result ? (void)0 : HEX(addr, ptr->ptr),
	  result ? (void)0 : DEC(pitch, ptr->pitch),
	  result ? (void)0 : DEC(size, ptr->pitch * extent.height * extent.depth),
	  DEC(width, extent.width), DEC(height, extent.height), DEC(depth, extent.depth))
{
	if (!ptr)
		return cudaErrorInvalidValue;
	ptr->xsize = extent.width;
	ptr->ysize = extent.height;
	return pitched(cu, &ptr->ptr, &ptr->pitch, extent.width, extent.height * extent.depth);
}

RT_DEFINE(CONTEXT, cudaMallocManaged, (void **ptr, size_t size, unsigned int flags),
	  (ptr, size, flags), OUT_HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	CUdeviceptr addr;
	CUresult result;

	if (!ptr || !size)
		return cudaErrorInvalidValue;
	result = cu->cuMemAllocManaged(&addr, size, flags);
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

static cudaError_t pinned(const struct driver *cu, void **ptr, size_t size, unsigned int flags)
{
	if (!ptr)
		return cudaErrorInvalidValue;
	if (size)
		return runtime_error(cu->cuMemHostAlloc(ptr, size, flags));
	*ptr = NULL;
	return cudaSuccess;
}

RT_DEFINE(CONTEXT, cudaMallocHost, (void **ptr, size_t size), (ptr, size), OUT_HEX(addr, ptr),
	  DEC(size, size))
{
	return pinned(cu, ptr, size, 0);
}

RT_DEFINE(CONTEXT, cudaHostAlloc, (void **ptr, size_t size, unsigned int flags),
	  (ptr, size, flags), OUT_HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	return pinned(cu, ptr, size, flags);
}

RT_DEFINE(CONTEXT, cudaHostRegister, (void *ptr, size_t size, unsigned int flags),
	  (ptr, size, flags), HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	return runtime_error(cu->cuMemHostRegister(ptr, size, flags));
}

RT_DEFINE(CONTEXT, cudaHostUnregister, (void *ptr), (ptr), HEX(addr, ptr))
{
	return runtime_error(cu->cuMemHostUnregister(ptr));
}

RT_DEFINE(CONTEXT, cudaHostGetDevicePointer, (void **device_ptr, void *ptr, unsigned int flags),
	  (device_ptr, ptr, flags), HEX(addr, ptr), OUT_HEX(value, device_ptr))
{
	CUdeviceptr addr;
	CUresult result;

	if (!device_ptr)
		return cudaErrorInvalidValue;
	result = cu->cuMemHostGetDevicePointer(&addr, ptr, flags);
	if (result == CUDA_SUCCESS)
		*device_ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaHostGetFlags, (unsigned int *flags, void *ptr), (flags, ptr),
	  HEX(addr, ptr), OUT_DEC(flags, flags))
{
	return runtime_error(cu->cuMemHostGetFlags(flags, ptr));
}

RT_DEFINE(CONTEXT, cudaFree, (void *ptr), (ptr), HEX(addr, ptr))
{
	return ptr ? runtime_error(cu->cuMemFree(runtime_ptr(ptr))) : cudaSuccess;
}

RT_DEFINE(CONTEXT, cudaFreeHost, (void *ptr), (ptr), HEX(addr, ptr))
{
	return ptr ? runtime_error(cu->cuMemFreeHost(ptr)) : cudaSuccess;
}

static enum cudaMemoryType memory_type(unsigned int driver_type, unsigned int managed)
{
	if (managed)
		return cudaMemoryTypeManaged;
	if (driver_type == CU_MEMORYTYPE_DEVICE)
		return cudaMemoryTypeDevice;
	return driver_type ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
}

RT_DEFINE(CONTEXT, cudaPointerGetAttributes,
	  (struct cudaPointerAttributes *attributes, const void *ptr), (attributes, ptr),
	  HEX(addr, ptr), result ? (void)0 : DEC(value, attributes->type))
{
	unsigned int type, managed;
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	CUresult result;

	if (!attributes)
		return cudaErrorInvalidValue;
	*attributes = (struct cudaPointerAttributes){ 0 };
	result = cu->cuPointerGetAttributes(sizeof(which) / sizeof(*which), which,
					    (void *[]){ &type, &managed, &attributes->device,
							&attributes->devicePointer,
							&attributes->hostPointer },
					    runtime_ptr(ptr));
	if (result != CUDA_SUCCESS)
		return runtime_error(result);
	attributes->type = memory_type(type, managed);
	if (attributes->type == cudaMemoryTypeUnregistered)
		attributes->hostPointer = (void *)(uintptr_t)ptr;
	return cudaSuccess;
}
