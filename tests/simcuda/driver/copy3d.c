/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two- and three-dimensional copies: all of them are a box of `Depth` slices of `Height` rows of
 * `WidthInBytes`, so a 2D copy is done as a 3D one of a single slice.
 */
#include <string.h>

#include "graph.h"

/* One end of a copy: where the first byte is, and how far apart rows and slices are. */
struct end {
	CUdeviceptr first;
	uint64_t pitch;
	uint64_t slice;
	bool fits; /* the pitch or the array is large enough */
	bool ok;   /* that, and the memory is there */
};

static char letter(CUmemorytype type, CUdeviceptr addr)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		return 'H';
	case CU_MEMORYTYPE_ARRAY:
		return 'A';
	case CU_MEMORYTYPE_UNIFIED:
		return space_letter(addr);
	default:
		return 'D';
	}
}

static CUdeviceptr address(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		return (uintptr_t)host;
	case CU_MEMORYTYPE_ARRAY:
		return (uintptr_t)array;
	default:
		return device;
	}
}

static CUdeviceptr source(const CUDA_MEMCPY3D *c)
{
	return address(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray);
}

static CUdeviceptr destination(const CUDA_MEMCPY3D *c)
{
	return address(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray);
}

/* The bytes from the first to the last one that the copy touches. */
static uint64_t span(const struct end *end, const CUDA_MEMCPY3D *c)
{
	return (c->Depth - 1) * end->slice + (c->Height - 1) * end->pitch + c->WidthInBytes;
}

static bool end_in_array(struct end *end, CUarray array, const CUDA_MEMCPY3D *c, size_t x, size_t y,
			 size_t z)
{
	struct array_layout layout;

	if (!array_layout(array, &layout) || x + c->WidthInBytes > layout.row_bytes ||
	    y + c->Height > layout.height || z + c->Depth > layout.depth)
		return false;
	end->pitch = layout.row_bytes;
	end->slice = layout.row_bytes * layout.height;
	end->first = layout.addr;
	return true;
}

static struct end end_of(const CUDA_MEMCPY3D *c, CUmemorytype type, CUdeviceptr addr, size_t pitch,
			 size_t height, size_t x, size_t y, size_t z)
{
	struct end end = { .first = addr, .pitch = pitch, .slice = pitch * height };

	if (type == CU_MEMORYTYPE_ARRAY)
		end.fits = end_in_array(&end, (CUarray)(uintptr_t)addr, c, x, y, z);
	else
		end.fits = c->Height * c->Depth == 1 || pitch >= x + c->WidthInBytes;
	end.first += x + y * end.pitch + z * end.slice;
	end.ok = end.fits;
	if (type == CU_MEMORYTYPE_DEVICE)
		end.ok = end.ok && space_valid(end.first, span(&end, c));
	else if (type != CU_MEMORYTYPE_ARRAY)
		end.ok = end.ok && space_readable(end.first, span(&end, c));
	return end;
}

static struct end source_end(const CUDA_MEMCPY3D *c)
{
	return end_of(c, c->srcMemoryType, source(c), c->srcPitch, c->srcHeight, c->srcXInBytes,
		      c->srcY, c->srcZ);
}

static struct end destination_end(const CUDA_MEMCPY3D *c)
{
	struct end end = end_of(c, c->dstMemoryType, destination(c), c->dstPitch, c->dstHeight,
				c->dstXInBytes, c->dstY, c->dstZ);

	end.ok = end.ok && space_writable(end.first, span(&end, c));
	return end;
}

static bool is_empty(const CUDA_MEMCPY3D *c)
{
	return !c->WidthInBytes || !c->Height || !c->Depth;
}

static bool end_planned(const struct end *end, const CUDA_MEMCPY3D *c)
{
	return end->ok || (end->fits && graph_memory_planned(end->first, span(end, c)));
}

CUresult copy_plan(const CUDA_MEMCPY3D *c)
{
	struct end src, dst;

	if (is_empty(c))
		return CUDA_SUCCESS;
	src = source_end(c);
	dst = destination_end(c);
	return end_planned(&src, c) && end_planned(&dst, c) ? CUDA_SUCCESS :
							      CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_run(const CUDA_MEMCPY3D *c)
{
	struct end src, dst;

	if (is_empty(c))
		return CUDA_SUCCESS;
	src = source_end(c);
	dst = destination_end(c);
	if (!src.ok || !dst.ok)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t z = 0; z < c->Depth; z++)
		for (size_t y = 0; y < c->Height; y++)
			memmove((void *)(uintptr_t)(dst.first + z * dst.slice + y * dst.pitch),
				(void *)(uintptr_t)(src.first + z * src.slice + y * src.pitch),
				c->WidthInBytes);
	return CUDA_SUCCESS;
}

