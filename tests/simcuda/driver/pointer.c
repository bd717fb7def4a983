/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuPointerGetAttribute(s): what the driver knows about an address.
 */
#include <string.h>

#include "driver.h"

static int ordinal(const struct arena_block *block)
{
	struct device *device = space_device(block);

	return device ? device->ordinal : -1;
}

/* Writes the attribute where data points; false: not one we have an answer to. */
static bool answer(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
		   const struct arena_block *block)
{
	/* Managed memory counts as device memory, wherever it is at the moment. */
	bool host_only = space_on_host(block);
	bool host = host_only || block->use == ARENA_MANAGED;
	bool pool = block->use == ARENA_POOL;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = space_context(block);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = host_only ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return true;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = ptr;
		return true;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = host ? (void *)(uintptr_t)ptr : NULL;
		return host;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = 0;
		return true;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = block->id;
		return true;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = block->use == ARENA_MANAGED;
		return true;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = ordinal(block);
		return true;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(int *)data = block->use == ARENA_DEVICE;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = block->addr;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = block->size_bytes;
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = 1;
		return true;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = pool ? block->owner : NULL;
		return pool;
	default:
		return false;
	}
}

/* The range of reserved addresses is that of the reservation, whether it is mapped or not. */
static bool answer_reserved(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUdeviceptr start;
	size_t size;

	if (!vmm_reserved(ptr, &start, &size))
		return false;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = start;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = size;
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = mapping_find(ptr, &(struct arena_block){ 0 });
		return true;
	default:
		return false;
	}
}

static size_t answer_bytes(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return 4;
	default:
		return 8;
	}
}

CU_DEFINE(INIT, cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
	  (data, attribute, ptr), HEX(addr, ptr), DEC(attribute, attribute))
{
	struct arena_block block;

	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	if (answer_reserved(data, attribute, ptr))
		return CUDA_SUCCESS;
	if (!space_find(ptr, &block) || !answer(data, attribute, ptr, &block))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Answers with zeros about what it does not know, except that no device is -2. */
CU_DEFINE(INIT, cuPointerGetAttributes,
	  (unsigned int count, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr),
	  (count, attributes, data, ptr), HEX(addr, ptr))
{
	enum { NO_DEVICE = -2 };
	struct arena_block block;
	bool found;

	if (!attributes || !data || !count)
		return CUDA_ERROR_INVALID_VALUE;
	found = space_find(ptr, &block);
	for (unsigned int i = 0; i < count; i++) {
		memset(data[i], 0, answer_bytes(attributes[i]));
		if (answer_reserved(data[i], attributes[i], ptr))
			continue;
		if (found)
			answer(data[i], attributes[i], ptr, &block);
		else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = NO_DEVICE;
	}
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuPointerSetAttribute,
	  (const void *value, CUpointer_attribute attribute, CUdeviceptr ptr),
	  (value, attribute, ptr), HEX(addr, ptr), DEC(attribute, attribute))
{
	struct arena_block block;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !space_find(ptr, &block))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
