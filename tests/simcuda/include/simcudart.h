/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the CUDA runtime API that our stand-in libcudart implements, declared by us, and a
 * way for plain C to have "kernels" (at the end). Names, numbers and layouts are those of CUDA 13.0
 * on 64-bit Linux. With CUDA_API_PER_THREAD_DEFAULT_STREAM the functions with a default stream are
 * mapped to their _ptds and _ptsz forms, as the real header does.
 */
#ifndef SIMCUDART_H
#define SIMCUDART_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDART_VERSION 13050

#include "simcudart_errors.h"

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
};

enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3,
};

enum cudaMemPoolAttr {
	cudaMemPoolReuseFollowEventDependencies = 1,
	cudaMemPoolReuseAllowOpportunistic = 2,
	cudaMemPoolReuseAllowInternalDependencies = 3,
	cudaMemPoolAttrReleaseThreshold = 4,
	cudaMemPoolAttrReservedMemCurrent = 5,
	cudaMemPoolAttrReservedMemHigh = 6,
	cudaMemPoolAttrUsedMemCurrent = 7,
	cudaMemPoolAttrUsedMemHigh = 8,
};

enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1, cudaMemAllocationTypeManaged = 2 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
enum cudaLimit { cudaLimitStackSize = 0, cudaLimitPrintfFifoSize = 1, cudaLimitMallocHeapSize = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostRegisterDefault 0
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0
#define cudaEventDisableTiming 2
#define cudaEventInterprocess 4

enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1 }; /* numbers as CUdevice_attribute's */
enum cudaDriverEntryPointQueryResult {
	cudaDriverEntryPointSuccess = 0,
	cudaDriverEntryPointSymbolNotFound = 1,
	cudaDriverEntryPointVersionNotSufficent = 2, /* [sic] */
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct cudaArray *cudaArray_t;
typedef void (*cudaHostFn_t)(void *userData);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);

typedef struct uint3 {
	unsigned int x, y, z;
} uint3;

/* In registers a dim3 is two values: x with y in its upper half, and z. */
typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

typedef struct cudaUUID {
	char bytes[16];
} cudaUUID_t;

struct cudaExtent {
	size_t width, height, depth;
};

struct cudaPos {
	size_t x, y, z;
};

struct cudaPitchedPtr {
	void *ptr;
	size_t pitch;
	size_t xsize;
	size_t ysize;
};

struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};

struct cudaMemLocation {
	enum cudaMemLocationType type;
	int id;
};

struct cudaMemPoolProps {
	enum cudaMemAllocationType allocType;
	int handleTypes;
	struct cudaMemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer;
	void *hostPointer;
	long reserved[8];
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes;
	size_t constSizeBytes;
	size_t localSizeBytes;
	int maxThreadsPerBlock;
	int numRegs;
	int ptxVersion;
	int binaryVersion;
	int cacheModeCA;
	int maxDynamicSharedSizeBytes;
	int preferredShmemCarveout;
	int clusterDimMustBeSet;
	int requiredClusterWidth;
	int requiredClusterHeight;
	int requiredClusterDepth;
	int clusterSchedulingPolicyPreference;
	int nonPortableClusterSizeAllowed;
	int reserved[16];
};

