/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management: addresses are reserved, physical memory (physical.c) is mapped there,
 * and access to it granted, each on its own. None of it needs or belongs to a context: memory is of
 * a device, and addresses are of the process.
 */
#include "kernel.h"
#include "mapping.h"
#include "physical.h"

#define PAGE 4096ull

struct range {
	CUdeviceptr addr;
	uint64_t size_bytes;
};

/* A reservation's alignment is kept as flags of its block, which has room for it. */
static struct range reservation(const struct arena_block *block)
{
	uint64_t alignment = 1ull << block->flags;

	return (struct range){
		.addr = (block->addr + alignment - 1) & ~(alignment - 1),
		.size_bytes = block->size_bytes - (alignment - MAPPING_GRANULE),
	};
}

static bool inside(CUdeviceptr addr, uint64_t size_bytes, const struct range *range)
{
	return addr - range->addr < range->size_bytes &&
	       size_bytes <= range->size_bytes - (addr - range->addr);
}

/* The reservation that has all of these addresses; addresses of imports are in none. */
static bool find_reservation(CUdeviceptr addr, uint64_t size_bytes, struct range *range)
{
	struct arena_block block;

	if (!mapping_reserved(addr, &block) || !block.flags)
		return false;
	*range = reservation(&block);
	return inside(addr, size_bytes, range);
}

bool vmm_reserved(CUdeviceptr addr, CUdeviceptr *start, size_t *size_bytes)
{
	struct range range;

	if (!find_reservation(addr, 1, &range))
		return false;
	*start = range.addr;
	*size_bytes = range.size_bytes;
	return true;
}

