/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of graph nodes: each has a function that adds one, and cuGraphAddNode has them all.
 */
#include <string.h>

#include "graph.h"

#define NOTE_NODE HEX(graph, graph), OUT_HEX(node, node)

static CUresult add_kernel(const struct graph_place *at, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	work.kernel = *params;
	/* A kernel's handle is as good as a function's. */
	if (!work.kernel.func)
		work.kernel.func = (CUfunction)params->kern;
	result = launch_plan(&work.kernel);
	return result == CUDA_SUCCESS ? graph_add(at, &work) : result;
}

static void note_kernel(struct oracle_line *line, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUfunction function;

	if (!p)
		return;
	function = p->func ? p->func : (CUfunction)p->kern;
	HEX(handle, function);
	STR(kernel, module_function_name(function));
	XYZ(grid, p->gridDimX, p->gridDimY, p->gridDimZ);
	XYZ(block, p->blockDimX, p->blockDimY, p->blockDimZ);
	DEC(shared, p->sharedMemBytes);
}

CU_DEFINE(CONTEXT, cuGraphAddKernelNode_v2,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   const CUDA_KERNEL_NODE_PARAMS *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_kernel(line, params))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return add_kernel(&at, params);
}

/* The newer structure has the older one at its start. */
static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS new = { 0 };

	if (params)
		memcpy(&new, params, sizeof(*params));
	return new;
}

static void note_kernel_v1(struct oracle_line *line, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS new = from_v1(params);

	note_kernel(line, &new);
}

CU_DEFINE(CONTEXT, cuGraphAddKernelNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_kernel_v1(line, params))
{
	const struct graph_place at = { node, graph, dependencies, count };
	CUDA_KERNEL_NODE_PARAMS new = from_v1(params);

	return add_kernel(&at, params ? &new : NULL);
}

static CUresult add_memcpy(const struct graph_place *at, const CUDA_MEMCPY3D *copy,
			   CUcontext context)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	CUresult result;

	if (!copy || !context_alive(context))
		return CUDA_ERROR_INVALID_VALUE;
	work.copy = *copy;
	result = copy_plan(copy);
	return result == CUDA_SUCCESS ? graph_add(at, &work) : result;
}

static void note_memcpy(struct oracle_line *line, const CUDA_MEMCPY3D *copy)
{
	if (copy)
		copy_note(line, copy);
}

CU_DEFINE(INIT, cuGraphAddMemcpyNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   const CUDA_MEMCPY3D *copy, CUcontext context),
	  (node, graph, dependencies, count, copy, context), NOTE_NODE, note_memcpy(line, copy))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return add_memcpy(&at, copy, context);
}

static CUresult add_memset(const struct graph_place *at, const CUDA_MEMSET_NODE_PARAMS *params,
			   CUcontext context)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
	CUresult result;

	if (!params || !context_alive(context))
		return CUDA_ERROR_INVALID_VALUE;
	work.set = *params;
	result = memset_plan(params);
	return result == CUDA_SUCCESS ? graph_add(at, &work) : result;
}

static void note_memset(struct oracle_line *line, const CUDA_MEMSET_NODE_PARAMS *p)
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

CU_DEFINE(INIT, cuGraphAddMemsetNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context),
	  (node, graph, dependencies, count, params, context), NOTE_NODE, note_memset(line, params))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return add_memset(&at, params, context);
}

static CUresult add_host(const struct graph_place *at, const CUDA_HOST_NODE_PARAMS *params)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_HOST };

	if (!params || !params->fn)
		return CUDA_ERROR_INVALID_VALUE;
	work.host = *params;
	return graph_add(at, &work);
}

CU_DEFINE(INIT, cuGraphAddHostNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   const CUDA_HOST_NODE_PARAMS *params),
	  (node, graph, dependencies, count, params), NOTE_NODE,
	  params ? HEX(value, params->fn) : (void)0)
{
	const struct graph_place at = { node, graph, dependencies, count };

	return add_host(&at, params);
}

CU_DEFINE(INIT, cuGraphAddEmptyNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count),
	  (node, graph, dependencies, count), NOTE_NODE)
{
	const struct graph_place at = { node, graph, dependencies, count };
	const struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

	return graph_add(&at, &work);
}

CUresult graph_add_alloc(const struct graph_place *at, struct device *device, size_t size,
			 CUdeviceptr *ptr)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUresult result;

	if (!graph_valid(at->graph) || at->graph->moved || !size || !ptr)
		return CUDA_ERROR_INVALID_VALUE;
	work.memory = graph_memory_new(device, size, at->graph->id);
	if (!work.memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = graph_add(at, &work);
	if (result == CUDA_SUCCESS)
		*ptr = work.memory->addr;
	else
		graph_memory_put(work.memory);
	return result;
}

static CUresult add_alloc(const struct graph_place *at, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	const CUmemPoolProps *props;
	struct device *device;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	props = &params->poolProps;
	if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    params->accessDescCount > device_count())
		return CUDA_ERROR_INVALID_VALUE;
	device = device_find(props->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	return graph_add_alloc(at, device, params->bytesize, &params->dptr);
}

static void note_alloc(struct oracle_line *line, const CUDA_MEM_ALLOC_NODE_PARAMS *params,
		       CUresult result)
{
	if (!params)
		return;
	if (result == CUDA_SUCCESS)
		HEX(addr, params->dptr);
	DEC(size, params->bytesize);
	DEC(ordinal, params->poolProps.location.id);
}

CU_DEFINE(INIT, cuGraphAddMemAllocNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   CUDA_MEM_ALLOC_NODE_PARAMS *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_alloc(line, params, result))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return add_alloc(&at, params);
}