static CUresult copy_captured(const CUDA_MEMCPY3D *c, CUstream stream)
{
	const struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = *c };
	CUresult result = copy_plan(c);

	return result == CUDA_SUCCESS ? capture_add(stream, &work) : result;
}

CUresult copy_box(const CUDA_MEMCPY3D *c, CUstream stream)
{
	CUresult result;

	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_active(stream))
		return copy_captured(c, stream);
	result = copy_run(c);
	if (result == CUDA_SUCCESS)
		observer_copy('D', 'D', c->WidthInBytes * c->Height * c->Depth, stream);
	return result;
}

static CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D *c)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes,
		.srcY = c->srcY,
		.srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost,
		.srcDevice = c->srcDevice,
		.srcArray = c->srcArray,
		.srcPitch = c->srcPitch ? c->srcPitch : c->WidthInBytes,
		.dstXInBytes = c->dstXInBytes,
		.dstY = c->dstY,
		.dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost,
		.dstDevice = c->dstDevice,
		.dstArray = c->dstArray,
		.dstPitch = c->dstPitch ? c->dstPitch : c->WidthInBytes,
		.WidthInBytes = c->WidthInBytes,
		.Height = c->Height,
		.Depth = 1,
	};
}

/* The layouts are the same; what differs has no meaning for us. */
static CUDA_MEMCPY3D from_peer(const CUDA_MEMCPY3D_PEER *c)
{
	CUDA_MEMCPY3D copy;

	_Static_assert(sizeof(copy) == sizeof(*c), "CUDA_MEMCPY3D_PEER has another layout");
	memcpy(&copy, c, sizeof(copy));
	return copy;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream)
{
	CUDA_MEMCPY3D copy;

	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	copy = from_2d(c);
	return copy_box(&copy, stream);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return c ? copy_box(c, stream) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
	CUDA_MEMCPY3D copy;

	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_alive(c->srcContext) || !context_alive(c->dstContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	copy = from_peer(c);
	return copy_box(&copy, stream);
}

static void note_box(struct oracle_line *line, const CUDA_MEMCPY3D *c, const char *direction)
{
	char letters[] = { letter(c->srcMemoryType, c->srcDevice), 't', 'o',
			   letter(c->dstMemoryType, c->dstDevice), 0 };

	HEX(dst, destination(c));
	HEX(src, source(c));
	DEC(size, c->WidthInBytes * c->Height * c->Depth);
	DEC(width, c->WidthInBytes);
	DEC(height, c->Height);
	DEC(depth, c->Depth);
	STR(direction, direction ? direction : letters);
}

static void note_2d(struct oracle_line *line, const CUDA_MEMCPY2D *c)
{
	CUDA_MEMCPY3D copy;

	if (!c)
		return;
	copy = from_2d(c);
	note_box(line, &copy, NULL);
}

void copy_note(struct oracle_line *line, const CUDA_MEMCPY3D *c)
{
	note_box(line, c, NULL);
}

static void note_3d(struct oracle_line *line, const CUDA_MEMCPY3D *c)
{
	if (c)
		note_box(line, c, NULL);
}

static void note_peer(struct oracle_line *line, const CUDA_MEMCPY3D_PEER *c)
{
	CUDA_MEMCPY3D copy;

	if (!c)
		return;
	copy = from_peer(c);
	note_box(line, &copy, "PtoP");
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *c), (c), note_2d(line, c))
{
	return copy_2d(c, NULL);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *c), (c), note_2d(line, c))
{
	return copy_2d(c, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *c, CUstream stream), (c, stream),
	       note_2d(line, c), HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return copy_2d(c, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *c), (c), note_3d(line, c))
{
	return copy_3d(c, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *c, CUstream stream), (c, stream),
	       note_3d(line, c), HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return copy_3d(c, stream);
}

CU_DEFINE_PTDS(CONTEXT, cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *c), (c), note_peer(line, c))
{
	return copy_peer(c, NULL);
}

CU_DEFINE_PTSZ(CONTEXT, cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *c, CUstream stream),
	       (c, stream), note_peer(line, c), HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return copy_peer(c, stream);
}
