/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where managed memory is to be. It never moves, so all of this is checked and forgotten; in a
 * capture there would be no node for it.
 */
#include "graph.h"

static CUmemLocation location_of(CUdevice device)
{
	return (CUmemLocation){
		.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST :
						  CU_MEM_LOCATION_TYPE_DEVICE,
		.id = device,
	};
}

static CUdevice ordinal_of(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : CU_DEVICE_CPU;
}

static CUresult check_location(const CUmemLocation *location)
{
	switch (location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return location->id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult check_range(CUdeviceptr ptr, size_t size)
{
	struct arena_block block;

	if (!size || !space_find(ptr, &block) || block.use != ARENA_MANAGED ||
	    !space_valid(ptr, size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult prefetch(CUdeviceptr ptr, size_t size, CUmemLocation location, CUstream stream)
{
	CUresult result = check_range(ptr, size);

	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = check_location(&location);
	return result == CUDA_SUCCESS ? capture_refuse_stream(stream) : result;
}

CU_DEFINE_PTSZ(CONTEXT, cuMemPrefetchAsync,
	       (CUdeviceptr ptr, size_t size, CUdevice device, CUstream stream),
	       (ptr, size, device, stream), HEX(addr, ptr), DEC(size, size), DEC(ordinal, device),
	       HEX(stream, stream))
{
	return prefetch(ptr, size, location_of(device), stream);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemPrefetchAsync_v2,
	       (CUdeviceptr ptr, size_t size, CUmemLocation location, unsigned int flags,
		CUstream stream),
	       (ptr, size, location, flags, stream), HEX(addr, ptr), DEC(size, size),
	       DEC(ordinal, ordinal_of(&location)), DEC(flags, flags), HEX(stream, stream))
{
	return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(ptr, size, location, stream);
}

static CUresult advise(CUdeviceptr ptr, size_t size, CUmem_advise advice, CUmemLocation location)
{
	CUresult result = check_range(ptr, size);

	if (result != CUDA_SUCCESS)
		return result;
	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		return CUDA_SUCCESS; /* the location does not matter */
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return check_location(&location);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CU_DEFINE(CONTEXT, cuMemAdvise,
	  (CUdeviceptr ptr, size_t size, CUmem_advise advice, CUdevice device),
	  (ptr, size, advice, device), HEX(addr, ptr), DEC(size, size), DEC(attribute, advice),
	  DEC(ordinal, device))
{
	return advise(ptr, size, advice, location_of(device));
}

CU_DEFINE(CONTEXT, cuMemAdvise_v2,
	  (CUdeviceptr ptr, size_t size, CUmem_advise advice, CUmemLocation location),
	  (ptr, size, advice, location), HEX(addr, ptr), DEC(size, size), DEC(attribute, advice),
	  DEC(ordinal, ordinal_of(&location)))
{
	return advise(ptr, size, advice, location);
}

static CUresult check_batch(const CUdeviceptr *ptrs, const size_t *sizes, size_t count,
			    unsigned long long flags, CUstream stream)
{
	CUresult result = batch_check_stream(stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ptrs || !sizes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = check_range(ptrs[i], sizes[i]);
	return result == CUDA_SUCCESS ? capture_refuse_stream(stream) : result;
}

static CUresult check_locations(const CUmemLocation *locations, const size_t *starts,
				size_t location_count, size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!locations || !batch_starts_valid(starts, location_count, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < location_count && result == CUDA_SUCCESS; i++)
		result = check_location(&locations[i]);
	return result;
}

#define NOTE_BATCH \
	batch_note(line, ptrs, NULL, sizes, count), DEC(flags, flags), HEX(stream, stream)
#define NOTE_LOCATION locations ? DEC(ordinal, ordinal_of(locations)) : (void)0

CU_DEFINE_BATCH(cuMemPrefetchBatchAsync,
		(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
		 size_t *starts, size_t location_count, unsigned long long flags, CUstream stream),
		(ptrs, sizes, count, locations, starts, location_count, flags, stream), NOTE_BATCH,
		NOTE_LOCATION)
{
	CUresult result = check_batch(ptrs, sizes, count, flags, BATCH_STREAM);

	if (result != CUDA_SUCCESS)
		return result;
	return check_locations(locations, starts, location_count, count);
}

/* What is discarded has any contents, such as those it had. */
CU_DEFINE_BATCH(cuMemDiscardBatchAsync,
		(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
		 CUstream stream),
		(ptrs, sizes, count, flags, stream), NOTE_BATCH)
{
	return check_batch(ptrs, sizes, count, flags, BATCH_STREAM);
}

CU_DEFINE_BATCH(cuMemDiscardAndPrefetchBatchAsync,
		(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
		 size_t *starts, size_t location_count, unsigned long long flags, CUstream stream),
		(ptrs, sizes, count, locations, starts, location_count, flags, stream), NOTE_BATCH,
		NOTE_LOCATION)
{
	CUresult result = check_batch(ptrs, sizes, count, flags, BATCH_STREAM);

	if (result != CUDA_SUCCESS)
		return result;
	return check_locations(locations, starts, location_count, count);
}
