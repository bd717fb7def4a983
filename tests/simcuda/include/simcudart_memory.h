/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of simcudart.h, which includes this, about memory that is not just allocated: arrays,
 * memory of other processes and APIs, where managed memory is, batches.
 */
#ifndef SIMCUDART_MEMORY_H
#define SIMCUDART_MEMORY_H

enum cudaChannelFormatKind {
	cudaChannelFormatKindSigned = 0,
	cudaChannelFormatKindUnsigned = 1,
	cudaChannelFormatKindFloat = 2,
	cudaChannelFormatKindNone = 3,
};

struct cudaChannelFormatDesc {
	int x, y, z, w; /* bits */
	enum cudaChannelFormatKind f;
};

#define cudaArrayDefault 0
#define cudaArrayLayered 1
#define cudaIpcMemLazyEnablePeerAccess 1
#define cudaExternalMemoryDedicated 1

typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef struct CUexternalMemory_st *cudaExternalMemory_t;

typedef struct cudaIpcMemHandle_st {
	char reserved[64];
} cudaIpcMemHandle_t;

typedef struct cudaIpcEventHandle_st {
	char reserved[64];
} cudaIpcEventHandle_t;

enum cudaExternalMemoryHandleType { cudaExternalMemoryHandleTypeOpaqueFd = 1 };

struct cudaExternalMemoryHandleDesc {
	enum cudaExternalMemoryHandleType type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
		const void *nvSciBufObject;
	} handle;
	unsigned long long size;
	unsigned int flags;
	unsigned int reserved[16];
};

struct cudaExternalMemoryBufferDesc {
	unsigned long long offset;
	unsigned long long size;
	unsigned int flags;
	unsigned int reserved[16];
};

enum cudaMemoryAdvise {
	cudaMemAdviseSetReadMostly = 1,
	cudaMemAdviseUnsetReadMostly = 2,
	cudaMemAdviseSetPreferredLocation = 3,
	cudaMemAdviseUnsetPreferredLocation = 4,
	cudaMemAdviseSetAccessedBy = 5,
	cudaMemAdviseUnsetAccessedBy = 6,
};

enum cudaMemcpySrcAccessOrder {
	cudaMemcpySrcAccessOrderStream = 1,
	cudaMemcpySrcAccessOrderDuringApiCall = 2,
	cudaMemcpySrcAccessOrderAny = 3,
};

struct cudaMemcpyAttributes {
	enum cudaMemcpySrcAccessOrder srcAccessOrder;
	struct cudaMemLocation srcLocHint;
	struct cudaMemLocation dstLocHint;
	unsigned int flags;
};

enum cudaMemcpy3DOperandType { cudaMemcpyOperandTypePointer = 1, cudaMemcpyOperandTypeArray = 2 };

struct cudaOffset3D {
	size_t x, y, z;
};

struct cudaMemcpy3DOperand {
	enum cudaMemcpy3DOperandType type;
	union {
		struct {
			void *ptr;
			size_t rowLength;
			size_t layerHeight;
			struct cudaMemLocation locHint;
		} ptr;
		struct {
			cudaArray_t array;
			struct cudaOffset3D offset;
		} array;
	} op;
};

struct cudaMemcpy3DBatchOp {
	struct cudaMemcpy3DOperand src;
	struct cudaMemcpy3DOperand dst;
	struct cudaExtent extent;
	enum cudaMemcpySrcAccessOrder srcAccessOrder;
	unsigned int flags;
};

/* Arrays */
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height, unsigned int flags);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			      struct cudaExtent extent, unsigned int flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmap,
				     const struct cudaChannelFormatDesc *desc,
				     struct cudaExtent extent, unsigned int levels,
				     unsigned int flags);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t mipmap,
				       unsigned int level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap);