typedef struct cudaLaunchAttribute_st {
	int id;
	char pad[4];
	char val[64];
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_st {
	dim3 gridDim;
	dim3 blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaDeviceProp {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	int multiProcessorCount;
	int integrated;
	int canMapHostMemory;
	int maxTexture1D;
	int maxTexture1DMipmap;
	int maxTexture2D[2];
	int maxTexture2DMipmap[2];
	int maxTexture2DLinear[3];
	int maxTexture2DGather[2];
	int maxTexture3D[3];
	int maxTexture3DAlt[3];
	int maxTextureCubemap;
	int maxTexture1DLayered[2];
	int maxTexture2DLayered[3];
	int maxTextureCubemapLayered[2];
	int maxSurface1D;
	int maxSurface2D[2];
	int maxSurface3D[3];
	int maxSurface1DLayered[2];
	int maxSurface2DLayered[3];
	int maxSurfaceCubemap;
	int maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels;
	int ECCEnabled;
	int pciBusID;
	int pciDeviceID;
	int pciDomainID;
	int tccDriver;
	int asyncEngineCount;
	int unifiedAddressing;
	int memoryBusWidth;
	int l2CacheSize;
	int persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor;
	int streamPrioritiesSupported;
	int globalL1CacheSupported;
	int localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor;
	int managedMemory;
	int isMultiGpuBoard;
	int multiGpuBoardGroupID;
	int hostNativeAtomicSupported;
	int pageableMemoryAccess;
	int concurrentManagedAccess;
	int computePreemptionSupported;
	int canUseHostPointerForRegisteredMem;
	int cooperativeLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables;
	int directManagedMemAccessFromHost;
	int maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported;
	int sparseCudaArraySupported;
	int hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported;
	int memoryPoolsSupported;
	int gpuDirectRDMASupported;
	unsigned int gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned int memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported;
	int ipcEventSupported;
	int clusterLaunch;
	int unifiedFunctionPointers;
	int deviceNumaConfig;
	int deviceNumaId;
	int mpsEnabled;
	int hostNumaId;
	unsigned int gpuPciDeviceID;
	unsigned int gpuPciSubsystemID;
	int hostNumaMultinodeIpcSupported;
	int reserved[56];
};

#define SIMCUDART_PTDS(name, ...) \
	cudaError_t name(__VA_ARGS__); \
	cudaError_t name##_ptds(__VA_ARGS__)
#define SIMCUDART_PTSZ(name, ...) \
	cudaError_t name(__VA_ARGS__); \
	cudaError_t name##_ptsz(__VA_ARGS__)

#include "simcudart_memory.h"

/* Errors, versions */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
SIMCUDART_PTSZ(cudaGetDriverEntryPoint, const char *symbol, void **function,
	       unsigned long long flags, enum cudaDriverEntryPointQueryResult *status);
SIMCUDART_PTSZ(cudaGetDriverEntryPointByVersion, const char *symbol, void **function,
	       unsigned int cuda_version, unsigned long long flags,
	       enum cudaDriverEntryPointQueryResult *status);

/* Devices */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);

/* Memory */
cudaError_t cudaMalloc(void **ptr, size_t size);
cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent);
cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags);
cudaError_t cudaMallocHost(void **ptr, size_t size);
cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags);
cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *ptr);
cudaError_t cudaHostGetDevicePointer(void **device_ptr, void *ptr, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr);
cudaError_t cudaFree(void *ptr);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr);

/* Stream-ordered memory */
SIMCUDART_PTSZ(cudaMallocAsync, void **ptr, size_t size, cudaStream_t stream);
SIMCUDART_PTSZ(cudaMallocFromPoolAsync, void **ptr, size_t size, cudaMemPool_t pool,
	       cudaStream_t stream);
SIMCUDART_PTSZ(cudaFreeAsync, void *ptr, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
				    void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
				    void *value);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);

/* Copies */
SIMCUDART_PTDS(cudaMemcpy, void *dst, const void *src, size_t size, enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpyAsync, void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
	       cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpy2D, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	       size_t width, size_t height, enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpy2DAsync, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpy3D, const struct cudaMemcpy3DParms *params);
SIMCUDART_PTSZ(cudaMemcpy3DAsync, const struct cudaMemcpy3DParms *params, cudaStream_t stream);
cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t size);
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
				size_t size, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpyToSymbol, const void *symbol, const void *src, size_t size, size_t offset,
	       enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpyToSymbolAsync, const void *symbol, const void *src, size_t size,
	       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemcpyFromSymbol, void *dst, const void *symbol, size_t size, size_t offset,
	       enum cudaMemcpyKind kind);
SIMCUDART_PTSZ(cudaMemcpyFromSymbolAsync, void *dst, const void *symbol, size_t size, size_t offset,
	       enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);

/* Memsets */
SIMCUDART_PTDS(cudaMemset, void *ptr, int value, size_t size);
SIMCUDART_PTSZ(cudaMemsetAsync, void *ptr, int value, size_t size, cudaStream_t stream);
SIMCUDART_PTDS(cudaMemset2D, void *ptr, size_t pitch, int value, size_t width, size_t height);
SIMCUDART_PTSZ(cudaMemset2DAsync, void *ptr, size_t pitch, int value, size_t width, size_t height,
	       cudaStream_t stream);

