/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs. Their nodes are described by structures of the runtime's own, which become the driver's.
 */
#include <string.h>

#include "runtime.h"

#define NOTE_NODE HEX(graph, graph), OUT_HEX(node, node)

static CUcontext current(void)
{
	return (CUcontext)(uintptr_t)runtime_thread()->driver->context;
}

RT_DEFINE(CONTEXT, cudaGraphCreate, (cudaGraph_t *graph, unsigned int flags), (graph, flags),
	  OUT_HEX(graph, graph), DEC(flags, flags))
{
	return runtime_error(cu->cuGraphCreate(graph, flags));
}

RT_DEFINE(CONTEXT, cudaGraphDestroy, (cudaGraph_t graph), (graph), HEX(graph, graph))
{
	return runtime_error(cu->cuGraphDestroy(graph));
}

RT_DEFINE(CONTEXT, cudaGraphClone, (cudaGraph_t *copy, cudaGraph_t original), (copy, original),
	  OUT_HEX(graph, copy), HEX(original, original))
{
	return runtime_error(cu->cuGraphClone(copy, original));
}

RT_DEFINE(CONTEXT, cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
	  (graph, nodes, count), HEX(graph, graph), OUT_DEC(value, count))
{
	return runtime_error(cu->cuGraphGetNodes(graph, nodes, count));
}

RT_DEFINE(CONTEXT, cudaGraphDestroyNode, (cudaGraphNode_t node), (node), HEX(node, node))
{
	return runtime_error(cu->cuGraphDestroyNode(node));
}

RT_DEFINE(CONTEXT, cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
	  (node, type), HEX(node, node), OUT_DEC(value, type))
{
	return runtime_error(cu->cuGraphNodeGetType(node, (CUgraphNodeType *)type));
}

/* The stub's kernel takes the place of a function: the driver knows both. */
static cudaError_t driver_kernel(const struct driver *cu, const struct cudaKernelNodeParams *params,
				 CUDA_KERNEL_NODE_PARAMS *to)
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, params->func, &kernel);

	if (error != cudaSuccess)
		return error;
	*to = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = params->gridDim.x,
		.gridDimY = params->gridDim.y,
		.gridDimZ = params->gridDim.z,
		.blockDimX = params->blockDim.x,
		.blockDimY = params->blockDim.y,
		.blockDimZ = params->blockDim.z,
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra,
		.kern = kernel,
	};
	return cudaSuccess;
}

static void note_kernel(struct oracle_line *line, const struct cudaKernelNodeParams *p)
{
	if (!p)
		return;
	STR(kernel, runtime_kernel_name(p->func));
	HEX(stub, p->func);
	XYZ(grid, p->gridDim.x, p->gridDim.y, p->gridDim.z);
	XYZ(block, p->blockDim.x, p->blockDim.y, p->blockDim.z);
	DEC(shared, p->sharedMemBytes);
}

RT_DEFINE(CONTEXT, cudaGraphAddKernelNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, const struct cudaKernelNodeParams *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_kernel(line, params))
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error;

	if (!params)
		return cudaErrorInvalidValue;
	error = driver_kernel(cu, params, &kernel);
	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuGraphAddKernelNode(node, graph, dependencies, count, &kernel));
}

RT_DEFINE(CONTEXT, cudaGraphAddMemcpyNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, const struct cudaMemcpy3DParms *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, runtime_copy_note(line, params))
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = runtime_copy_params(cu, params, &copy);

	if (error != cudaSuccess)
		return error;
	return runtime_error(
		cu->cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, current()));
}

static struct cudaMemcpy3DParms line_params(void *dst, const void *src, size_t size,
					    enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = { (void *)(uintptr_t)src, size, size, 1 },
		.dstPtr = { dst, size, size, 1 },
		.extent = { size, 1, 1 },
		.kind = kind,
	};
}

RT_DEFINE(CONTEXT, cudaGraphAddMemcpyNode1D,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, void *dst, const void *src, size_t size, enum cudaMemcpyKind kind),
	  (node, graph, dependencies, count, dst, src, size, kind), NOTE_NODE, HEX(dst, dst),
	  HEX(src, src), DEC(size, size), DEC(kind, kind), STR(direction, runtime_kind_name(kind)))
{
	struct cudaMemcpy3DParms params = line_params(dst, src, size, kind);
	CUDA_MEMCPY3D copy;
	cudaError_t error = runtime_copy_params(cu, &params, &copy);

	if (error != cudaSuccess)
		return error;
	return runtime_error(
		cu->cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, current()));
}

static void note_memset(struct oracle_line *line, const struct cudaMemsetParams *p)
{
	if (!p)
		return;
	HEX(addr, p->dst);
	DEC(value, p->value);
	DEC(size, p->width * p->height * p->elementSize);
	DEC(pitch, p->pitch);
	DEC(width, p->width);
	DEC(height, p->height);
}

RT_DEFINE(CONTEXT, cudaGraphAddMemsetNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, const struct cudaMemsetParams *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_memset(line, params))
{
	_Static_assert(sizeof(*params) == sizeof(CUDA_MEMSET_NODE_PARAMS),
		       "the two APIs share this structure");
	return runtime_error(cu->cuGraphAddMemsetNode(node, graph, dependencies, count,
						      (const CUDA_MEMSET_NODE_PARAMS *)params,
						      current()));
}

