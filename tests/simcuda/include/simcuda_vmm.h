/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of simcuda.h, which includes this, about memory that is not just allocated: addresses
 * and physical memory apart, memory of other processes and APIs, where managed memory is, batches.
 */
#ifndef SIMCUDA_VMM_H
#define SIMCUDA_VMM_H

typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUextMemory_st *CUexternalMemory;

typedef enum CUmemAllocationHandleType {
	CU_MEM_HANDLE_TYPE_NONE = 0,
	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
	CU_MEM_HANDLE_TYPE_WIN32 = 2,
	CU_MEM_HANDLE_TYPE_FABRIC = 8,
} CUmemAllocationHandleType;

typedef enum CUmemAllocationGranularity_flags {
	CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
	CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
} CUmemAllocationGranularity_flags;

typedef enum CUmemAccess_flags {
	CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
	CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
	CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
} CUmemAccess_flags;

typedef struct CUmemAllocationProp_st {
	CUmemAllocationType type;
	CUmemAllocationHandleType requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType;
		unsigned char gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
	CUmemLocation location;
	CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct CUipcMemHandle_st {
	char reserved[64];
} CUipcMemHandle;
enum { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1 };

typedef struct CUipcEventHandle_st {
	char reserved[64];
} CUipcEventHandle;

typedef enum CUexternalMemoryHandleType {
	CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1,
	CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32 = 2,
} CUexternalMemoryHandleType;
enum { CUDA_EXTERNAL_MEMORY_DEDICATED = 1 };

typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st {
	CUexternalMemoryHandleType type;
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
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st {
	unsigned long long offset;
	unsigned long long size;
	unsigned int flags;
	unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

#define CU_DEVICE_CPU ((CUdevice)-1)

typedef enum CUmem_advise {
	CU_MEM_ADVISE_SET_READ_MOSTLY = 1,
	CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2,
	CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
	CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4,
	CU_MEM_ADVISE_SET_ACCESSED_BY = 5,
	CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6,
} CUmem_advise;

typedef enum CUmemcpySrcAccessOrder {
	CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
	CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
	CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3,
} CUmemcpySrcAccessOrder;

typedef struct CUmemcpyAttributes_st {
	CUmemcpySrcAccessOrder srcAccessOrder;
	CUmemLocation srcLocHint;
	CUmemLocation dstLocHint;
	unsigned int flags;
} CUmemcpyAttributes;

typedef enum CUmemcpy3DOperandType {
	CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
	CU_MEMCPY_OPERAND_TYPE_ARRAY = 2,
} CUmemcpy3DOperandType;

typedef struct CUoffset3D_st {
	size_t x, y, z;
} CUoffset3D;

typedef struct CUextent3D_st {
	size_t width, height, depth;
} CUextent3D;

typedef struct CUmemcpy3DOperand_st {
	CUmemcpy3DOperandType type;
	union {
		struct {
			CUdeviceptr ptr;
			size_t rowLength;
			size_t layerHeight;
			CUmemLocation locHint;
		} ptr;
		struct {
			CUarray array;
			CUoffset3D offset;
		} array;
	} op;
} CUmemcpy3DOperand;

typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
	CUmemcpy3DOperand src;
	CUmemcpy3DOperand dst;
	CUextent3D extent;
	CUmemcpySrcAccessOrder srcAccessOrder;
	unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;

typedef enum CUfabricCpyOperandType {
	CU_FABRIC_COPY_OPERAND_TYPE_POINTER = 1,
	CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT = 2,
} CUfabricCpyOperandType;

typedef struct CUfabricCpyOperand_st {
	CUfabricCpyOperandType type;
	union {
		struct {
			CUdeviceptr ptr;
			CUmemLocation locHint;
		} ptr;
		struct {
			uint64_t id, offset;
		} le;
	} op;
} CUfabricCpyOperand;

typedef struct CUDA_FABRIC_COPY_BATCH_OP_st {
	CUfabricCpyOperand src;
	CUfabricCpyOperand dst;
	size_t size;
	unsigned int flags;
} CUDA_FABRIC_COPY_BATCH_OP;

/* Virtual memory management */
CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option);
CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint,
			     unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr ptr, size_t size);
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count);
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle);
CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
					CUmemAllocationHandleType type);

/* Memory of other processes and APIs */
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr);
SIMCUDA_V2(cuIpcOpenMemHandle, CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr ptr);
CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event);
CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle);
CUresult cuImportExternalMemory(CUexternalMemory *memory,
				const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ptr, CUexternalMemory memory,
					 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc);
CUresult cuDestroyExternalMemory(CUexternalMemory memory);

/* Where managed memory is */
SIMCUDA_PTSZ(cuMemPrefetchAsync, CUdeviceptr ptr, size_t size, CUdevice device, CUstream stream);
SIMCUDA_PTSZ(cuMemPrefetchAsync_v2, CUdeviceptr ptr, size_t size, CUmemLocation location,
	     unsigned int flags, CUstream stream);
CUresult cuMemAdvise(CUdeviceptr ptr, size_t size, CUmem_advise advice, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t size, CUmem_advise advice, CUmemLocation location);

/* Batches */
SIMCUDA_PTSZ(cuMemPrefetchBatchAsync, CUdeviceptr *ptrs, size_t *sizes, size_t count,
	     CUmemLocation *locations, size_t *location_starts, size_t location_count,
	     unsigned long long flags, CUstream stream);
SIMCUDA_PTSZ(cuMemDiscardBatchAsync, CUdeviceptr *ptrs, size_t *sizes, size_t count,
	     unsigned long long flags, CUstream stream);
SIMCUDA_PTSZ(cuMemDiscardAndPrefetchBatchAsync, CUdeviceptr *ptrs, size_t *sizes, size_t count,
	     CUmemLocation *locations, size_t *location_starts, size_t location_count,
	     unsigned long long flags, CUstream stream);
SIMCUDA_PTSZ(cuMemcpyBatchAsync, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	     CUmemcpyAttributes *attributes, size_t *attribute_starts, size_t attribute_count,
	     size_t *failed, CUstream stream);
SIMCUDA_PTSZ(cuMemcpyBatchAsync_v2, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
	     size_t count, CUmemcpyAttributes *attributes, size_t *attribute_starts,
	     size_t attribute_count, CUstream stream);
SIMCUDA_PTSZ(cuMemcpy3DBatchAsync, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
	     unsigned long long flags, CUstream stream);
SIMCUDA_PTSZ(cuMemcpy3DBatchAsync_v2, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
	     unsigned long long flags, CUstream stream);
SIMCUDA_PTSZ(cuMemcpyWithAttributesAsync, CUdeviceptr dst, CUdeviceptr src, size_t size,
	     CUmemcpyAttributes *attributes, CUstream stream);
SIMCUDA_PTSZ(cuMemcpy3DWithAttributesAsync, CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
	     CUstream stream);
SIMCUDA_PTSZ(cuFabricCpyBatchAsync, size_t count, CUDA_FABRIC_COPY_BATCH_OP *ops,
	     unsigned long long flags, CUstream stream);

#endif