/* Streams, events */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
SIMCUDART_PTSZ(cudaStreamSynchronize, cudaStream_t stream);
SIMCUDART_PTSZ(cudaStreamQuery, cudaStream_t stream);
SIMCUDART_PTSZ(cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event, unsigned int flags);
SIMCUDART_PTSZ(cudaStreamAddCallback, cudaStream_t stream, cudaStreamCallback_t callback,
	       void *data, unsigned int flags);
SIMCUDART_PTSZ(cudaStreamGetFlags, cudaStream_t stream, unsigned int *flags);
SIMCUDART_PTSZ(cudaStreamGetPriority, cudaStream_t stream, int *priority);
SIMCUDART_PTSZ(cudaStreamGetDevice, cudaStream_t stream, int *device);
SIMCUDART_PTSZ(cudaStreamGetId, cudaStream_t stream, unsigned long long *id);
SIMCUDART_PTSZ(cudaLaunchHostFunc, cudaStream_t stream, cudaHostFn_t fn, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
SIMCUDART_PTSZ(cudaEventRecord, cudaEvent_t event, cudaStream_t stream);
SIMCUDART_PTSZ(cudaEventRecordWithFlags, cudaEvent_t event, cudaStream_t stream,
	       unsigned int flags);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

/* Kernels */
SIMCUDART_PTSZ(cudaLaunchKernel, const void *stub, dim3 grid, dim3 block, void **args,
	       size_t shared_bytes, cudaStream_t stream);
SIMCUDART_PTSZ(cudaLaunchCooperativeKernel, const void *stub, dim3 grid, dim3 block, void **args,
	       size_t shared_bytes, cudaStream_t stream);
SIMCUDART_PTSZ(cudaLaunchKernelExC, const cudaLaunchConfig_t *config, const void *stub,
	       void **args);
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *stub);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *stub,
							  int block_size, size_t shared_bytes);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *stub,
								   int block_size,
								   size_t shared_bytes,
								   unsigned int flags);
enum cudaJitOption { cudaJitMaxRegisters };
enum cudaLibraryOption { cudaLibraryBinaryIsPreserved = 1 };
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				enum cudaJitOption *jit_options, void **jit_values,
				unsigned int jit_count, enum cudaLibraryOption *options,
				void **values, unsigned int count);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
				    enum cudaJitOption *jit_options, void **jit_values,
				    unsigned int jit_count, enum cudaLibraryOption *options,
				    void **values, unsigned int count);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *stub);
cudaError_t cudaFuncSetAttribute(const void *stub, enum cudaFuncAttribute attribute, int value);

/* What code generated by nvcc calls */
void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
			    const char *name, int thread_limit, uint3 *thread_id, uint3 *block_id,
			    dim3 *block_dim, dim3 *grid_dim, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *name,
		       int external, size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
					 cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub);
SIMCUDART_PTSZ(__cudaLaunchKernel, cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
	       size_t shared_bytes, cudaStream_t stream);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz
#define cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
#define cudaMallocAsync cudaMallocAsync_ptsz
#define cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
#define cudaFreeAsync cudaFreeAsync_ptsz
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#define cudaMemcpy2D cudaMemcpy2D_ptds
#define cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz
#define cudaMemcpy3D cudaMemcpy3D_ptds
#define cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz
#define cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds
#define cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz
#define cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds
#define cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz
#define cudaMemset cudaMemset_ptds
#define cudaMemsetAsync cudaMemsetAsync_ptsz
#define cudaMemset2D cudaMemset2D_ptds
#define cudaMemset2DAsync cudaMemset2DAsync_ptsz
#define cudaStreamSynchronize cudaStreamSynchronize_ptsz
#define cudaStreamQuery cudaStreamQuery_ptsz
#define cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
#define cudaStreamAddCallback cudaStreamAddCallback_ptsz
#define cudaStreamGetFlags cudaStreamGetFlags_ptsz
#define cudaStreamGetPriority cudaStreamGetPriority_ptsz
#define cudaStreamGetDevice cudaStreamGetDevice_ptsz
#define cudaStreamGetId cudaStreamGetId_ptsz
#define cudaLaunchHostFunc cudaLaunchHostFunc_ptsz
#define cudaEventRecord cudaEventRecord_ptsz
#define cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz
#define cudaLaunchKernelExC cudaLaunchKernelExC_ptsz
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

