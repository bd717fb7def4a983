/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays, and copies to, from and between them. The runtime's arrays are the driver's.
 */
#include "runtime.h"

static CUarray driver_array(cudaArray_const_t array)
{
	return (CUarray)(uintptr_t)array;
}

/* The driver's name for channels that are so many bits wide; 0: it has none. */
static unsigned int format_of(const struct cudaChannelFormatDesc *desc)
{
	switch (desc->f) {
	case cudaChannelFormatKindSigned:
		return desc->x == 8  ? CU_AD_FORMAT_SIGNED_INT8 :
		       desc->x == 16 ? CU_AD_FORMAT_SIGNED_INT16 :
		       desc->x == 32 ? CU_AD_FORMAT_SIGNED_INT32 :
				       0;
	case cudaChannelFormatKindUnsigned:
		return desc->x == 8  ? CU_AD_FORMAT_UNSIGNED_INT8 :
		       desc->x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 :
		       desc->x == 32 ? CU_AD_FORMAT_UNSIGNED_INT32 :
				       0;
	case cudaChannelFormatKindFloat:
		return desc->x == 16 ? CU_AD_FORMAT_HALF : desc->x == 32 ? CU_AD_FORMAT_FLOAT : 0;
	default:
		return 0;
	}
}

/* 0: not 1, 2 or 4 of the same width. */
static unsigned int channels_of(const struct cudaChannelFormatDesc *desc)
{
	int x = desc->x;

	if (desc->y == 0 && desc->z == 0 && desc->w == 0)
		return 1;
	if (desc->y == x && desc->z == 0 && desc->w == 0)
		return 2;
	return desc->y == x && desc->z == x && desc->w == x ? 4 : 0;
}

static cudaError_t describe(CUDA_ARRAY3D_DESCRIPTOR *d, const struct cudaChannelFormatDesc *desc,
			    struct cudaExtent extent, unsigned int flags)
{
	if (!desc || !channels_of(desc) || !format_of(desc))
		return cudaErrorInvalidChannelDescriptor;
	*d = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Format = (CUarray_format)format_of(desc),
		.NumChannels = channels_of(desc),
		.Flags = flags,
	};
	return cudaSuccess;
}

static cudaError_t create(const struct driver *cu, cudaArray_t *array,
			  const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			  unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = describe(&d, desc, extent, flags);

	if (!array)
		return cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuArray3DCreate((CUarray *)array, &d));
}

/* In elements. */
#define NOTE_EXTENT(extent) \
	DEC(width, (extent).width), DEC(height, (extent).height), DEC(depth, (extent).depth), \
		DEC(flags, flags)

RT_DEFINE(CONTEXT, cudaMallocArray,
	  (cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width,
	   size_t height, unsigned int flags),
	  (array, desc, width, height, flags), OUT_HEX(handle, array),
	  NOTE_EXTENT(((struct cudaExtent){ width, height, 0 })))
{
	return create(cu, array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

RT_DEFINE(CONTEXT, cudaMalloc3DArray,
	  (cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
	   unsigned int flags),
	  (array, desc, extent, flags), OUT_HEX(handle, array), NOTE_EXTENT(extent))
{
	return create(cu, array, desc, extent, flags);
}

RT_DEFINE(CONTEXT, cudaFreeArray, (cudaArray_t array), (array), HEX(handle, array))
{
	return array ? runtime_error(cu->cuArrayDestroy(driver_array(array))) : cudaSuccess;
}

RT_DEFINE(CONTEXT, cudaMallocMipmappedArray,
	  (cudaMipmappedArray_t *mipmap, const struct cudaChannelFormatDesc *desc,
	   struct cudaExtent extent, unsigned int levels, unsigned int flags),
	  (mipmap, desc, extent, levels, flags), OUT_HEX(handle, mipmap), NOTE_EXTENT(extent),
	  DEC(count, levels))
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = describe(&d, desc, extent, flags);

	if (!mipmap)
		return cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuMipmappedArrayCreate((CUmipmappedArray *)mipmap, &d, levels));
}

RT_DEFINE(CONTEXT, cudaGetMipmappedArrayLevel,
	  (cudaArray_t *array, cudaMipmappedArray_const_t mipmap, unsigned int level),
	  (array, mipmap, level), OUT_HEX(handle, array), HEX(mipmap, mipmap), DEC(level, level))
{
	return runtime_error(cu->cuMipmappedArrayGetLevel(
		(CUarray *)array, (CUmipmappedArray)(uintptr_t)mipmap, level));
}

RT_DEFINE(CONTEXT, cudaFreeMipmappedArray, (cudaMipmappedArray_t mipmap), (mipmap),
	  HEX(handle, mipmap))
{
	if (!mipmap)
		return cudaSuccess;
	return runtime_error(cu->cuMipmappedArrayDestroy((CUmipmappedArray)mipmap));
}

