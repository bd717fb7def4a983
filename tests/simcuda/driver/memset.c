/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memsets: of 8, 16 and 32 bit elements, of a line or a rectangle, synchronous or on a stream.
 */
#include <string.h>

#include "graph.h"

static void fill(char *dst, unsigned int value, size_t element, size_t count)
{
	if (element == 1)
		memset(dst, (int)value, count);
	else
		for (size_t i = 0; i < count; i++)
			memcpy(dst + i * element, &value, element); /* little-endian */
}

static uint64_t span(const CUDA_MEMSET_NODE_PARAMS *p)
{
	return (p->height - 1) * p->pitch + p->width * p->elementSize;
}

static bool shape_valid(const CUDA_MEMSET_NODE_PARAMS *p)
{
	return (p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4) &&
	       !(p->dst % p->elementSize) &&
	       (p->height == 1 || p->pitch >= p->width * p->elementSize);
}

static bool writable(const CUDA_MEMSET_NODE_PARAMS *p)
{
	return space_valid(p->dst, span(p)) && space_writable(p->dst, span(p));
}

CUresult memset_plan(const CUDA_MEMSET_NODE_PARAMS *p)
{
	if (!p->width || !p->height)
		return CUDA_SUCCESS;
	return shape_valid(p) && (writable(p) || graph_memory_planned(p->dst, span(p))) ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

CUresult memset_run(const CUDA_MEMSET_NODE_PARAMS *p)
{
	if (!p->width || !p->height)
		return CUDA_SUCCESS;
	if (!shape_valid(p) || !writable(p))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t y = 0; y < p->height; y++)
		fill((char *)(uintptr_t)p->dst + y * p->pitch, p->value, p->elementSize, p->width);
	return CUDA_SUCCESS;
}

static CUresult set_captured(const CUDA_MEMSET_NODE_PARAMS *params, CUstream stream)
{
	const struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEMSET, .set = *params };
	CUresult result = memset_plan(params);

	return result == CUDA_SUCCESS ? capture_add(stream, &work) : result;
}

static CUresult set(CUdeviceptr dst, size_t pitch, unsigned int value, size_t element, size_t width,
		    size_t height, CUstream stream)
{
	const CUDA_MEMSET_NODE_PARAMS params = { dst,   pitch, value, (unsigned int)element,
						 width, height };
	CUresult result;

	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_active(stream))
		return set_captured(&params, stream);
	result = memset_run(&params);
	if (result == CUDA_SUCCESS)
		observer_memset(space_letter(dst), width * height * element, stream);
	return result;
}

#define MEMSETS(bits, type) \
	CU_DEFINE_PTDS(CONTEXT, cuMemsetD##bits##_v2, (CUdeviceptr dst, type value, size_t count), \
		       (dst, value, count), HEX(addr, dst), DEC(value, value),                     \
		       DEC(size, count * sizeof(value))) \
	{ \
		return set(dst, 0, value, sizeof(value), count, 1, NULL); \
	} \
\
	CU_DEFINE_PTSZ(CONTEXT, cuMemsetD##bits##Async,                                            \
		       (CUdeviceptr dst, type value, size_t count, CUstream stream),               \
		       (dst, value, count, stream), HEX(addr, dst), DEC(value, value),             \
		       DEC(size, count * sizeof(value)), HEX(stream, stream),                      \
		       NOTE_CAPTURE(stream)) \
	{ \
		return set(dst, 0, value, sizeof(value), count, 1, stream); \
	} \
\
	CU_DEFINE_PTDS(                                                                            \
		CONTEXT, cuMemsetD2D##bits##_v2,                                                   \
		(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height),          \
		(dst, pitch, value, width, height), HEX(addr, dst), DEC(value, value),             \
		DEC(size, width * height * sizeof(value)), DEC(pitch, pitch), DEC(width, width),   \
		DEC(height, height)) \
	{ \
		return set(dst, pitch, value, sizeof(value), width, height, NULL); \
	} \
\
	CU_DEFINE_PTSZ(CONTEXT, cuMemsetD2D##bits##Async,                                          \
		       (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,    \
			CUstream stream),                                                          \
		       (dst, pitch, value, width, height, stream), HEX(addr, dst),                 \
		       DEC(value, value), DEC(size, width * height * sizeof(value)),               \
		       DEC(pitch, pitch), DEC(width, width), DEC(height, height),                  \
		       HEX(stream, stream), NOTE_CAPTURE(stream)) \
	{ \
		return set(dst, pitch, value, sizeof(value), width, height, stream); \
	}

MEMSETS(8, unsigned char)
MEMSETS(16, unsigned short)
MEMSETS(32, unsigned int)