#include "simcudart_graph.h"

/*
 * Kernels for plain C, registered and launched call for call as nvcc's generated code does it. One
 * list per source file says what there is: kernels launched as CUDA 12 (KERNEL12) and as CUDA 13
 * (KERNEL13) compiles them, and device variables with their sizes.
 *
 *	#define DEVICE_CODE(KERNEL12, KERNEL13, VARIABLE) \
 *		KERNEL12(scale) KERNEL13(add) VARIABLE(table, 256)
 *	SIMCUDART_MODULE(DEVICE_CODE)
 *
 *	simcudart_launch(add, grid, block, shared_bytes, stream, args);	(add<<<...>>>(...))
 *	cudaMemcpyToSymbol(table, data, 256, 0, cudaMemcpyHostToDevice);
 */
struct simcudart_fatbin {
	int magic;
	int version;
	const void *data;
	void *unused;
};

#define SIMCUDART_STUB12(name) \
	static void name(void **args) \
	{ \
		dim3 grid, block; \
		size_t shared_bytes; \
		cudaStream_t stream; \
\
		if (!__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream)) \
			cudaLaunchKernel((const void *)name, grid, block, args, shared_bytes, \
					 stream); \
	}
#define SIMCUDART_STUB13(name) \
	static void name(void **args); \
	static pthread_once_t name##_once = PTHREAD_ONCE_INIT; \
	static cudaKernel_t name##_kernel; \
\
	static void name##_get(void) \
	{ \
		__cudaGetKernel(&name##_kernel, (const void *)name); \
	} \
\
	static void name(void **args) \
	{ \
		dim3 grid, block; \
		size_t shared_bytes; \
		cudaStream_t stream; \
\
		pthread_once(&name##_once, name##_get); \
		if (!__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream)) \
			__cudaLaunchKernel(name##_kernel, grid, block, args, shared_bytes, \
					   stream); \
	}
#define SIMCUDART_SHADOW(name, size) static char name[size];
#define SIMCUDART_ENTRY_TEXT(name) ".visible .entry " #name "()\n{\n}\n"
#define SIMCUDART_VARIABLE_TEXT(name, size) ".visible .global .align 8 .b8 " #name "[" #size "];\n"
#define SIMCUDART_REGISTER_KERNEL(name) \
	__cudaRegisterFunction(handle, (const char *)name, (char *)#name, #name, -1, 0, 0, 0, 0, 0);
#define SIMCUDART_REGISTER_VARIABLE(name, size) \
	__cudaRegisterVar(handle, name, (char *)#name, #name, 0, size, 0, 0);

#define SIMCUDART_MODULE(LIST) \
	LIST(SIMCUDART_STUB12, SIMCUDART_STUB13, SIMCUDART_SHADOW) \
	static const struct simcudart_fatbin simcudart_fatbin = { \
		0x466243b1, 1, \
		".version 8.0\n.target sm_90\n.address_size 64\n" LIST( \
			SIMCUDART_ENTRY_TEXT, SIMCUDART_ENTRY_TEXT, SIMCUDART_VARIABLE_TEXT), \
		0 \
	}; \
	static void **simcudart_handle; \
	static void simcudart_unregister(void) \
	{ \
		__cudaUnregisterFatBinary(simcudart_handle); \
	} \
	__attribute__((constructor)) static void simcudart_register(void) \
	{ \
		void **handle = __cudaRegisterFatBinary((void *)&simcudart_fatbin); \
\
		simcudart_handle = handle; \
		LIST(SIMCUDART_REGISTER_KERNEL, SIMCUDART_REGISTER_KERNEL, \
		     SIMCUDART_REGISTER_VARIABLE) \
		__cudaRegisterFatBinaryEnd(handle); \
		atexit(simcudart_unregister); \
	}

/* Nonzero: not launched. What the launch itself said is in cudaGetLastError. */
#define simcudart_launch(kernel, grid, block, shared_bytes, stream, args) \
	(__cudaPushCallConfiguration(grid, block, shared_bytes, stream) != 0 ? 1 : \
									       (kernel(args), 0))

#ifdef __cplusplus
}
#endif

#endif
