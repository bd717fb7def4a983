/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the CUDA runtime of versions 11 and 12 (RUNTIME) has otherwise than that of version 13, for
 * programs that were built for one of those: names, arguments, and where the fields of structures
 * are (cuda_runtime_api.h and driver_types.h of 11.7 and 12.4). old-runtime links this with the
 * runtime of tests/simcuda, whose functions that are other ones here begin with new_.
 */
#include <string.h>

#define cudaGetDeviceProperties new_cudaGetDeviceProperties
#define cudaFuncGetAttributes new_cudaFuncGetAttributes
#define cudaStreamGetCaptureInfo new_cudaStreamGetCaptureInfo
#include "simcudart.h"
#undef cudaGetDeviceProperties
#undef cudaFuncGetAttributes
#undef cudaStreamGetCaptureInfo

/* The fields from one on up to another: in the old structure, these are at this offset. */
#define MOVE(offset, first, next) \
	memcpy(old + (offset), &now.first, \
	       offsetof(struct cudaDeviceProp, next) - offsetof(struct cudaDeviceProp, first))

static cudaError_t old_properties(char *old, int device)
{
	struct cudaDeviceProp now;
	cudaError_t error = new_cudaGetDeviceProperties(&now, device);

	if (error != cudaSuccess)
		return error;
	memset(old, 0, RUNTIME < 12 ? 728 : 1032);
	MOVE(0, name, multiProcessorCount);
	MOVE(388, multiProcessorCount, integrated);
	MOVE(396, integrated, maxTexture1D);
	MOVE(408, maxTexture1D, maxTexture2D);
	MOVE(420, maxTexture2D, memoryBusWidth);
	MOVE(612, memoryBusWidth, localL1CacheSupported);
	MOVE(636, localL1CacheSupported, sharedMemPerMultiprocessor);
	MOVE(640, sharedMemPerMultiprocessor, pageableMemoryAccess);
	MOVE(672, pageableMemoryAccess, sharedMemPerBlockOptin);
	MOVE(696, sharedMemPerBlockOptin, hostRegisterSupported);
	if (RUNTIME >= 12)
		MOVE(728, hostRegisterSupported, deviceNumaConfig);
	return cudaSuccess;
}

/* In version 11, the structure ends earlier. */
cudaError_t cudaFuncGetAttributes(void *old, const void *stub);
cudaError_t cudaFuncGetAttributes(void *old, const void *stub)
{
	struct cudaFuncAttributes now;
	cudaError_t error = new_cudaFuncGetAttributes(&now, stub);

	if (error == cudaSuccess)
		memcpy(old, &now, RUNTIME < 12 ? 56 : sizeof(now));
	return error;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					unsigned long long *id, cudaGraph_t *graph,
					const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					unsigned long long *id, cudaGraph_t *graph,
					const cudaGraphNode_t **dependencies, size_t *count)
{
	return new_cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				     unsigned long long *id);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				     unsigned long long *id)
{
	return new_cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

/* Their arguments do not matter. */
#define ANSWER(name, answer) \
	cudaError_t name(void); \
	cudaError_t name(void) \
	{ \
		return answer; \
	}

ANSWER(cudaGraphDebugDotPrint, cudaErrorNotSupported)

#if RUNTIME < 12
cudaError_t cudaGetDeviceProperties(void *old, int device);
cudaError_t cudaGetDeviceProperties(void *old, int device)
{
	return old_properties(old, device);
}

ANSWER(cudaFuncSetCacheConfig, cudaSuccess)
ANSWER(cudaGetFuncBySymbol, cudaErrorNotSupported)
ANSWER(cudaGraphAddEventRecordNode, cudaErrorNotSupported)
ANSWER(cudaGraphAddEventWaitNode, cudaErrorNotSupported)
ANSWER(cudaProfilerInitialize, cudaErrorNotSupported)
#else
cudaError_t cudaGetDeviceProperties_v2(void *old, int device);
cudaError_t cudaGetDeviceProperties_v2(void *old, int device)
{
	return old_properties(old, device);
}
#endif