static size_t format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	default:
		return 4;
	}
}

cudaError_t runtime_array_bytes(const struct driver *cu, cudaArray_const_t array, size_t *element,
				size_t *row)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult result = cu->cuArray3DGetDescriptor(&d, driver_array(array));

	if (result == CUDA_SUCCESS) {
		*element = format_bytes(d.Format) * d.NumChannels;
		*row = *element * d.Width;
	}
	return runtime_error(result);
}

static cudaError_t copy_2d(const struct driver *cu, const CUDA_MEMCPY2D *copy, bool async,
			   cudaStream_t stream)
{
	return runtime_error(async ? cu->cuMemcpy2DAsync(copy, stream) :
				     cu->cuMemcpy2DUnaligned(copy));
}

/* What the kind says of the end that is not an array; false: not what it can say. */
static bool pointer_type(enum cudaMemcpyKind kind, enum cudaMemcpyKind host, CUmemorytype *type)
{
	*type = kind == host                     ? CU_MEMORYTYPE_HOST :
		kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE :
						   CU_MEMORYTYPE_UNIFIED;
	return *type != CU_MEMORYTYPE_UNIFIED || kind == cudaMemcpyDefault;
}

static cudaError_t to_array(CUDA_MEMCPY2D *copy, cudaArray_t dst, const void *src,
			    enum cudaMemcpyKind kind)
{
	*copy = (CUDA_MEMCPY2D){
		.srcHost = src,
		.srcDevice = runtime_ptr(src),
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = driver_array(dst),
	};
	return pointer_type(kind, cudaMemcpyHostToDevice, &copy->srcMemoryType) ?
		       cudaSuccess :
		       cudaErrorInvalidMemcpyDirection;
}

static cudaError_t from_array(CUDA_MEMCPY2D *copy, void *dst, cudaArray_const_t src,
			      enum cudaMemcpyKind kind)
{
	*copy = (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = driver_array(src),
		.dstHost = dst,
		.dstDevice = runtime_ptr(dst),
	};
	return pointer_type(kind, cudaMemcpyDeviceToHost, &copy->dstMemoryType) ?
		       cudaSuccess :
		       cudaErrorInvalidMemcpyDirection;
}

static cudaError_t rectangle_to(const struct driver *cu, cudaArray_t dst, size_t x, size_t y,
				const void *src, size_t pitch, size_t width, size_t height,
				enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = to_array(&copy, dst, src, kind);

	if (error != cudaSuccess)
		return error;
	copy.dstXInBytes = x;
	copy.dstY = y;
	copy.srcPitch = pitch;
	copy.WidthInBytes = width;
	copy.Height = height;
	return copy_2d(cu, &copy, async, stream);
}

static cudaError_t rectangle_from(const struct driver *cu, void *dst, size_t pitch,
				  cudaArray_const_t src, size_t x, size_t y, size_t width,
				  size_t height, enum cudaMemcpyKind kind, bool async,
				  cudaStream_t stream)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = from_array(&copy, dst, src, kind);

	if (error != cudaSuccess)
		return error;
	copy.srcXInBytes = x;
	copy.srcY = y;
	copy.dstPitch = pitch;
	copy.WidthInBytes = width;
	copy.Height = height;
	return copy_2d(cu, &copy, async, stream);
}

/* Moves the ends by a rectangle that is copied, or sets them to where the first one is. */
static void advance(CUDA_MEMCPY2D *copy, size_t x, size_t y, size_t done)
{
	if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		copy->dstXInBytes = x;
		copy->dstY = y;
		copy->srcHost = (const char *)copy->srcHost + done;
		copy->srcDevice += done;
	} else {
		copy->srcXInBytes = x;
		copy->srcY = y;
		copy->dstHost = (char *)copy->dstHost + done;
		copy->dstDevice += done;
	}
}

/* Bytes one after another, row by row: the end of a row, whole rows, the start of a row. */
static cudaError_t linear(const struct driver *cu, CUDA_MEMCPY2D *copy, cudaArray_const_t array,
			  size_t x, size_t y, size_t size, bool async, cudaStream_t stream)
{
	size_t element, row;
	cudaError_t error = runtime_array_bytes(cu, array, &element, &row);

	if (error == cudaSuccess && x >= row)
		error = cudaErrorInvalidValue;
	advance(copy, x, y, 0);
	while (size && error == cudaSuccess) {
		bool part = x || size < row;

		copy->WidthInBytes = !part ? row : size < row - x ? size : row - x;
		copy->Height = part ? 1 : size / row;
		error = copy_2d(cu, copy, async, stream);
		size -= copy->WidthInBytes * copy->Height;
		y += copy->Height;
		x = 0;
		advance(copy, x, y, copy->WidthInBytes * copy->Height);
	}
	return error;
}