static bool frees(CUgraph graph, const struct graph_memory *memory)
{
	for (CUgraphNode node = graph->first; node; node = node->next)
		if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE && node->work.memory == memory)
			return true;
	return false;
}

/* Once in a graph; and if in the one that allocates it, then in no other. */
static bool can_free(CUgraph graph, const struct graph_memory *memory)
{
	bool owner = memory->graph_id == graph->id;

	return !frees(graph, memory) && !(owner ? memory->freed_elsewhere : memory->freed_by_owner);
}

CUresult graph_add_free(const struct graph_place *at, CUdeviceptr ptr)
{
	struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!graph_valid(at->graph) || at->graph->moved)
		return CUDA_ERROR_INVALID_VALUE;
	work.memory = graph_memory_find(ptr);
	if (!work.memory)
		return CUDA_ERROR_INVALID_VALUE;
	if (can_free(at->graph, work.memory))
		result = graph_add(at, &work);
	if (result != CUDA_SUCCESS)
		graph_memory_put(work.memory);
	else if (work.memory->graph_id == at->graph->id)
		work.memory->freed_by_owner = true;
	else
		work.memory->freed_elsewhere = true;
	return result;
}

CU_DEFINE(INIT, cuGraphAddMemFreeNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   CUdeviceptr ptr),
	  (node, graph, dependencies, count, ptr), NOTE_NODE, HEX(addr, ptr))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return graph_add_free(&at, ptr);
}

static CUresult add_any(const struct graph_place *at, CUgraphNodeParams *p)
{
	/* The first members are those of the structure without a context. */
	CUDA_MEMSET_NODE_PARAMS set;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return add_kernel(at, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (p->memcpy.flags)
			return CUDA_ERROR_INVALID_VALUE;
		return add_memcpy(at, &p->memcpy.copyParams,
				  p->memcpy.copyCtx ? p->memcpy.copyCtx : context_current());
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&set, &p->memset, sizeof(set));
		return add_memset(at, &set, p->memset.ctx ? p->memset.ctx : context_current());
	case CU_GRAPH_NODE_TYPE_HOST:
		return add_host(at, &p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return graph_add_child(at, p->graph.graph, p->graph.ownership);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return graph_add(at, &(struct graph_work){ .type = CU_GRAPH_NODE_TYPE_EMPTY });
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return add_alloc(at, &p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return graph_add_free(at, p->free.dptr);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static void note_any(struct oracle_line *line, const CUgraphNodeParams *p, CUresult result)
{
	CUDA_MEMSET_NODE_PARAMS set;

	if (!p)
		return;
	DEC(type, p->type);
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		note_kernel(line, &p->kernel);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		note_memcpy(line, &p->memcpy.copyParams);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&set, &p->memset, sizeof(set));
		note_memset(line, &set);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		HEX(child, p->graph.graph);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		note_alloc(line, &p->alloc, result);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		HEX(addr, p->free.dptr);
		break;
	default:
		break;
	}
}

static bool reserved_zero(const CUgraphNodeParams *p)
{
	return p && !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] && !p->reserved2;
}

CU_DEFINE(CONTEXT, cuGraphAddNode,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
	   CUgraphNodeParams *params),
	  (node, graph, dependencies, count, params), NOTE_NODE, note_any(line, params, result))
{
	const struct graph_place at = { node, graph, dependencies, count };

	return reserved_zero(params) ? add_any(&at, params) : CUDA_ERROR_INVALID_VALUE;
}

/* Edges may only be ordinary ones: what the others are for does not happen here. */
static bool edges_valid(const CUgraphEdgeData *edges, size_t count)
{
	static const CUgraphEdgeData ordinary;

	for (size_t i = 0; edges && i < count; i++)
		if (memcmp(&edges[i], &ordinary, sizeof(ordinary)))
			return false;
	return true;
}

CU_DEFINE(CONTEXT, cuGraphAddNode_v2,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
	   const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params),
	  (node, graph, dependencies, edges, count, params), NOTE_NODE,
	  note_any(line, params, result))
{
	const struct graph_place at = { node, graph, dependencies, count };

	if (!reserved_zero(params) || !edges_valid(edges, count))
		return CUDA_ERROR_INVALID_VALUE;
	return add_any(&at, params);
}

/* For kinds of nodes that are not simulated. */
CU_DEFINE(CONTEXT, cuGraphAddNode_v3,
	  (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
	   const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params),
	  (node, graph, dependencies, edges, count, params), NOTE_NODE,
	  note_any(line, params, result))
{
	const struct graph_place at = { node, graph, dependencies, count };

	if (!reserved_zero(params) || !edges_valid(edges, count))
		return CUDA_ERROR_INVALID_VALUE;
	return add_any(&at, params);
}

static bool is_node(CUgraphNode node, CUgraphNodeType type)
{
	return graph_node_valid(node) && node->work.type == type;
}

CU_DEFINE(INIT, cuGraphMemAllocNodeGetParams,
	  (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params), (node, params), HEX(node, node),
	  note_alloc(line, result ? NULL : params, result))
{
	const struct graph_memory *memory;

	if (!params || !is_node(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC))
		return CUDA_ERROR_INVALID_VALUE;
	memory = node->work.memory;
	*params = (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.poolProps.location = { CU_MEM_LOCATION_TYPE_DEVICE, memory->device->ordinal },
		.bytesize = memory->size_bytes,
		.dptr = memory->addr,
	};
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr *ptr), (node, ptr),
	  HEX(node, node), OUT_HEX(addr, ptr))
{
	if (!ptr || !is_node(node, CU_GRAPH_NODE_TYPE_MEM_FREE))
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = node->work.memory->addr;
	return CUDA_SUCCESS;
}
