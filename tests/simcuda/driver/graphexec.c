/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable graphs. Instantiation makes a graph without children, which nobody else knows, of a
 * graph and its children. A launch first goes through it without doing anything, to learn whether
 * all allocations and frees are in order and how much memory they need at most, so that it fails
 * before it has any effect or not at all (unless a copy finds memory gone that it was given an
 * address of).
 */
#include <string.h>

#include "graph.h"

struct totals {
	unsigned int count;
	uint64_t bytes;
};

struct CUgraphExec_st {
	struct object object;
	CUgraph graph;
	unsigned long long graph_id; /* whether graph is still the one it was */
	uint64_t flags;
	CUgraph flat;
	struct totals allocated; /* by the last launch */
	struct totals freed;
};

static struct slab execs = SLAB(struct CUgraphExec_st, 1 << 18);
static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER; /* of all plans, and their runs */

static bool has_memory(const struct graph_work *work)
{
	return work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	       work->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static CUresult flatten(CUgraph to, CUgraph from);

/* In the oracle it goes by the handle that the program knows. */
static CUresult flatten_node(CUgraph to, CUgraphNode from)
{
	CUgraphNode node;
	const struct graph_place at = { .node = &node, .graph = to };
	CUresult result;

	if (from->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return flatten(to, from->work.child);
	result = graph_add(&at, &from->work);
	if (result != CUDA_SUCCESS)
		return result;
	node->work.node = from->work.node;
	if (has_memory(&from->work))
		graph_memory_get(from->work.memory);
	return CUDA_SUCCESS;
}

static CUresult flatten(CUgraph to, CUgraph from)
{
	CUresult result = CUDA_SUCCESS;

	for (CUgraphNode node = from->first; node && result == CUDA_SUCCESS; node = node->next)
		result = flatten_node(to, node);
	return result;
}

/* NULL: out of memory. */
static CUgraph flat_copy(CUgraph graph)
{
	CUgraph flat = graph_new();

	if (!flat || flatten(flat, graph) == CUDA_SUCCESS)
		return flat;
	graph_delete(flat);
	return NULL;
}

/* Goes on from `bytes` of each device that are used at the moment; false: out of order. */
static bool plan_work(const struct graph_work *work, int64_t *bytes)
{
	struct graph_memory *memory = work->memory;
	bool allocates = work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	int64_t size = (int64_t)graph_memory_bytes(memory);

	if (memory->planned == allocates)
		return false;
	memory->planned = allocates;
	bytes[memory->device->ordinal] += allocates ? size : -size;
	return true;
}

/* What a launch that frees automatically begins with. */
static bool left_over(CUgraphExec exec, const struct graph_work *work)
{
	return exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH &&
	       work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && work->memory->live;
}

/* peak: the most that a launch uses of each device, in bytes on top of what is used now. */
static bool plan(CUgraphExec exec, uint64_t *peak)
{
	int64_t bytes[DEVICE_MAX] = { 0 };

	memset(peak, 0, DEVICE_MAX * sizeof(*peak));
	for (CUgraphNode node = exec->flat->first; node; node = node->next)
		if (has_memory(&node->work))
			node->work.memory->planned = node->work.memory->live;
	for (CUgraphNode node = exec->flat->first; node; node = node->next) {
		struct graph_memory *memory = node->work.memory;

		if (!left_over(exec, &node->work))
			continue;
		memory->planned = false;
		bytes[memory->device->ordinal] -= (int64_t)graph_memory_bytes(memory);
	}
	for (CUgraphNode node = exec->flat->first; node; node = node->next) {
		int device;

		if (!has_memory(&node->work))
			continue;
		if (!plan_work(&node->work, bytes))
			return false;
		device = node->work.memory->device->ordinal;
		if (bytes[device] > 0 && (uint64_t)bytes[device] > peak[device])
			peak[device] = (uint64_t)bytes[device];
	}
	return true;
}

/* What the launch in progress is told apart by, in the lines of the blocks it deals with. */
struct launch {
	CUgraphExec exec;
	CUstream stream;
};

static void count(struct totals *totals, const struct graph_work *work, const char *name,
		  const struct launch *launch)
{
	struct oracle_line *line;

	totals->count++;
	totals->bytes += work->memory->size_bytes;
	if (likely(!api_active))
		return;
	line = oracle_begin(name, oracle_now_ns(), driver_thread()->via, CUDA_SUCCESS);
	if (!line)
		return;
	HEX(addr, work->memory->addr);
	DEC(size, work->memory->size_bytes);
	HEX(exec, launch->exec);
	HEX(node, work->node);
	HEX(stream, launch->stream);
	DEC(ordinal, work->memory->device->ordinal);
	api_leave(line, driver_thread());
}

static CUresult run_alloc(const struct graph_work *work, const struct launch *launch)
{
	if (!graph_memory_alloc(work->memory))
		return CUDA_ERROR_OUT_OF_MEMORY;
	count(&launch->exec->allocated, work, "graph:alloc", launch);
	return CUDA_SUCCESS;
}

/* The executable graph has a reference, so the memory's description outlives the memory. */
static CUresult run_free(const struct graph_work *work, const struct launch *launch)
{
	if (graph_memory_release(work->memory))
		count(&launch->exec->freed, work, "graph:free", launch);
	return CUDA_SUCCESS;
}

static CUresult run_work(const struct graph_work *work, const struct launch *launch)
{
	CUresult result = CUDA_SUCCESS;

	switch (work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (!module_function_name(work->kernel.func))
			return CUDA_ERROR_INVALID_HANDLE;
		observer_kernel(&work->kernel, launch->stream);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		result = copy_run(&work->copy);
		observer_copy('D', 'D',
			      work->copy.WidthInBytes * work->copy.Height * work->copy.Depth,
			      launch->stream);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		result = memset_run(&work->set);
		observer_memset('D', work->set.width * work->set.height * work->set.elementSize,
				launch->stream);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		/* It may wait for a thread that launches something. */
		pthread_mutex_unlock(&launch_lock);
		work->host.fn(work->host.userData);
		pthread_mutex_lock(&launch_lock);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return run_alloc(work, launch);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return run_free(work, launch);
	default:
		break;
	}
	/* The arguments were good when the node was made; what they point to is not there now. */
	return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_ILLEGAL_ADDRESS : result;
}

/* Locked, like the two below. */
static CUresult prepare(CUgraphExec exec)
{
	uint64_t peak[DEVICE_MAX];

	if (!plan(exec, peak))
		return CUDA_ERROR_INVALID_VALUE;
	return graph_memory_reserve(peak) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult run(const struct launch *launch)
{
	CUgraphExec exec = launch->exec;
	CUresult result = prepare(exec);

	if (result != CUDA_SUCCESS)
		return result;
	exec->allocated = exec->freed = (struct totals){ 0 };
	for (CUgraphNode node = exec->flat->first; node; node = node->next)
		if (left_over(exec, &node->work))
			run_free(&node->work, launch);
	observer_set_graph((unsigned int)exec->graph_id);
	for (CUgraphNode node = exec->flat->first; node && result == CUDA_SUCCESS;
	     node = node->next)
		result = run_work(&node->work, launch);
	observer_set_graph(0);
	return result;
}

static CUresult upload(CUgraphExec exec)
{
	uint64_t peak[DEVICE_MAX];
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&launch_lock);
	/* While what the last launch allocated is live, there is nothing to prepare. */
	if (plan(exec, peak) && !graph_memory_reserve(peak))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&launch_lock);
	return result;
}

static void exec_delete(CUgraphExec exec)
{
	if (graph_valid(exec->graph) && exec->graph->id == exec->graph_id)
		__atomic_sub_fetch(&exec->graph->execs, 1, __ATOMIC_RELAXED);
	graph_delete(exec->flat);
	slab_delete(&execs, exec);
}

static bool can_instantiate(CUgraph graph, uint64_t flags)
{
	const uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
			       CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
			       CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

	return graph_valid(graph) && !graph->moved && !graph->capturing && !(flags & ~known);
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, uint64_t flags)
{
	struct CUgraphExec_st new = { .graph = graph, .flags = flags };

	if (!exec || !can_instantiate(graph, flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (graph->has_memory && __atomic_load_n(&graph->execs, __ATOMIC_RELAXED))
		return CUDA_ERROR_NOT_SUPPORTED;
	new.graph_id = graph->id;
	new.flat = flat_copy(graph);
	if (!new.flat)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*exec = slab_new(&execs, &new);
	if (!*exec) {
		graph_delete(new.flat);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_add_fetch(&graph->execs, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

/* Launching from the device is not simulated. */
static bool from_device(uint64_t flags)
{
	return flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH &&
	       !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
}

CU_DEFINE(CONTEXT, cuGraphInstantiateWithFlags,
	  (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags),
	  OUT_HEX(exec, exec), HEX(graph, graph), DEC(flags, flags))
{
	if (from_device(flags))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		return CUDA_ERROR_INVALID_VALUE;
	return instantiate(exec, graph, flags);
}

static CUresult instantiate_with(CUgraphExec *exec, CUgraph graph,
				 CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	bool uploads = params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult result;

	if (from_device(params->flags))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (uploads && !stream_valid(params->hUploadStream))
		return CUDA_ERROR_INVALID_HANDLE;
	result = instantiate(exec, graph, params->flags);
	if (result != CUDA_SUCCESS || !uploads)
		return result;
	result = upload(*exec);
	if (result != CUDA_SUCCESS)
		exec_delete(*exec);
	return result;
}

CU_DEFINE_PTSZ(CONTEXT, cuGraphInstantiateWithParams,
	       (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
	       (exec, graph, params), OUT_HEX(exec, exec), HEX(graph, graph),
	       params ? DEC(flags, params->flags) : (void)0)
{
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate_with(exec, graph, params);
	params->hErrNode_out = NULL;
	params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS :
						      CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

/* Memory that is live stays so. */
CU_DEFINE(INIT, cuGraphExecDestroy, (CUgraphExec exec), (exec), HEX(exec, exec))
{
	if (!slab_has(&execs, exec))
		return CUDA_ERROR_INVALID_VALUE;
	exec_delete(exec);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuGraphExecGetFlags, (CUgraphExec exec, uint64_t *flags), (exec, flags),
	  HEX(exec, exec), OUT_DEC(flags, flags))
{
	if (!slab_has(&execs, exec) || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

static CUresult check(CUgraphExec exec, CUstream stream)
{
	if (!slab_has(&execs, exec))
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	return stream_context(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CU_DEFINE_PTSZ(INIT, cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, stream),
	       HEX(exec, exec), HEX(stream, stream))
{
	CUresult result = check(exec, stream);

	return result == CUDA_SUCCESS ? upload(exec) : result;
}

static void note_launch(struct oracle_line *line, CUgraphExec exec, CUresult result)
{
	if (result != CUDA_SUCCESS)
		return;
	DEC(allocs, exec->allocated.count);
	DEC(frees, exec->freed.count);
	DEC(alloc_bytes, exec->allocated.bytes);
	DEC(free_bytes, exec->freed.bytes);
}

CU_DEFINE_PTSZ(INIT, cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, stream),
	       HEX(exec, exec), HEX(stream, stream), note_launch(line, exec, result))
{
	struct launch launch = { .exec = exec, .stream = stream };
	CUresult result = check(exec, stream);

	if (result == CUDA_SUCCESS && capture_active(stream))
		result = capture_refuse_stream(stream);
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&launch_lock);
	result = run(&launch);
	pthread_mutex_unlock(&launch_lock);
	return result;
}

/* Whether the nodes are the same ones but for their parameters; memory may not change at all. */
static CUgraphExecUpdateResult compare(CUgraph before, CUgraph after, CUgraphNode *error)
{
	CUgraphNode old = before->first;

	if (before->count != after->count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (CUgraphNode node = after->first; node; node = node->next, old = old->next) {
		*error = node->work.node;
		if (old->work.type != node->work.type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (has_memory(&node->work) && old->work.memory != node->work.memory)
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	}
	*error = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CU_DEFINE(INIT, cuGraphExecUpdate_v2,
	  (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info), (exec, graph, info),
	  HEX(exec, exec), HEX(graph, graph))
{
	CUgraph flat;

	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	*info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	if (!slab_has(&execs, exec) || !graph_valid(graph) || graph->moved || graph->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	flat = flat_copy(graph);
	if (!flat)
		return CUDA_ERROR_OUT_OF_MEMORY;
	info->result = compare(exec->flat, flat, &info->errorNode);
	if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		graph_delete(flat);
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	graph_delete(exec->flat);
	exec->flat = flat;
	return CUDA_SUCCESS;
}