RT_DEFINE(CONTEXT, cudaGraphAddHostNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, const struct cudaHostNodeParams *params),
	  (node, graph, dependencies, count, params), NOTE_NODE,
	  params ? HEX(value, params->fn) : (void)0)
{
	return runtime_error(cu->cuGraphAddHostNode(node, graph, dependencies, count,
						    (const CUDA_HOST_NODE_PARAMS *)params));
}

RT_DEFINE(CONTEXT, cudaGraphAddEmptyNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count),
	  (node, graph, dependencies, count), NOTE_NODE)
{
	return runtime_error(cu->cuGraphAddEmptyNode(node, graph, dependencies, count));
}

RT_DEFINE(CONTEXT, cudaGraphAddChildGraphNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, cudaGraph_t child),
	  (node, graph, dependencies, count, child), NOTE_NODE, HEX(child, child))
{
	return runtime_error(cu->cuGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

RT_DEFINE(CONTEXT, cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *child),
	  (node, child), HEX(node, node), OUT_HEX(child, child))
{
	return runtime_error(cu->cuGraphChildGraphNodeGetGraph(node, child));
}

static void note_alloc(struct oracle_line *line, const struct cudaMemAllocNodeParams *params,
		       cudaError_t result)
{
	if (!params)
		return;
	if (result == cudaSuccess)
		HEX(addr, params->dptr);
	DEC(size, params->bytesize);
	DEC(ordinal, params->poolProps.location.id);
}

RT_DEFINE(CONTEXT, cudaGraphAddMemAllocNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, struct cudaMemAllocNodeParams *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_alloc(line, params, result))
{
	_Static_assert(sizeof(*params) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
		       "the two APIs share this structure");
	return runtime_error(cu->cuGraphAddMemAllocNode(node, graph, dependencies, count,
							(CUDA_MEM_ALLOC_NODE_PARAMS *)params));
}

RT_DEFINE(CONTEXT, cudaGraphMemAllocNodeGetParams,
	  (cudaGraphNode_t node, struct cudaMemAllocNodeParams *params), (node, params),
	  HEX(node, node), note_alloc(line, result ? NULL : params, result))
{
	return runtime_error(
		cu->cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params));
}

RT_DEFINE(CONTEXT, cudaGraphAddMemFreeNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   size_t count, void *ptr),
	  (node, graph, dependencies, count, ptr), NOTE_NODE, HEX(addr, ptr))
{
	return runtime_error(
		cu->cuGraphAddMemFreeNode(node, graph, dependencies, count, runtime_ptr(ptr)));
}

RT_DEFINE(CONTEXT, cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *ptr), (node, ptr),
	  HEX(node, node), OUT_HEX(addr, (void **)ptr))
{
	return runtime_error(cu->cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)ptr));
}

/* The structures that are the same in both APIs are copied as a whole, with what is reserved. */
static cudaError_t driver_params(const struct driver *cu, const struct cudaGraphNodeParams *p,
				 CUgraphNodeParams *to)
{
	_Static_assert(sizeof(*p) == sizeof(*to), "the two APIs share the size of this structure");
	memcpy(to, p, sizeof(*to));
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		memset(to->reserved1, 0, sizeof(to->reserved1));
		return driver_kernel(cu, &p->kernel, &to->kernel);
	case cudaGraphNodeTypeMemcpy:
		memset(to->reserved1, 0, sizeof(to->reserved1));
		to->memcpy.flags = p->memcpy.flags;
		return runtime_copy_params(cu, &p->memcpy.copyParams, &to->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		to->memset.ctx = NULL;
		return cudaSuccess;
	default:
		return cudaSuccess;
	}
}

static void note_any(struct oracle_line *line, const struct cudaGraphNodeParams *p,
		     cudaError_t result)
{
	if (!p)
		return;
	DEC(type, p->type);
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		note_kernel(line, &p->kernel);
		break;
	case cudaGraphNodeTypeMemcpy:
		runtime_copy_note(line, &p->memcpy.copyParams);
		break;
	case cudaGraphNodeTypeMemset:
		note_memset(line, &p->memset);
		break;
	case cudaGraphNodeTypeGraph:
		HEX(child, p->graph.graph);
		break;
	case cudaGraphNodeTypeMemAlloc:
		note_alloc(line, &p->alloc, result);
		break;
	case cudaGraphNodeTypeMemFree:
		HEX(addr, p->free.dptr);
		break;
	default:
		break;
	}
}

RT_DEFINE(CONTEXT, cudaGraphAddNode,
	  (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
	   const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params),
	  (node, graph, dependencies, edges, count, params), NOTE_NODE,
	  note_any(line, params, result))
{
	CUgraphNodeParams driver;
	cudaError_t error;

	if (!params)
		return cudaErrorInvalidValue;
	error = driver_params(cu, params, &driver);
	if (error == cudaSuccess)
		error = runtime_error(cu->cuGraphAddNode(
			node, graph, dependencies, (const CUgraphEdgeData *)edges, count, &driver));
	if (error == cudaSuccess && params->type == cudaGraphNodeTypeMemAlloc)
		params->alloc.dptr = (void *)(uintptr_t)driver.alloc.dptr;
	return error;
}
