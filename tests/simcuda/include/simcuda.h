/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the CUDA driver API that the simulated libcuda.so.1 really implements, declared by
 * us: no CUDA toolkit is needed to build against it. Names, numbers and layouts are those of CUDA
 * 13.0 on 64-bit Linux, so a program built with this header also runs on the real driver.
 *
 * Unlike in cuda.h every variant has its exported name (cuMemAlloc_v2, cuMemcpyAsync_ptsz, ...):
 * the tests are about exported names. What is exported but not declared here answers
 * CUDA_ERROR_NOT_SUPPORTED; that includes the oldest variants with 32-bit sizes and pointers (but
 * not cuMemGetInfo).
 */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_VERSION 13050

typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct CUlinkState_st *CUlinkState;

typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

typedef enum CUresult {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_MAP_FAILED = 205,
	CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_CAPTURED_EVENT = 907,
	CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
	CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
} CUresult;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

enum {
	CU_STREAM_DEFAULT = 0,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DEFAULT = 0,
	CU_EVENT_BLOCKING_SYNC = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_EVENT_INTERPROCESS = 4,
	CU_CTX_SCHED_SPIN = 1,
	CU_CTX_SCHED_YIELD = 2,
	CU_CTX_SCHED_BLOCKING_SYNC = 4,
	CU_CTX_MAP_HOST = 8,
	CU_CTX_FLAGS_MASK = 0xff,
	CU_MEMHOSTALLOC_PORTABLE = 1,
	CU_MEMHOSTALLOC_DEVICEMAP = 2,
	CU_MEMHOSTALLOC_WRITECOMBINED = 4,
	CU_MEMHOSTREGISTER_PORTABLE = 1,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_MEMHOSTREGISTER_IOMEMORY = 4,
	CU_MEMHOSTREGISTER_READ_ONLY = 8,
	CU_MEM_ATTACH_GLOBAL = 1,
	CU_MEM_ATTACH_HOST = 2,
	CU_MEM_ATTACH_SINGLE = 4,
};

/* Device attributes are plain numbers here; driver/attributes.def lists those that are not 0. */
typedef int CUdevice_attribute;
enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
	CU_DEVICE_ATTRIBUTE_MAX = 148,
};

typedef struct CUdevprop_st {
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	int sharedMemPerBlock;
	int totalConstantMemory;
	int SIMDWidth;
	int memPitch;
	int regsPerBlock;
	int clockRate;
	int textureAlign;
} CUdevprop;

typedef enum CUlimit {
	CU_LIMIT_STACK_SIZE = 0,
	CU_LIMIT_PRINTF_FIFO_SIZE = 1,
	CU_LIMIT_MALLOC_HEAP_SIZE = 2,
	CU_LIMIT_MAX = 10,
} CUlimit;

typedef int CUfunc_cache;
typedef int CUsharedconfig;
typedef int CUdevice_P2PAttribute;
typedef struct CUexecAffinityParam_st CUexecAffinityParam; /* never looked into */
typedef struct CUctxCigParam_st CUctxCigParam;

typedef struct CUctxCreateParams_st {
	CUexecAffinityParam *execAffinityParams;
	int numExecAffinityParams;
	CUctxCigParam *cigParams;
} CUctxCreateParams;

