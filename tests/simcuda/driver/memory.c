/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is there when the call returns: device, managed, pinned, registered. The variants
 * before _v2 have 32-bit sizes and pointers and are left at CUDA_ERROR_NOT_SUPPORTED
 * (excepted are cuMemHostRegister, whose signature never changed, and cuMemGetInfo).
 */
#include "kernel.h"
#include "graph.h"

#define PITCH_ALIGNMENT 512

static CUresult allocate(struct arena *arena, enum arena_use use, size_t size, unsigned int flags,
			 CUdeviceptr *ptr)
{
	struct arena_block block = {
		.size_bytes = size,
		.owner = context_current(),
		.use = use,
		.flags = flags,
	};
	CUresult result = capture_refuse_unsafe();

	if (!ptr || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	if (!arena_alloc(arena, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = block.addr;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuMemAlloc_v2, (CUdeviceptr *ptr, size_t size), (ptr, size), OUT_HEX(addr, ptr),
	  DEC(size, size))
{
	return allocate(context_current()->device->memory, ARENA_DEVICE, size, 0, ptr);
}

CU_DEFINE(CONTEXT, cuMemAllocPitch_v2,
	  (CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element_size),
	  (ptr, pitch, width, height, element_size), OUT_HEX(addr, ptr), OUT_DEC(pitch, pitch),
	  result ? (void)0 : DEC(size, *pitch * height), DEC(width, width), DEC(height, height))
{
	size_t row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	CUresult result;
	size_t size;

	if (!pitch || (element_size != 4 && element_size != 8 && element_size != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (row < width || __builtin_mul_overflow(row, height, &size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = allocate(context_current()->device->memory, ARENA_DEVICE, size, 0, ptr);
	if (result == CUDA_SUCCESS)
		*pitch = row;
	return result;
}

/* Managed memory migrates; here it is host memory all the time and takes none of the device's. */
CU_DEFINE(CONTEXT, cuMemAllocManaged, (CUdeviceptr *ptr, size_t size, unsigned int flags),
	  (ptr, size, flags), OUT_HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	CUresult result;

	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate(space_host(), ARENA_MANAGED, size, flags, ptr);
	if (result == CUDA_SUCCESS)
		kernel_managed(*ptr, size);
	return result;
}

/*
 * Takes memory from pools and graphs as well: cuMemFree is then a synchronous cuMemFreeAsync. And
 * buffers of external memory.
 */
CU_DEFINE(CONTEXT, cuMemFree_v2, (CUdeviceptr ptr), (ptr), HEX(addr, ptr))
{
	struct arena *arena = space_arena(ptr);
	CUresult result = capture_refuse_unsafe();

	if (result != CUDA_SUCCESS)
		return result;
	if (arena && arena_free(arena, ptr, ARENA_DEVICE | ARENA_MANAGED))
		return CUDA_SUCCESS;
	return pool_free(ptr) || graph_memory_free(ptr) || external_free(ptr) ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(CONTEXT, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes),
	  (free_bytes, total_bytes), OUT_DEC(free, free_bytes), OUT_DEC(total, total_bytes))
{
	struct arena *memory = context_current()->device->memory;

	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*total_bytes = arena_capacity(memory);
	*free_bytes = *total_bytes - arena_used(memory);
	return CUDA_SUCCESS;
}

/* From when memory had 32-bit sizes: what does not fit is cut off at the largest that does. */
CU_DEFINE(CONTEXT, cuMemGetInfo, (unsigned int *free_bytes, unsigned int *total_bytes),
	  (free_bytes, total_bytes), OUT_DEC(free, free_bytes), OUT_DEC(total, total_bytes))
{
	struct arena *memory = context_current()->device->memory;
	uint64_t total = arena_capacity(memory);
	uint64_t left = total - arena_used(memory);

	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*total_bytes = total > UINT32_MAX ? UINT32_MAX : (unsigned int)total;
	*free_bytes = left > UINT32_MAX ? UINT32_MAX : (unsigned int)left;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *size, CUdeviceptr ptr),
	  (base, size, ptr), HEX(addr, ptr), OUT_HEX(value, base), OUT_DEC(size, size))
{
	struct arena_block block;

	if (!space_find(ptr, &block))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = block.addr;
	if (size)
		*size = block.size_bytes;
	return CUDA_SUCCESS;
}

static CUresult pinned(void **ptr, size_t size, unsigned int flags)
{
	CUdeviceptr addr;
	CUresult result;

	if (!ptr || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate(space_host(), ARENA_PINNED, size, flags, &addr);
	if (result == CUDA_SUCCESS) {
		*ptr = (void *)(uintptr_t)addr;
		kernel_lock(context_current()->device->physical, addr, size);
	}
	return result;
}

CU_DEFINE(CONTEXT, cuMemHostAlloc, (void **ptr, size_t size, unsigned int flags),
	  (ptr, size, flags), OUT_HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	return pinned(ptr, size, flags);
}

CU_DEFINE(CONTEXT, cuMemAllocHost_v2, (void **ptr, size_t size), (ptr, size), OUT_HEX(addr, ptr),
	  DEC(size, size))
{
	return pinned(ptr, size, 0);
}

CU_DEFINE(CONTEXT, cuMemFreeHost, (void *ptr), (ptr), HEX(addr, ptr))
{
	if (!arena_free(space_host(), (uintptr_t)ptr, ARENA_PINNED))
		return CUDA_ERROR_INVALID_VALUE;
	kernel_unlock((uintptr_t)ptr);
	return CUDA_SUCCESS;
}

CU_DEFINE_V2(CONTEXT, cuMemHostRegister, (void *ptr, size_t size, unsigned int flags),
	     (ptr, size, flags), HEX(addr, ptr), DEC(size, size), DEC(flags, flags))
{
	struct arena_block block = {
		.addr = (uintptr_t)ptr,
		.size_bytes = size,
		.owner = context_current(),
		.use = ARENA_REGISTERED,
		.flags = flags,
	};

	if (!ptr || !size || flags & ~15u)
		return CUDA_ERROR_INVALID_VALUE;
	if (!space_register(&block))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	kernel_lock(context_current()->device->physical, block.addr, size);
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuMemHostUnregister, (void *ptr), (ptr), HEX(addr, ptr))
{
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	if (!space_unregister((uintptr_t)ptr))
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	kernel_unlock((uintptr_t)ptr);
	return CUDA_SUCCESS;
}

/* Pinned or registered memory around ptr. */
static bool find_host(const void *ptr, struct arena_block *block)
{
	return space_find((uintptr_t)ptr, block) &&
	       (block->use == ARENA_PINNED || block->use == ARENA_REGISTERED);
}

CU_DEFINE(CONTEXT, cuMemHostGetDevicePointer_v2,
	  (CUdeviceptr *device_ptr, void *ptr, unsigned int flags), (device_ptr, ptr, flags),
	  HEX(addr, ptr), OUT_HEX(value, device_ptr))
{
	struct arena_block block;

	if (!device_ptr || flags || !find_host(ptr, &block))
		return CUDA_ERROR_INVALID_VALUE;
	*device_ptr = (uintptr_t)ptr;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuMemHostGetFlags, (unsigned int *flags, void *ptr), (flags, ptr),
	  HEX(addr, ptr), OUT_DEC(flags, flags))
{
	struct arena_block block;

	if (!flags || !find_host(ptr, &block))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = block.flags;
	return CUDA_SUCCESS;
}
