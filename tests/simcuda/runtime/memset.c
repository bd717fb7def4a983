/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memsets: always of bytes.
 */
#include "runtime.h"

RT_DEFINE_PTDS(CONTEXT, cudaMemset, (void *ptr, int value, size_t size), (ptr, value, size),
	       HEX(addr, ptr), DEC(value, value), DEC(size, size))
{
	return runtime_error(cu->cuMemsetD8(runtime_ptr(ptr), (unsigned char)value, size));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemsetAsync, (void *ptr, int value, size_t size, cudaStream_t stream),
	       (ptr, value, size, stream), HEX(addr, ptr), DEC(value, value), DEC(size, size),
	       HEX(stream, stream))
{
	return runtime_error(
		cu->cuMemsetD8Async(runtime_ptr(ptr), (unsigned char)value, size, stream));
}

RT_DEFINE_PTDS(CONTEXT, cudaMemset2D,
	       (void *ptr, size_t pitch, int value, size_t width, size_t height),
	       (ptr, pitch, value, width, height), HEX(addr, ptr), DEC(value, value),
	       DEC(size, width * height), DEC(pitch, pitch), DEC(width, width),
	       DEC(height, height))
{
	return runtime_error(
		cu->cuMemsetD2D8(runtime_ptr(ptr), pitch, (unsigned char)value, width, height));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemset2DAsync,
	       (void *ptr, size_t pitch, int value, size_t width, size_t height,
		cudaStream_t stream),
	       (ptr, pitch, value, width, height, stream), HEX(addr, ptr), DEC(value, value),
	       DEC(size, width * height), DEC(pitch, pitch), DEC(width, width),
	       DEC(height, height), HEX(stream, stream))
{
	return runtime_error(cu->cuMemsetD2D8Async(runtime_ptr(ptr), pitch, (unsigned char)value,
						   width, height, stream));
}