typedef enum CUmemorytype {
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_MEMORYTYPE_ARRAY = 3,
	CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

typedef enum CUpointer_attribute {
	CU_POINTER_ATTRIBUTE_CONTEXT = 1,
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
	CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
	CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
	CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
	CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
	CU_POINTER_ATTRIBUTE_MAPPED = 13,
	CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
} CUpointer_attribute;

typedef struct CUDA_MEMCPY2D_st {
	size_t srcXInBytes;
	size_t srcY;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch;
	size_t dstXInBytes;
	size_t dstY;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch;
	size_t WidthInBytes;
	size_t Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D_st {
	size_t srcXInBytes;
	size_t srcY;
	size_t srcZ;
	size_t srcLOD;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	void *reserved0;
	size_t srcPitch;
	size_t srcHeight;
	size_t dstXInBytes;
	size_t dstY;
	size_t dstZ;
	size_t dstLOD;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	void *reserved1;
	size_t dstPitch;
	size_t dstHeight;
	size_t WidthInBytes;
	size_t Height;
	size_t Depth;
} CUDA_MEMCPY3D;

/* The same, with contexts in the places of reserved0 and reserved1. */
typedef struct CUDA_MEMCPY3D_PEER_st {
	size_t srcXInBytes;
	size_t srcY;
	size_t srcZ;
	size_t srcLOD;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	CUcontext srcContext;
	size_t srcPitch;
	size_t srcHeight;
	size_t dstXInBytes;
	size_t dstY;
	size_t dstZ;
	size_t dstLOD;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	CUcontext dstContext;
	size_t dstPitch;
	size_t dstHeight;
	size_t WidthInBytes;
	size_t Height;
	size_t Depth;
} CUDA_MEMCPY3D_PEER;

typedef enum CUmemAllocationType {
	CU_MEM_ALLOCATION_TYPE_PINNED = 1,
	CU_MEM_ALLOCATION_TYPE_MANAGED = 2,
} CUmemAllocationType;

typedef enum CUmemLocationType {
	CU_MEM_LOCATION_TYPE_DEVICE = 1,
	CU_MEM_LOCATION_TYPE_HOST = 2,
	CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
	CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4,
} CUmemLocationType;

typedef struct CUmemLocation_st {
	CUmemLocationType type;
	int id;
} CUmemLocation;

typedef struct CUmemPoolProps_st {
	CUmemAllocationType allocType;
	int handleTypes;
	CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
} CUmemPoolProps;

typedef enum CUmemPool_attribute {
	CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
	CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
	CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
	CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
	CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
	CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
} CUmemPool_attribute;

typedef int CUjit_option;
typedef int CUjitInputType;
typedef int CUlibraryOption;
typedef enum CUmoduleLoadingMode {
	CU_MODULE_EAGER_LOADING = 1,
	CU_MODULE_LAZY_LOADING = 2,
} CUmoduleLoadingMode;

typedef enum CUfunction_attribute {
	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
	CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
	CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
	CU_FUNC_ATTRIBUTE_MAX = 16,
} CUfunction_attribute;

typedef struct CUlaunchAttribute_st {
	int id;
	char pad[4];
	char value[64];
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	CUlaunchAttribute *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

typedef void (*CUhostFn)(void *userData);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *userData);

enum {
	CU_GET_PROC_ADDRESS_DEFAULT = 0,
	CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};

typedef enum CUdriverProcAddressQueryResult {
	CU_GET_PROC_ADDRESS_SUCCESS = 0,
	CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
	CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
} CUdriverProcAddressQueryResult;

/* name and its variant of the same signature */
#define SIMCUDA_V2(name, ...) \
	CUresult name(__VA_ARGS__); \
	CUresult name##_v2(__VA_ARGS__)
#define SIMCUDA_PTDS(name, ...) \
	CUresult name(__VA_ARGS__); \
	CUresult name##_ptds(__VA_ARGS__)
#define SIMCUDA_PTSZ(name, ...) \
	CUresult name(__VA_ARGS__); \
	CUresult name##_ptsz(__VA_ARGS__)

/* Driver, errors */
CUresult cuInit(unsigned int flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetProcAddress(const char *symbol, void **function, int cuda_version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int cuda_version, uint64_t flags,
			     CUdriverProcAddressQueryResult *status);
CUresult cuGetExportTable(const void **table, const CUuuid *id);

/* Devices */
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
SIMCUDA_V2(cuDeviceGetUuid, CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice device);
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice source,
				 CUdevice destination);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);

/* Contexts */
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
SIMCUDA_V2(cuDevicePrimaryCtxRelease, CUdevice device);
SIMCUDA_V2(cuDevicePrimaryCtxReset, CUdevice device);
SIMCUDA_V2(cuDevicePrimaryCtxSetFlags, CUdevice device, unsigned int flags);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active);
SIMCUDA_V2(cuCtxCreate, CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int affinity_count,
			unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
			CUdevice device);
SIMCUDA_V2(cuCtxDestroy, CUcontext context);
SIMCUDA_V2(cuCtxPushCurrent, CUcontext context);
SIMCUDA_V2(cuCtxPopCurrent, CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context);
CUresult cuCtxGetFlags(unsigned int *flags);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CUresult cuCtxGetLimit(size_t *value, CUlimit limit);
CUresult cuCtxSetCacheConfig(CUfunc_cache config);
CUresult cuCtxGetCacheConfig(CUfunc_cache *config);
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

