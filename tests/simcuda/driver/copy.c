/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-dimensional copies. They move real bytes, at once, also the asynchronous ones. A device
 * address must lie in a live allocation with room for the whole copy; a host address that is not
 * ours is taken on trust. Each direction has a name of its own except in cuMemcpy, where the
 * oracle notes what the addresses turned out to be.
 */
#include <string.h>

#include "graph.h"

/* An end that is not there yet may be memory that a graph will have. */
static CUresult move_captured(CUdeviceptr dst, bool dst_ok, CUdeviceptr src, bool src_ok,
			      size_t size, CUstream stream)
{
	const struct graph_work work = {
		.type = CU_GRAPH_NODE_TYPE_MEMCPY,
		.copy = {
			.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			.srcDevice = src,
			.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			.dstDevice = dst,
			.WidthInBytes = size,
			.Height = 1,
			.Depth = 1,
		},
	};

	if ((!dst_ok && !graph_memory_planned(dst, size)) ||
	    (!src_ok && !graph_memory_planned(src, size)))
		return CUDA_ERROR_INVALID_VALUE;
	return capture_add(stream, &work);
}

/* stream for the asynchronous ones, NULL for the others. */
static CUresult move(CUdeviceptr dst, bool dst_ok, CUdeviceptr src, bool src_ok, size_t size,
		     CUstream stream)
{
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	dst_ok = dst_ok && space_writable(dst, size);
	if (capture_active(stream))
		return move_captured(dst, dst_ok || !size, src, src_ok || !size, size, stream);
	if (!size)
		return CUDA_SUCCESS;
	if (!dst_ok || !src_ok)
		return CUDA_ERROR_INVALID_VALUE;
	memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, size);
	observer_copy(space_letter(src), space_letter(dst), size, stream);
	return CUDA_SUCCESS;
}

CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return move(dst, space_readable(dst, size), src, space_readable(src, size), size, stream);
}

static CUresult host_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	CUdeviceptr from = (uintptr_t)src;

	return move(dst, space_valid(dst, size), from, space_readable(from, size), size, stream);
}

static CUresult device_to_host(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CUdeviceptr to = (uintptr_t)dst;

	return move(to, space_readable(to, size), src, space_valid(src, size), size, stream);
}

static CUresult device_to_device(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return move(dst, space_valid(dst, size), src, space_valid(src, size), size, stream);
}

static CUresult peer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
		     size_t size, CUstream stream)
{
	if (!context_alive(dst_context) || !context_alive(src_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return device_to_device(dst, src, size, stream);
}

static void note_direction(struct oracle_line *line, CUdeviceptr dst, CUdeviceptr src)
{
	char direction[] = { space_letter(src), 't', 'o', space_letter(dst), 0 };

	STR(direction, direction);
}

#define NOTE_COPY HEX(dst, dst), HEX(src, src), DEC(size, size)

CU_DEFINE_PTDS(CONTEXT, cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size),
	       (dst, src, size), NOTE_COPY, note_direction(line, dst, src))
{
	return copy_unified(dst, src, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyAsync,
	       (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), NOTE_COPY, note_direction(line, dst, src),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return copy_unified(dst, src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size),
	       (dst, src, size), NOTE_COPY, STR(direction, "HtoD"))
{
	return host_to_device(dst, src, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyHtoDAsync_v2,
	       (CUdeviceptr dst, const void *src, size_t size, CUstream stream),
	       (dst, src, size, stream), NOTE_COPY, STR(direction, "HtoD"),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return host_to_device(dst, src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size),
	       (dst, src, size), NOTE_COPY, STR(direction, "DtoH"))
{
	return device_to_host(dst, src, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyDtoHAsync_v2,
	       (void *dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), NOTE_COPY, STR(direction, "DtoH"),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return device_to_host(dst, src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size),
	       (dst, src, size), NOTE_COPY, STR(direction, "DtoD"))
{
	return device_to_device(dst, src, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyDtoDAsync_v2,
	       (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), NOTE_COPY, STR(direction, "DtoD"),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return device_to_device(dst, src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyPeer,
	       (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
		size_t size),
	       (dst, dst_context, src, src_context, size), NOTE_COPY, STR(direction, "PtoP"),
	       HEX(dst_context, dst_context), HEX(src_context, src_context))
{
	return peer(dst, dst_context, src, src_context, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyPeerAsync,
	       (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
		size_t size, CUstream stream),
	       (dst, dst_context, src, src_context, size, stream), NOTE_COPY,
	       STR(direction, "PtoP"), HEX(dst_context, dst_context),
	       HEX(src_context, src_context), HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return peer(dst, dst_context, src, src_context, size, stream);
}

/* Where `size` bytes at `offset` of an array are; 0 when the array has no such bytes. */
static CUdeviceptr inside(CUarray array, size_t offset, size_t size)
{
	struct array_layout layout;
	uint64_t total;

	if (!array_layout(array, &layout))
		return 0;
	total = layout.row_bytes * layout.height * layout.depth;
	return offset <= total && size <= total - offset ? layout.addr + offset : 0;
}

static CUresult array_to_host(void *dst, CUarray src, size_t offset, size_t size, CUstream stream)
{
	return device_to_host(dst, inside(src, offset, size), size, stream);
}

static CUresult host_to_array(CUarray dst, size_t offset, const void *src, size_t size,
			      CUstream stream)
{
	return host_to_device(inside(dst, offset, size), src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyAtoH_v2, (void *dst, CUarray src, size_t offset, size_t size),
	       (dst, src, offset, size), NOTE_COPY, STR(direction, "AtoH"))
{
	return array_to_host(dst, src, offset, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyAtoHAsync_v2,
	       (void *dst, CUarray src, size_t offset, size_t size, CUstream stream),
	       (dst, src, offset, size, stream), NOTE_COPY, STR(direction, "AtoH"),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return array_to_host(dst, src, offset, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyHtoA_v2, (CUarray dst, size_t offset, const void *src, size_t size),
	       (dst, offset, src, size), NOTE_COPY, STR(direction, "HtoA"))
{
	return host_to_array(dst, offset, src, size, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpyHtoAAsync_v2,
	       (CUarray dst, size_t offset, const void *src, size_t size, CUstream stream),
	       (dst, offset, src, size, stream), NOTE_COPY, STR(direction, "HtoA"),
	       HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return host_to_array(dst, offset, src, size, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyAtoD_v2, (CUdeviceptr dst, CUarray src, size_t offset, size_t size),
	       (dst, src, offset, size), NOTE_COPY, STR(direction, "AtoD"))
{
	return device_to_device(dst, inside(src, offset, size), size, NULL);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyDtoA_v2, (CUarray dst, size_t offset, CUdeviceptr src, size_t size),
	       (dst, offset, src, size), NOTE_COPY, STR(direction, "DtoA"))
{
	return device_to_device(inside(dst, offset, size), src, size, NULL);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpyAtoA_v2,
	       (CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size),
	       (dst, dst_offset, src, src_offset, size), NOTE_COPY, STR(direction, "AtoA"))
{
	return device_to_device(inside(dst, dst_offset, size), inside(src, src_offset, size), size,
				NULL);
}