static CUresult reserve(CUdeviceptr *ptr, size_t size, size_t alignment)
{
	struct arena_block block = { .size_bytes = size };

	if (alignment < MAPPING_GRANULE)
		alignment = MAPPING_GRANULE;
	block.flags = (unsigned int)__builtin_ctzll(alignment);
	if (__builtin_add_overflow(size, alignment - MAPPING_GRANULE, &block.size_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	block.addr = mapping_reserve(block.size_bytes, block.flags);
	if (!block.addr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = reservation(&block).addr;
	return CUDA_SUCCESS;
}

/* The address that is asked for is a hint, which we do not take. */
CU_DEFINE(INIT, cuMemAddressReserve,
	  (CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint,
	   unsigned long long flags),
	  (ptr, size, alignment, hint, flags), OUT_HEX(addr, ptr), DEC(size, size),
	  DEC(flags, flags))
{
	if (!ptr || !size || size % PAGE || hint % PAGE || alignment & (alignment - 1) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return reserve(ptr, size, alignment);
}

/* Is anything mapped in the range? (locked) */
static bool occupied(CUdeviceptr addr, uint64_t size_bytes)
{
	for (uint64_t at = 0; at < size_bytes; at += MAPPING_GRANULE)
		if (mapping_in_granule(addr + at))
			return true;
	return false;
}

static bool unreserve(CUdeviceptr ptr, size_t size)
{
	struct arena_block block;
	struct range range;

	if (!find_reservation(ptr, size, &range) || range.addr != ptr || range.size_bytes != size ||
	    occupied(ptr, size) || !mapping_reserved(ptr, &block))
		return false;
	mapping_unreserve(block.addr);
	return true;
}

CU_DEFINE(INIT, cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size), HEX(addr, ptr),
	  DEC(size, size))
{
	bool freed;

	mapping_lock();
	freed = unreserve(ptr, size);
	mapping_unlock();
	return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult map(CUdeviceptr ptr, size_t size, CUmemGenericAllocationHandle handle)
{
	struct physical *p = physical_find(handle);
	struct mapping new = {
		.block.addr = ptr,
		.block.size_bytes = size,
		.block.use = ARENA_MAPPED,
		.physical = p,
	};
	struct range range;

	if (!p || size > p->size_bytes || !find_reservation(ptr, size, &range) ||
	    occupied(ptr, size))
		return CUDA_ERROR_INVALID_VALUE;
	new.device = p->device;
	if (!mapping_new(&new, p->fd, p->offset))
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical_mapped(p);
	if (p->memory)
		kernel_physical_map(p->device->physical, p->memory, ptr, size);
	return CUDA_SUCCESS;
}

/* The documentation wants offset to be zero for now. */
CU_DEFINE(INIT, cuMemMap,
	  (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	   unsigned long long flags),
	  (ptr, size, offset, handle, flags), HEX(addr, ptr), DEC(size, size), DEC(offset, offset),
	  HEX(handle, handle), DEC(flags, flags))
{
	CUresult result;

	if (!size || ptr % MAPPING_GRANULE || size % MAPPING_GRANULE || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	mapping_lock();
	result = map(ptr, size, handle);
	mapping_unlock();
	return result;
}

/* Whether the range is one or more of cuMemMap's mappings, each whole, without gaps. (locked) */
static bool whole(CUdeviceptr ptr, size_t size)
{
	struct mapping *m;
	struct range range;

	if (!size || !find_reservation(ptr, size, &range))
		return false;
	for (uint64_t at = 0; at < size; at += m->block.size_bytes) {
		m = mapping_at(ptr + at);
		if (!m || m->block.addr != ptr + at || m->block.size_bytes > size - at)
			return false;
	}
	return true;
}

static bool unmap(CUdeviceptr ptr, size_t size)
{
	uint64_t bytes;

	if (!whole(ptr, size))
		return false;
	for (uint64_t at = 0; at < size; at += bytes) {
		struct mapping *m = mapping_at(ptr + at);

		bytes = m->block.size_bytes;
		kernel_physical_unmap(m->physical->memory, m->block.addr, bytes);
		mapping_delete(m);
	}
	return true;
}

CU_DEFINE(INIT, cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size), HEX(addr, ptr),
	  DEC(size, size))
{
	bool unmapped;

	mapping_lock();
	unmapped = unmap(ptr, size);
	mapping_unlock();
	return unmapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Which of a mapping's access flags a location has. */
static CUresult access_index(const CUmemLocation *location, unsigned int *index)
{
	switch (location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*index = (unsigned int)location->id;
		return device_find(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*index = MAPPING_LOCATIONS - 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static bool access_valid(CUmemAccess_flags flags)
{
	return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
	       flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/* What can be said without looking at the mappings. */
static CUresult check_access(const CUmemAccessDesc *desc, size_t count)
{
	CUresult result = CUDA_SUCCESS;
	unsigned int index;

	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = access_valid(desc[i].flags) ? access_index(&desc[i].location, &index) :
						       CUDA_ERROR_INVALID_VALUE;
	return result;
}

/* The host cannot be given access to the memory of a device. */
static bool grantable(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	bool host = false, device = false;

	if (!whole(ptr, size))
		return false;
	for (size_t i = 0; i < count; i++)
		host = host || desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE;
	for (uint64_t at = 0; at < size; at += mapping_at(ptr + at)->block.size_bytes)
		device = device || mapping_at(ptr + at)->device;
	return !host || !device;
}

static void grant(struct mapping *m, const CUmemAccessDesc *desc, size_t count)
{
	unsigned int index;

	for (size_t i = 0; i < count; i++)
		if (access_index(&desc[i].location, &index) == CUDA_SUCCESS)
			m->access[index] = (unsigned char)desc[i].flags;
}

/* Where a location is; the host is no device. */
static int ordinal_of(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : -1;
}

static void note_access(struct oracle_line *line, const CUmemAccessDesc *desc, size_t count)
{
	DEC(count, count);
	if (!desc || !count)
		return;
	DEC(ordinal, ordinal_of(&desc->location));
	DEC(flags, desc->flags);
}

CU_DEFINE(INIT, cuMemSetAccess,
	  (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count),
	  (ptr, size, desc, count), HEX(addr, ptr), DEC(size, size), note_access(line, desc, count))
{
	CUresult result = check_access(desc, count);

	if (result != CUDA_SUCCESS)
		return result;
	mapping_lock();
	if (!grantable(ptr, size, desc, count))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		for (uint64_t at = 0; at < size; at += mapping_at(ptr + at)->block.size_bytes)
			grant(mapping_at(ptr + at), desc, count);
	mapping_unlock();
	return result;
}

CU_DEFINE(INIT, cuMemGetAccess,
	  (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr),
	  (flags, location, ptr), HEX(addr, ptr),
	  location ? DEC(ordinal, ordinal_of(location)) : (void)0, OUT_DEC(flags, flags))
{
	unsigned int index;
	CUresult result;
	struct mapping *m;

	if (!flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	result = access_index(location, &index);
	if (result != CUDA_SUCCESS)
		return result;
	mapping_lock();
	m = mapping_at(ptr);
	if (m && m->physical)
		*flags = m->access[index];
	else
		result = CUDA_ERROR_INVALID_VALUE;
	mapping_unlock();
	return result;
}