SIMCUDART_PTDS(cudaMemcpy2DToArray, cudaArray_t dst, size_t x, size_t y, const void *src,
	       size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpy2DToArrayAsync, cudaArray_t dst, size_t x, size_t y, const void *src,
	       size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
	       cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpy2DFromArray, void *dst, size_t pitch, cudaArray_const_t src, size_t x,
	       size_t y, size_t width, size_t height, enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpy2DFromArrayAsync, void *dst, size_t pitch, cudaArray_const_t src, size_t x,
	       size_t y, size_t width, size_t height, enum cudaMemcpyKind kind,
	       cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpyToArray, cudaArray_t dst, size_t x, size_t y, const void *src, size_t size,
	       enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpyToArrayAsync, cudaArray_t dst, size_t x, size_t y, const void *src,
	       size_t size, enum cudaMemcpyKind kind, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpyFromArray, void *dst, cudaArray_const_t src, size_t x, size_t y,
	       size_t size, enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpyFromArrayAsync, void *dst, cudaArray_const_t src, size_t x, size_t y,
	       size_t size, enum cudaMemcpyKind kind, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpy2DArrayToArray, cudaArray_t dst, size_t dst_x, size_t dst_y,
	       cudaArray_const_t src, size_t src_x, size_t src_y, size_t width, size_t height,
	       enum cudaMemcpyKind kind);
SIMCUDART_PTDS(cudaMemcpyArrayToArray, cudaArray_t dst, size_t dst_x, size_t dst_y,
	       cudaArray_const_t src, size_t src_x, size_t src_y, size_t size,
	       enum cudaMemcpyKind kind);

/* Memory of other processes and APIs */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr);
cudaError_t cudaIpcOpenMemHandle(void **ptr, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *ptr);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
cudaError_t cudaImportExternalMemory(cudaExternalMemory_t *memory,
				     const struct cudaExternalMemoryHandleDesc *desc);
cudaError_t cudaExternalMemoryGetMappedBuffer(void **ptr, cudaExternalMemory_t memory,
					      const struct cudaExternalMemoryBufferDesc *desc);
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory);

/* Where managed memory is, batches */
SIMCUDART_PTSZ(cudaMemPrefetchAsync, const void *ptr, size_t size, struct cudaMemLocation location,
	       unsigned int flags, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *ptr, size_t size, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location);
SIMCUDART_PTSZ(cudaMemPrefetchBatchAsync, void **ptrs, size_t *sizes, size_t count,
	       struct cudaMemLocation *locations, size_t *starts, size_t location_count,
	       unsigned long long flags, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemDiscardBatchAsync, void **ptrs, size_t *sizes, size_t count,
	       unsigned long long flags, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemDiscardAndPrefetchBatchAsync, void **ptrs, size_t *sizes, size_t count,
	       struct cudaMemLocation *locations, size_t *starts, size_t location_count,
	       unsigned long long flags, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemcpyBatchAsync, void *const *dsts, const void *const *srcs,
	       const size_t *sizes, size_t count, struct cudaMemcpyAttributes *attributes,
	       size_t *starts, size_t attribute_count, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemcpy3DBatchAsync, size_t count, struct cudaMemcpy3DBatchOp *ops,
	       unsigned long long flags, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemcpyWithAttributesAsync, void *dst, const void *src, size_t size,
	       struct cudaMemcpyAttributes *attributes, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMemcpy3DWithAttributesAsync, struct cudaMemcpy3DBatchOp *op,
	       unsigned long long flags, cudaStream_t stream);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds
#define cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz
#define cudaMemcpy2DFromArray cudaMemcpy2DFromArray_ptds
#define cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz
#define cudaMemcpyToArray cudaMemcpyToArray_ptds
#define cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz
#define cudaMemcpyFromArray cudaMemcpyFromArray_ptds
#define cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz
#define cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
#define cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz
#define cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz
#define cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz
#define cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
#define cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
#define cudaMemcpyWithAttributesAsync cudaMemcpyWithAttributesAsync_ptsz
#define cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
#endif

#endif
