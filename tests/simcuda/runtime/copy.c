/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies. The kind of a copy chooses the driver function; of cudaMemcpyDefault (and from host to
 * host) the driver finds out by itself, in cuMemcpy.
 */
#include "runtime.h"

static const char *const kind_names[] = { "HtoH", "HtoD", "DtoH", "DtoD", "Default" };

static bool kind_valid(enum cudaMemcpyKind kind)
{
	return (unsigned int)kind <= cudaMemcpyDefault;
}

const char *runtime_kind_name(enum cudaMemcpyKind kind)
{
	return kind_valid(kind) ? kind_names[kind] : NULL;
}

static CUresult copy_sync(const struct driver *cu, CUdeviceptr dst, CUdeviceptr src, size_t size,
			  enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cu->cuMemcpyHtoD(dst, (const void *)(uintptr_t)src, size);
	case cudaMemcpyDeviceToHost:
		return cu->cuMemcpyDtoH((void *)(uintptr_t)dst, src, size);
	case cudaMemcpyDeviceToDevice:
		return cu->cuMemcpyDtoD(dst, src, size);
	default:
		return cu->cuMemcpy(dst, src, size);
	}
}

static CUresult copy_async(const struct driver *cu, CUdeviceptr dst, CUdeviceptr src, size_t size,
			   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cu->cuMemcpyHtoDAsync(dst, (const void *)(uintptr_t)src, size, stream);
	case cudaMemcpyDeviceToHost:
		return cu->cuMemcpyDtoHAsync((void *)(uintptr_t)dst, src, size, stream);
	case cudaMemcpyDeviceToDevice:
		return cu->cuMemcpyDtoDAsync(dst, src, size, stream);
	default:
		return cu->cuMemcpyAsync(dst, src, size, stream);
	}
}

cudaError_t runtime_copy(const struct driver *cu, CUdeviceptr dst, CUdeviceptr src, size_t size,
			 enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
	if (!kind_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!size)
		return cudaSuccess;
	return runtime_error(async ? copy_async(cu, dst, src, size, kind, stream) :
				     copy_sync(cu, dst, src, size, kind));
}

#define NOTE_COPY \
	HEX(dst, dst), HEX(src, src), DEC(size, size), DEC(kind, kind), \
		STR(direction, runtime_kind_name(kind))

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy,
	       (void *dst, const void *src, size_t size, enum cudaMemcpyKind kind),
	       (dst, src, size, kind), NOTE_COPY)
{
	return runtime_copy(cu, runtime_ptr(dst), runtime_ptr(src), size, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyAsync,
	       (void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
		cudaStream_t stream),
	       (dst, src, size, kind, stream), NOTE_COPY, HEX(stream, stream))
{
	return runtime_copy(cu, runtime_ptr(dst), runtime_ptr(src), size, kind, true, stream);
}

/* The ends of a copy of this kind as the driver calls them. */
static CUmemorytype source_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ?
		       CU_MEMORYTYPE_HOST :
		       CU_MEMORYTYPE_DEVICE;
}

static CUmemorytype destination_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ?
		       CU_MEMORYTYPE_HOST :
		       CU_MEMORYTYPE_DEVICE;
}

static CUDA_MEMCPY2D copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
			     size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = source_type(kind),
		.srcHost = src,
		.srcDevice = runtime_ptr(src),
		.srcPitch = src_pitch,
		.dstMemoryType = destination_type(kind),
		.dstHost = dst,
		.dstDevice = runtime_ptr(dst),
		.dstPitch = dst_pitch,
		.WidthInBytes = width,
		.Height = height,
	};
}