static cudaError_t linear_to(const struct driver *cu, cudaArray_t dst, size_t x, size_t y,
			     const void *src, size_t size, enum cudaMemcpyKind kind, bool async,
			     cudaStream_t stream)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = to_array(&copy, dst, src, kind);

	return error == cudaSuccess ? linear(cu, &copy, dst, x, y, size, async, stream) : error;
}

static cudaError_t linear_from(const struct driver *cu, void *dst, cudaArray_const_t src, size_t x,
			       size_t y, size_t size, enum cudaMemcpyKind kind, bool async,
			       cudaStream_t stream)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = from_array(&copy, dst, src, kind);

	return error == cudaSuccess ? linear(cu, &copy, src, x, y, size, async, stream) : error;
}

#define NOTE_KIND DEC(kind, kind), STR(direction, runtime_kind_name(kind))
#define NOTE_LINEAR HEX(dst, dst), HEX(src, src), DEC(size, size), NOTE_KIND
#define NOTE_RECTANGLE \
	HEX(dst, dst), HEX(src, src), DEC(size, (width) * (height)), DEC(width, width), \
		DEC(height, height), NOTE_KIND

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy2DToArray,
	       (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	       (dst, x, y, src, pitch, width, height, kind), NOTE_RECTANGLE)
{
	return rectangle_to(cu, dst, x, y, src, pitch, width, height, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy2DToArrayAsync,
	       (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, x, y, src, pitch, width, height, kind, stream), NOTE_RECTANGLE,
	       HEX(stream, stream))
{
	return rectangle_to(cu, dst, x, y, src, pitch, width, height, kind, true, stream);
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy2DFromArray,
	       (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	       (dst, pitch, src, x, y, width, height, kind), NOTE_RECTANGLE)
{
	return rectangle_from(cu, dst, pitch, src, x, y, width, height, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpy2DFromArrayAsync,
	       (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, pitch, src, x, y, width, height, kind, stream), NOTE_RECTANGLE,
	       HEX(stream, stream))
{
	return rectangle_from(cu, dst, pitch, src, x, y, width, height, kind, true, stream);
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpyToArray,
	       (cudaArray_t dst, size_t x, size_t y, const void *src, size_t size,
		enum cudaMemcpyKind kind),
	       (dst, x, y, src, size, kind), NOTE_LINEAR)
{
	return linear_to(cu, dst, x, y, src, size, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyToArrayAsync,
	       (cudaArray_t dst, size_t x, size_t y, const void *src, size_t size,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, x, y, src, size, kind, stream), NOTE_LINEAR, HEX(stream, stream))
{
	return linear_to(cu, dst, x, y, src, size, kind, true, stream);
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpyFromArray,
	       (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t size,
		enum cudaMemcpyKind kind),
	       (dst, src, x, y, size, kind), NOTE_LINEAR)
{
	return linear_from(cu, dst, src, x, y, size, kind, false, NULL);
}

RT_DEFINE_PTSZ(CONTEXT, cudaMemcpyFromArrayAsync,
	       (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t size,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	       (dst, src, x, y, size, kind, stream), NOTE_LINEAR, HEX(stream, stream))
{
	return linear_from(cu, dst, src, x, y, size, kind, true, stream);
}

static bool between_arrays(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpy2DArrayToArray,
	       (cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
		size_t src_y, size_t width, size_t height, enum cudaMemcpyKind kind),
	       (dst, dst_x, dst_y, src, src_x, src_y, width, height, kind), NOTE_RECTANGLE)
{
	CUDA_MEMCPY2D copy = {
		.srcXInBytes = src_x,
		.srcY = src_y,
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = driver_array(src),
		.dstXInBytes = dst_x,
		.dstY = dst_y,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = driver_array(dst),
		.WidthInBytes = width,
		.Height = height,
	};

	if (!between_arrays(kind))
		return cudaErrorInvalidMemcpyDirection;
	return copy_2d(cu, &copy, false, NULL);
}

RT_DEFINE_PTDS(CONTEXT, cudaMemcpyArrayToArray,
	       (cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
		size_t src_y, size_t size, enum cudaMemcpyKind kind),
	       (dst, dst_x, dst_y, src, src_x, src_y, size, kind), NOTE_LINEAR)
{
	size_t element, dst_row, src_row;
	cudaError_t error = runtime_array_bytes(cu, dst, &element, &dst_row);

	if (!between_arrays(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (error == cudaSuccess)
		error = runtime_array_bytes(cu, src, &element, &src_row);
	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuMemcpyAtoA(driver_array(dst), dst_y * dst_row + dst_x,
					      driver_array(src), src_y * src_row + src_x, size));
}
