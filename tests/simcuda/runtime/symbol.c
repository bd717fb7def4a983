/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device variables, which a program names by the address of a host variable that shadows them.
 */
#include "runtime.h"

/* Where `size` bytes at `offset` of a device variable are. */
static cudaError_t inside(const struct driver *cu, const void *symbol, size_t size, size_t offset,
			  CUdeviceptr *ptr)
{
	cudaError_t error;
	size_t total;

	error = runtime_variable(cu, symbol, ptr, &total);
	if (error != cudaSuccess)
		return error;
	*ptr += offset;
	return offset <= total && size <= total - offset ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t to_symbol(const struct driver *cu, const void *symbol, const void *src,
			     size_t size, size_t offset, enum cudaMemcpyKind kind, bool async,
			     cudaStream_t stream)
{
	cudaError_t error;
	CUdeviceptr dst;

	error = inside(cu, symbol, size, offset, &dst);
	if (error != cudaSuccess)
		return error;
	return runtime_copy(cu, dst, runtime_ptr(src), size, kind, async, stream);
}

static cudaError_t from_symbol(const struct driver *cu, void *dst, const void *symbol, size_t size,
			       size_t offset, enum cudaMemcpyKind kind, bool async,
			       cudaStream_t stream)
{
	cudaError_t error;
	CUdeviceptr src;

	error = inside(cu, symbol, size, offset, &src);
	if (error != cudaSuccess)
		return error;
	return runtime_copy(cu, runtime_ptr(dst), src, size, kind, async, stream);
}

#define NOTE_TO_SYMBOL \
	HEX(handle, symbol), HEX(src, src), DEC(size, size), DEC(kind, kind), \
		STR(direction, runtime_kind_name(kind))
#define NOTE_FROM_SYMBOL \
	HEX(handle, symbol), HEX(dst, dst), DEC(size, size), DEC(kind, kind), \
		STR(direction, runtime_kind_name(kind))

RT_DEFINE_PTDS(CONTEXT, cudaMemcpyToSymbol,
	       (const void *symbol, const void *src, size_t size, size_t offset,
		enum cudaMemcpyKind kind),
	       (symbol, src, size, offset, kind), NOTE_TO_SYMBOL)
{
	return to_symbol(cu, symbol, src, size, offset, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyToSymbolAsync,
	       (const void *symbol, const void *src, size_t size, size_t offset,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	       (symbol, src, size, offset, kind, stream), NOTE_TO_SYMBOL, HEX(stream, stream))
{
	return to_symbol(cu, symbol, src, size, offset, kind, true, stream);
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpyFromSymbol,
	       (void *dst, const void *symbol, size_t size, size_t offset,
		enum cudaMemcpyKind kind),
	       (dst, symbol, size, offset, kind), NOTE_FROM_SYMBOL)
{
	return from_symbol(cu, dst, symbol, size, offset, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyFromSymbolAsync,
	       (void *dst, const void *symbol, size_t size, size_t offset,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, symbol, size, offset, kind, stream), NOTE_FROM_SYMBOL, HEX(stream, stream))
{
	return from_symbol(cu, dst, symbol, size, offset, kind, true, stream);
}

RT_DEFINE(CONTEXT, cudaGetSymbolAddress, (void **ptr, const void *symbol), (ptr, symbol),
	  OUT_HEX(addr, ptr), HEX(handle, symbol))
{
	cudaError_t error;
	CUdeviceptr addr;
	size_t size;

	if (!ptr)
		return cudaErrorInvalidValue;
	error = runtime_variable(cu, symbol, &addr, &size);
	if (error == cudaSuccess)
		*ptr = (void *)(uintptr_t)addr;
	return error;
}

RT_DEFINE(CONTEXT, cudaGetSymbolSize, (size_t *size, const void *symbol), (size, symbol),
	  OUT_DEC(size, size), HEX(handle, symbol))
{
	CUdeviceptr addr;

	return size ? runtime_variable(cu, symbol, &addr, size) : cudaErrorInvalidValue;
}