#define NOTE_COPY_2D \
	HEX(dst, dst), HEX(src, src), DEC(size, (width) * (height)), DEC(width, width), \
		DEC(height, height), DEC(kind, kind), STR(direction, runtime_kind_name(kind))

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy2D,
	       (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	       (dst, dst_pitch, src, src_pitch, width, height, kind), NOTE_COPY_2D)
{
	CUDA_MEMCPY2D copy = copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	if (!kind_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	return runtime_error(cu->cuMemcpy2DUnaligned(&copy));
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy2DAsync,
	       (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, dst_pitch, src, src_pitch, width, height, kind, stream), NOTE_COPY_2D,
	       HEX(stream, stream))
{
	CUDA_MEMCPY2D copy = copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);

	if (!kind_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	return runtime_error(cu->cuMemcpy2DAsync(&copy, stream));
}

/* An extent is in elements of the arrays that take part; the position in a pointer is in bytes. */
static cudaError_t element_bytes(const struct driver *cu, const struct cudaMemcpy3DParms *p,
				 size_t *bytes)
{
	size_t src = 1, dst = 1, row;
	cudaError_t error = cudaSuccess;

	if (p->srcArray)
		error = runtime_array_bytes(cu, p->srcArray, &src, &row);
	if (p->dstArray && error == cudaSuccess)
		error = runtime_array_bytes(cu, p->dstArray, &dst, &row);
	if (p->srcArray && p->dstArray && error == cudaSuccess && src != dst)
		error = cudaErrorInvalidValue;
	*bytes = p->srcArray ? src : dst;
	return error;
}

cudaError_t runtime_copy_params(const struct driver *cu, const struct cudaMemcpy3DParms *p,
				CUDA_MEMCPY3D *copy)
{
	size_t bytes;
	cudaError_t error;

	if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
		return cudaErrorInvalidValue;
	if (!kind_valid(p->kind))
		return cudaErrorInvalidMemcpyDirection;
	error = element_bytes(cu, p, &bytes);
	if (error != cudaSuccess)
		return error;
	*copy = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * (p->srcArray ? bytes : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : source_type(p->kind),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = runtime_ptr(p->srcPtr.ptr),
		.srcArray = (CUarray)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? bytes : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : destination_type(p->kind),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = runtime_ptr(p->dstPtr.ptr),
		.dstArray = (CUarray)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * bytes,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return cudaSuccess;
}

/* With arrays in it, the driver's line has the sizes in bytes. */
void runtime_copy_note(struct oracle_line *line, const struct cudaMemcpy3DParms *p)
{
	if (!p)
		return;
	HEX(dst, p->dstArray ? (void *)p->dstArray : p->dstPtr.ptr);
	HEX(src, p->srcArray ? (void *)p->srcArray : p->srcPtr.ptr);
	if (!p->srcArray && !p->dstArray) {
		DEC(size, p->extent.width * p->extent.height * p->extent.depth);
		DEC(width, p->extent.width);
	}
	DEC(height, p->extent.height);
	DEC(depth, p->extent.depth);
	DEC(kind, p->kind);
	STR(direction, runtime_kind_name(p->kind));
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), (p),
	       runtime_copy_note(line, p))
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = runtime_copy_params(cu, p, &copy);

	return error == cudaSuccess ? runtime_error(cu->cuMemcpy3D(&copy)) : error;
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy3DAsync,
	       (const struct cudaMemcpy3DParms *p, cudaStream_t stream), (p, stream),
	       runtime_copy_note(line, p), HEX(stream, stream))
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = runtime_copy_params(cu, p, &copy);

	return error == cudaSuccess ? runtime_error(cu->cuMemcpy3DAsync(&copy, stream)) : error;
}

#define NOTE_PEER \
	HEX(dst, dst), HEX(src, src), DEC(size, size), STR(direction, "PtoP"), \
		DEC(dst_device, dst_device), DEC(src_device, src_device)

RT_DEFINE(CONTEXT, cudaMemcpyPeer,
	  (void *dst, int dst_device, const void *src, int src_device, size_t size),
	  (dst, dst_device, src, src_device, size), NOTE_PEER)
{
	CUcontext to = runtime_primary(dst_device);
	CUcontext from = runtime_primary(src_device);

	if (!to || !from)
		return cudaErrorInvalidDevice;
	return runtime_error(cu->cuMemcpyPeer(runtime_ptr(dst), to, runtime_ptr(src), from, size));
}

RT_DEFINE(CONTEXT, cudaMemcpyPeerAsync,
	  (void *dst, int dst_device, const void *src, int src_device, size_t size,
	   cudaStream_t stream),
	  (dst, dst_device, src, src_device, size, stream), NOTE_PEER, HEX(stream, stream))
{
	CUcontext to = runtime_primary(dst_device);
	CUcontext from = runtime_primary(src_device);

	if (!to || !from)
		return cudaErrorInvalidDevice;
	return runtime_error(
		cu->cuMemcpyPeerAsync(runtime_ptr(dst), to, runtime_ptr(src), from, size, stream));
}
