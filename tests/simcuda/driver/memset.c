/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memsets: of 8, 16 and 32 bit elements, of a line or a rectangle, synchronous or on a stream.
 */
#include <string.h>

#include "driver.h"

static void fill(char *dst, unsigned int value, size_t element, size_t count)
{
	if (element == 1)
		memset(dst, (int)value, count);
	else
		for (size_t i = 0; i < count; i++)
			memcpy(dst + i * element, &value, element); /* little-endian */
}

static CUresult set(CUdeviceptr dst, size_t pitch, unsigned int value, size_t element, size_t width,
		    size_t height, CUstream stream)
{
	size_t size;

	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!width || !height)
		return CUDA_SUCCESS;
	size = (height - 1) * pitch + width * element;
	if (dst % element || (height > 1 && pitch < width * element) || !space_valid(dst, size) ||
	    !space_writable(dst, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t y = 0; y < height; y++)
		fill((char *)(uintptr_t)dst + y * pitch, value, element, width);
	return CUDA_SUCCESS;
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
		       DEC(size, count * sizeof(value)), HEX(stream, stream)) \
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
		       HEX(stream, stream)) \
	{ \
		return set(dst, pitch, value, sizeof(value), width, height, stream); \
	}

MEMSETS(8, unsigned char)
MEMSETS(16, unsigned short)
MEMSETS(32, unsigned int)