/* Memory */
CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total_bytes);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size);
CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element_size);
CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t size, unsigned int flags);
CUresult cuMemFree_v2(CUdeviceptr ptr);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned int flags);
CUresult cuMemAllocHost_v2(void **ptr, size_t size);
CUresult cuMemFreeHost(void *ptr);
SIMCUDA_V2(cuMemHostRegister, void *ptr, size_t size, unsigned int flags);
CUresult cuMemHostUnregister(void *ptr);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_ptr, void *ptr, unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr);
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr);
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
				CUdeviceptr ptr);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr);

/* Stream-ordered memory */
SIMCUDA_PTSZ(cuMemAllocAsync, CUdeviceptr *ptr, size_t size, CUstream stream);
SIMCUDA_PTSZ(cuMemAllocFromPoolAsync, CUdeviceptr *ptr, size_t size, CUmemoryPool pool,
	     CUstream stream);
SIMCUDA_PTSZ(cuMemFreeAsync, CUdeviceptr ptr, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);

/* Copies */
SIMCUDA_PTDS(cuMemcpy, CUdeviceptr dst, CUdeviceptr src, size_t size);
SIMCUDA_PTSZ(cuMemcpyAsync, CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
SIMCUDA_PTDS(cuMemcpyHtoD_v2, CUdeviceptr dst, const void *src, size_t size);
SIMCUDA_PTSZ(cuMemcpyHtoDAsync_v2, CUdeviceptr dst, const void *src, size_t size, CUstream stream);
SIMCUDA_PTDS(cuMemcpyDtoH_v2, void *dst, CUdeviceptr src, size_t size);
SIMCUDA_PTSZ(cuMemcpyDtoHAsync_v2, void *dst, CUdeviceptr src, size_t size, CUstream stream);
SIMCUDA_PTDS(cuMemcpyDtoD_v2, CUdeviceptr dst, CUdeviceptr src, size_t size);
SIMCUDA_PTSZ(cuMemcpyDtoDAsync_v2, CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
SIMCUDA_PTDS(cuMemcpyPeer, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
	     CUcontext src_context, size_t size);
SIMCUDA_PTSZ(cuMemcpyPeerAsync, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
	     CUcontext src_context, size_t size, CUstream stream);
SIMCUDA_PTDS(cuMemcpyAtoH_v2, void *dst, CUarray src, size_t offset, size_t size);
SIMCUDA_PTSZ(cuMemcpyAtoHAsync_v2, void *dst, CUarray src, size_t offset, size_t size,
	     CUstream stream);
SIMCUDA_PTDS(cuMemcpyHtoA_v2, CUarray dst, size_t offset, const void *src, size_t size);
SIMCUDA_PTSZ(cuMemcpyHtoAAsync_v2, CUarray dst, size_t offset, const void *src, size_t size,
	     CUstream stream);
SIMCUDA_PTDS(cuMemcpyAtoD_v2, CUdeviceptr dst, CUarray src, size_t offset, size_t size);
SIMCUDA_PTDS(cuMemcpyDtoA_v2, CUarray dst, size_t offset, CUdeviceptr src, size_t size);
SIMCUDA_PTDS(cuMemcpyAtoA_v2, CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
	     size_t size);
SIMCUDA_PTDS(cuMemcpy2D_v2, const CUDA_MEMCPY2D *copy);
SIMCUDA_PTDS(cuMemcpy2DUnaligned_v2, const CUDA_MEMCPY2D *copy);
SIMCUDA_PTSZ(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *copy, CUstream stream);
SIMCUDA_PTDS(cuMemcpy3D_v2, const CUDA_MEMCPY3D *copy);
SIMCUDA_PTSZ(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *copy, CUstream stream);
SIMCUDA_PTDS(cuMemcpy3DPeer, const CUDA_MEMCPY3D_PEER *copy);
SIMCUDA_PTSZ(cuMemcpy3DPeerAsync, const CUDA_MEMCPY3D_PEER *copy, CUstream stream);

/* Memsets; N counts elements, as width does. */
SIMCUDA_PTDS(cuMemsetD8_v2, CUdeviceptr dst, unsigned char value, size_t N);
SIMCUDA_PTDS(cuMemsetD16_v2, CUdeviceptr dst, unsigned short value, size_t N);
SIMCUDA_PTDS(cuMemsetD32_v2, CUdeviceptr dst, unsigned int value, size_t N);
SIMCUDA_PTSZ(cuMemsetD8Async, CUdeviceptr dst, unsigned char value, size_t N, CUstream stream);
SIMCUDA_PTSZ(cuMemsetD16Async, CUdeviceptr dst, unsigned short value, size_t N, CUstream stream);
SIMCUDA_PTSZ(cuMemsetD32Async, CUdeviceptr dst, unsigned int value, size_t N, CUstream stream);
SIMCUDA_PTDS(cuMemsetD2D8_v2, CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
	     size_t height);
SIMCUDA_PTDS(cuMemsetD2D16_v2, CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
	     size_t height);
SIMCUDA_PTDS(cuMemsetD2D32_v2, CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
	     size_t height);
SIMCUDA_PTSZ(cuMemsetD2D8Async, CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
	     size_t height, CUstream stream);
SIMCUDA_PTSZ(cuMemsetD2D16Async, CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
	     size_t height, CUstream stream);
SIMCUDA_PTSZ(cuMemsetD2D32Async, CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
	     size_t height, CUstream stream);

/* Code */
CUresult cuModuleLoad(CUmodule *module, const char *path);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int option_count,
			    CUjit_option *options, void **option_values);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *size, CUmodule module, const char *name);
CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module);
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
			   void **jit_values, unsigned int jit_count, CUlibraryOption *options,
			   void **values, unsigned int count);
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit_options,
			       void **jit_values, unsigned int jit_count, CUlibraryOption *options,
			       void **values, unsigned int count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *size, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library);
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel);
CUresult cuKernelGetName(const char **name, CUkernel kernel);
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
			      CUdevice device);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
			      CUdevice device);
CUresult cuFuncGetName(const char **name, CUfunction function);
CUresult cuFuncGetModule(CUmodule *module, CUfunction function);
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config);
SIMCUDA_V2(cuLinkCreate, unsigned int count, CUjit_option *options, void **values,
	   CUlinkState *linker);
SIMCUDA_V2(cuLinkAddData, CUlinkState linker, CUjitInputType type, void *data, size_t size,
	   const char *name, unsigned int count, CUjit_option *options, void **values);
SIMCUDA_V2(cuLinkAddFile, CUlinkState linker, CUjitInputType type, const char *path,
	   unsigned int count, CUjit_option *options, void **values);
CUresult cuLinkComplete(CUlinkState linker, void **image, size_t *size);
CUresult cuLinkDestroy(CUlinkState linker);

/* Launches */
SIMCUDA_PTSZ(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
	     unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	     unsigned int shared_bytes, CUstream stream, void **params, void **extra);
SIMCUDA_PTSZ(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **params,
	     void **extra);
SIMCUDA_PTSZ(cuLaunchCooperativeKernel, CUfunction function, unsigned int grid_x,
	     unsigned int grid_y, unsigned int grid_z, unsigned int block_x, unsigned int block_y,
	     unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **params);
SIMCUDA_PTSZ(cuLaunchHostFunc, CUstream stream, CUhostFn fn, void *data);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
						     int block_size, size_t shared_bytes);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
							      int block_size, size_t shared_bytes,
							      unsigned int flags);

/* Streams, events */
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
SIMCUDA_V2(cuStreamDestroy, CUstream stream);
SIMCUDA_PTSZ(cuStreamQuery, CUstream stream);
SIMCUDA_PTSZ(cuStreamSynchronize, CUstream stream);
SIMCUDA_PTSZ(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned int flags);
SIMCUDA_PTSZ(cuStreamAddCallback, CUstream stream, CUstreamCallback callback, void *data,
	     unsigned int flags);
SIMCUDA_PTSZ(cuStreamGetCtx, CUstream stream, CUcontext *context);
SIMCUDA_PTSZ(cuStreamGetDevice, CUstream stream, CUdevice *device);
SIMCUDA_PTSZ(cuStreamGetFlags, CUstream stream, unsigned int *flags);
SIMCUDA_PTSZ(cuStreamGetPriority, CUstream stream, int *priority);
SIMCUDA_PTSZ(cuStreamGetId, CUstream stream, unsigned long long *id);
CUresult cuEventCreate(CUevent *event, unsigned int flags);
SIMCUDA_V2(cuEventDestroy, CUevent event);
SIMCUDA_PTSZ(cuEventRecord, CUevent event, CUstream stream);
SIMCUDA_PTSZ(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned int flags);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
SIMCUDA_V2(cuEventElapsedTime, float *milliseconds, CUevent start, CUevent end);

#include "simcuda_array.h"
#include "simcuda_vmm.h"
#include "simcuda_graph.h"

#ifdef __cplusplus
}
#endif

#endif
