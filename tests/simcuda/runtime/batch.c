/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetches, advice and batches: the driver's, under other names.
 */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation) &&
		       sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes) &&
		       sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP),
	       "the two APIs share these structures");

static CUmemLocation driver_location(struct cudaMemLocation location)
{
	return (CUmemLocation){ (CUmemLocationType)location.type, location.id };
}

/* The host is no device. */
static int ordinal_of(const struct cudaMemLocation *location)
{
	return location->type == cudaMemLocationTypeDevice ? location->id : -1;
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemPrefetchAsync,
	       (const void *ptr, size_t size, struct cudaMemLocation location, unsigned int flags,
		cudaStream_t stream),
	       (ptr, size, location, flags, stream), HEX(addr, ptr), DEC(size, size),
	       DEC(ordinal, ordinal_of(&location)), DEC(flags, flags), HEX(stream, stream))
{
	return runtime_error(cu->cuMemPrefetchAsync(runtime_ptr(ptr), size,
						    driver_location(location), flags, stream));
}

RT_DEFINE(CONTEXT, cudaMemAdvise,
	  (const void *ptr, size_t size, enum cudaMemoryAdvise advice,
	   struct cudaMemLocation location),
	  (ptr, size, advice, location), HEX(addr, ptr), DEC(size, size), DEC(attribute, advice),
	  DEC(ordinal, ordinal_of(&location)))
{
	return runtime_error(cu->cuMemAdvise(runtime_ptr(ptr), size, (CUmem_advise)advice,
					     driver_location(location)));
}

/* As the driver does it: the sum of the sizes, and the first of the addresses. */
static void note_sizes(struct oracle_line *line, const size_t *sizes, size_t count)
{
	uint64_t total = 0;

	DEC(count, count);
	for (size_t i = 0; sizes && i < count; i++)
		total += sizes[i];
	DEC(size, total);
}

static void note_ranges(struct oracle_line *line, void *const *ptrs, const size_t *sizes,
			size_t count)
{
	note_sizes(line, sizes, count);
	if (ptrs && count)
		HEX(addr, *ptrs);
}

static void note_copies(struct oracle_line *line, void *const *dsts, const void *const *srcs,
			const size_t *sizes, size_t count)
{
	note_sizes(line, sizes, count);
	if (!dsts || !srcs || !count)
		return;
	HEX(dst, *dsts);
	HEX(src, *srcs);
}

#define NOTE_RANGES note_ranges(line, ptrs, sizes, count), DEC(flags, flags), HEX(stream, stream)

RT_DEFINE_PTSZ(CONTEXT, cudaMemPrefetchBatchAsync,
	       (void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations,
		size_t *starts, size_t location_count, unsigned long long flags,
		cudaStream_t stream),
	       (ptrs, sizes, count, locations, starts, location_count, flags, stream), NOTE_RANGES)
{
	return runtime_error(cu->cuMemPrefetchBatchAsync((CUdeviceptr *)ptrs, sizes, count,
							 (CUmemLocation *)locations, starts,
							 location_count, flags, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemDiscardBatchAsync,
	       (void **ptrs, size_t *sizes, size_t count, unsigned long long flags,
		cudaStream_t stream),
	       (ptrs, sizes, count, flags, stream), NOTE_RANGES)
{
	return runtime_error(
		cu->cuMemDiscardBatchAsync((CUdeviceptr *)ptrs, sizes, count, flags, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemDiscardAndPrefetchBatchAsync,
	       (void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations,
		size_t *starts, size_t location_count, unsigned long long flags,
		cudaStream_t stream),
	       (ptrs, sizes, count, locations, starts, location_count, flags, stream), NOTE_RANGES)
{
	return runtime_error(cu->cuMemDiscardAndPrefetchBatchAsync(
		(CUdeviceptr *)ptrs, sizes, count, (CUmemLocation *)locations, starts,
		location_count, flags, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyBatchAsync,
	       (void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
		struct cudaMemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
		cudaStream_t stream),
	       (dsts, srcs, sizes, count, attributes, starts, attribute_count, stream),
	       note_copies(line, dsts, srcs, sizes, count), HEX(stream, stream))
{
	return runtime_error(cu->cuMemcpyBatchAsync(
		(CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
		(size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attributes, starts,
		attribute_count, stream));
}

/* Sizes are in elements of arrays: the driver's line has them in bytes. */
RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy3DBatchAsync,
	       (size_t count, struct cudaMemcpy3DBatchOp *ops, unsigned long long flags,
		cudaStream_t stream),
	       (count, ops, flags, stream), DEC(count, count), DEC(flags, flags),
	       HEX(stream, stream))
{
	return runtime_error(
		cu->cuMemcpy3DBatchAsync(count, (CUDA_MEMCPY3D_BATCH_OP *)ops, flags, stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyWithAttributesAsync,
	       (void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attributes,
		cudaStream_t stream),
	       (dst, src, size, attributes, stream), HEX(dst, dst), HEX(src, src), DEC(size, size),
	       HEX(stream, stream))
{
	return runtime_error(cu->cuMemcpyWithAttributesAsync((CUdeviceptr)dst, (CUdeviceptr)src,
							     size, (CUmemcpyAttributes *)attributes,
							     stream));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy3DWithAttributesAsync,
	       (struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream),
	       (op, flags, stream), DEC(flags, flags), HEX(stream, stream))
{
	return runtime_error(
		cu->cuMemcpy3DWithAttributesAsync((CUDA_MEMCPY3D_BATCH_OP *)op, flags, stream));
}
