// SPDX-License-Identifier: BSD-2-Clause
/*
 * The offsets in CUDA's structures that bpf/probes.def and bpf/abi.h rest on, compiled with the
 * headers of several versions of CUDA (make check-headers).
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>

#include "abi.h"

#define AT(type, member, offset) \
	_Static_assert(offsetof(type, member) == (offset), #type "." #member)

/* Copies: COPY_2D, COPY_3D, COPY_3D_RUNTIME, COPY_3D_PEER_RUNTIME. */
AT(CUDA_MEMCPY2D, srcMemoryType, 16);
AT(CUDA_MEMCPY2D, srcHost, 16 + 8 * CU_MEMORYTYPE_HOST);
AT(CUDA_MEMCPY2D, srcDevice, 16 + 8 * CU_MEMORYTYPE_DEVICE);
AT(CUDA_MEMCPY2D, srcArray, 16 + 8 * CU_MEMORYTYPE_ARRAY);
AT(CUDA_MEMCPY2D, dstMemoryType, 16 + MS_COPY2D_DST);
AT(CUDA_MEMCPY2D, WidthInBytes, 112);
AT(CUDA_MEMCPY2D, Height, 120);
AT(CUDA_MEMCPY3D, srcMemoryType, 32);
AT(CUDA_MEMCPY3D, dstMemoryType, 32 + MS_COPY3D_DST);
AT(CUDA_MEMCPY3D, WidthInBytes, 176);
AT(CUDA_MEMCPY3D, Height, 184);
AT(CUDA_MEMCPY3D, Depth, 192);
AT(CUDA_MEMCPY3D_PEER, srcMemoryType, 32);
AT(CUDA_MEMCPY3D_PEER, dstMemoryType, 32 + MS_COPY3D_DST);
AT(CUDA_MEMCPY3D_PEER, WidthInBytes, 176);
AT(struct cudaMemcpy3DParms, srcPtr.ptr, 32);
AT(struct cudaMemcpy3DParms, srcArray, 32 - MS_PITCHED_ARRAY);
AT(struct cudaMemcpy3DParms, dstPtr.ptr, 96);
AT(struct cudaMemcpy3DParms, dstArray, 96 - MS_PITCHED_ARRAY);
AT(struct cudaMemcpy3DParms, extent.width, 128);
AT(struct cudaMemcpy3DParms, extent.height, 136);
AT(struct cudaMemcpy3DParms, extent.depth, 144);
AT(struct cudaMemcpy3DParms, kind, 152);
AT(struct cudaMemcpy3DPeerParms, srcPtr.ptr, 32);
AT(struct cudaMemcpy3DPeerParms, dstPtr.ptr, 104);
AT(struct cudaMemcpy3DPeerParms, dstArray, 104 - MS_PITCHED_ARRAY);
AT(struct cudaMemcpy3DPeerParms, extent.width, 144);
AT(struct cudaMemcpy3DPeerParms, extent.depth, 160);

/* Arrays. */
AT(CUDA_ARRAY_DESCRIPTOR, Width, 0);
AT(CUDA_ARRAY_DESCRIPTOR, Height, 8);
AT(CUDA_ARRAY_DESCRIPTOR, Format, 16);
AT(CUDA_ARRAY_DESCRIPTOR, NumChannels, 20);
AT(CUDA_ARRAY3D_DESCRIPTOR, Depth, 16);
AT(CUDA_ARRAY3D_DESCRIPTOR, Format, 24);
AT(CUDA_ARRAY3D_DESCRIPTOR, NumChannels, 28);
AT(CUDA_ARRAY3D_DESCRIPTOR, Flags, 32);

/* Where memory is. */
AT(CUmemLocation, type, 0);
AT(CUmemLocation, id, 4);
AT(CUmemAllocationProp, location, 8);
_Static_assert(CU_MEM_LOCATION_TYPE_DEVICE == 1, "CU_MEM_LOCATION_TYPE_DEVICE");

/* Graphs. */
AT(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize, 104);
AT(CUDA_MEM_ALLOC_NODE_PARAMS, dptr, 112);
#if CUDA_VERSION >= 12020
AT(CUgraphNodeParams, type, 0);
AT(CUgraphNodeParams, alloc.bytesize, 120);
AT(CUgraphNodeParams, alloc.dptr, 128);
AT(CUgraphNodeParams, free.dptr, 16);
AT(CUgraphNodeParams, graph.graph, 16);
#endif
_Static_assert(CU_GRAPH_NODE_TYPE_GRAPH == 4, "CU_GRAPH_NODE_TYPE_GRAPH");
_Static_assert(CU_GRAPH_NODE_TYPE_MEM_ALLOC == 10, "CU_GRAPH_NODE_TYPE_MEM_ALLOC");
_Static_assert(CU_GRAPH_NODE_TYPE_MEM_FREE == 11, "CU_GRAPH_NODE_TYPE_MEM_FREE");

/* Launches. */
AT(CUlaunchConfig, gridDimX, 0);
AT(CUlaunchConfig, blockDimX, 12);
AT(CUlaunchConfig, sharedMemBytes, 24);
AT(CUlaunchConfig, hStream, 32);
AT(cudaLaunchConfig_t, gridDim, 0);
AT(cudaLaunchConfig_t, blockDim, 12);
AT(cudaLaunchConfig_t, dynamicSmemBytes, 24);
AT(cudaLaunchConfig_t, stream, 32);

/* Devices. */
AT(struct cudaDeviceProp, name, 0);
AT(struct cudaDeviceProp, uuid, 256);
AT(struct cudaDeviceProp, totalGlobalMem, 288);

#if CUDA_VERSION >= 12080
AT(CUDA_MEMCPY3D_BATCH_OP, src.op.ptr.ptr, 8);
AT(CUDA_MEMCPY3D_BATCH_OP, dst, 40);
AT(CUDA_MEMCPY3D_BATCH_OP, dst.op.ptr.ptr, 48);
AT(CUDA_MEMCPY3D_BATCH_OP, extent, 80);
_Static_assert(CU_MEMCPY_OPERAND_TYPE_POINTER == 1, "CU_MEMCPY_OPERAND_TYPE_POINTER");
#endif

/* Results that conclusions rest on. */
_Static_assert(CUDA_SUCCESS == MS_CUDA_SUCCESS, "CUDA_SUCCESS");
_Static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && cudaErrorMemoryAllocation == 2, "out of memory");
