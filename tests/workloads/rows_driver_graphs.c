// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: memory that graphs allocate and free.
 */
#include "rows_driver.h"

static const CUresult invalid = CUDA_ERROR_INVALID_VALUE;

static CUgraph new_graph(void)
{
	return rows_driver_make("cuGraphCreate", CUDA_SUCCESS, DIRTY(0), 0);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(uint64_t size)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.poolProps.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
		.bytesize = size,
		.dptr = 0x5a5a,
	};
}

static void expect_node(const char *api, CUresult wanted, CUgraph graph, uint64_t addr,
			uint64_t size)
{
	EXPECT(.op = "memory", .api = api, .result = wanted, .addr = addr ? HEX(addr) : UNKNOWN,
	       .size = size ? DEC(size) : UNKNOWN, .graph = HEX(graph));
}

static CUdeviceptr add_alloc(CUgraph graph, uint64_t size, CUresult wanted)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(size);
	CUgraphNode node;

	CALL(wanted, "cuGraphAddMemAllocNode", P(&node), P(graph), 0, 0, P(&params));
	expect_node("cuGraphAddMemAllocNode", wanted, graph,
		    wanted == CUDA_SUCCESS ? params.dptr : 0, size);
	return params.dptr;
}

static void add_free(CUgraph graph, CUdeviceptr addr, CUresult wanted)
{
	CUgraphNode node;

	CALL(wanted, "cuGraphAddMemFreeNode", P(&node), P(graph), 0, 0, addr);
	expect_node("cuGraphAddMemFreeNode", wanted, graph, addr, 0);
}

static const char add_node[] = "cuGraphAddNode", add_node_v2[] = "cuGraphAddNode_v2",
		  add_node_v3[] = "cuGraphAddNode_v3";

/* All but the first have an argument more, in front of the number of dependencies. */
static void add_any(const char *api, CUgraph graph, CUgraphNodeParams *params, CUresult wanted)
{
	CUgraphNode node;

	if (api != add_node)
		CALL(wanted, api, P(&node), P(graph), 0, 0, 0, P(params));
	else
		CALL(wanted, api, P(&node), P(graph), 0, 0, P(params));
}

static CUdeviceptr add_any_alloc(const char *api, CUgraph graph, uint64_t size)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
				     .alloc = alloc_params(size) };

	params.reserved2 = 1;
	add_any(api, graph, &params, invalid);
	expect_node(api, invalid, graph, 0, 0);
	params.reserved2 = 0;
	add_any(api, graph, &params, CUDA_SUCCESS);
	expect_node(api, CUDA_SUCCESS, graph, params.alloc.dptr, size);
	return params.alloc.dptr;
}

static void add_any_free(const char *api, CUgraph graph, CUdeviceptr addr)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free.dptr = addr };

	add_any(api, graph, &params, CUDA_SUCCESS);
	expect_node(api, CUDA_SUCCESS, graph, addr, 0);
}

/* Of no memory. */
static void add_any_empty(const char *api, CUgraph graph)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

	add_any(api, graph, &params, CUDA_SUCCESS);
	expect_node(api, CUDA_SUCCESS, graph, 0, 0);
}

/* The only way in which graphs with memory become children. */
static void move_child(const char *api, CUgraph graph, CUgraph child)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH,
				     .graph = { child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE } };

	add_any(api, graph, &params, CUDA_SUCCESS);
	expect_node(api, CUDA_SUCCESS, graph, P(child), 0);
}

static void add_child(CUgraph graph, CUgraph child, CUresult wanted)
{
	CUgraphNode node;

	CALL(wanted, "cuGraphAddChildGraphNode", P(&node), P(graph), 0, 0, P(child));
	expect_node("cuGraphAddChildGraphNode", wanted, child, P(graph), 0);
}

static void destroy_graph(CUgraph graph, CUresult wanted)
{
	CALL(wanted, "cuGraphDestroy", P(graph));
	EXPECT(.op = "memory", .api = "cuGraphDestroy", .result = wanted, .addr = HEX(graph));
}

static CUgraph clone(CUgraph graph, CUresult wanted)
{
	CUgraph copy = NULL;

	CALL(wanted, "cuGraphClone", P(&copy), P(graph));
	expect_node("cuGraphClone", wanted, graph, P(copy), 0);
	return copy;
}

/* ---- executable graphs ----------------------------------------------------------------------- */

static CUgraphExec instantiate(CUgraph graph, uint64_t flags, CUresult wanted)
{
	CUgraphExec exec = NULL;

	CALL(wanted, "cuGraphInstantiateWithFlags", P(&exec), P(graph), flags);
	expect_node("cuGraphInstantiateWithFlags", wanted, graph, P(exec), 0);
	return exec;
}

static CUgraphExec instantiate_with(const char *api, CUgraph graph, uint64_t flags, CUresult wanted)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = flags };
	CUgraphExec exec = NULL;

	CALL(wanted, api, P(&exec), P(graph), P(&params));
	expect_node(api, wanted, graph, P(exec), 0);
	return exec;
}

static void destroy_exec(CUgraphExec exec, CUresult wanted)
{
	CALL(wanted, "cuGraphExecDestroy", P(exec));
	EXPECT(.op = "memory", .api = "cuGraphExecDestroy", .result = wanted, .addr = HEX(exec));
}

static void update(const char *api, CUgraphExec exec, CUgraph graph, CUresult wanted)
{
	CUgraphExecUpdateResultInfo info;

	CALL(wanted, api, P(exec), P(graph), P(&info), P(&info));
	EXPECT(.op = "memory", .api = api, .result = wanted, .addr = HEX(exec));
}

static void updates(void)
{
	CUgraph graph = new_graph(), other = new_graph();
	CUgraphExec exec = instantiate(graph, 0, CUDA_SUCCESS);

	update("cuGraphExecUpdate_v2", exec, other, CUDA_SUCCESS);
	update("cuGraphExecUpdate", exec, other, CUDA_ERROR_NOT_SUPPORTED);
	add_any_empty(add_node, other);
	update("cuGraphExecUpdate_v2", exec, other, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	destroy_exec(exec, CUDA_SUCCESS);
	destroy_graph(other, CUDA_SUCCESS);
	destroy_graph(graph, CUDA_SUCCESS);
}

static void upload(const char *api, CUgraphExec exec, CUresult wanted)
{
	CUstream stream = rows_driver_stream();

	CALL(wanted, api, P(exec), P(stream));
	EXPECT(.op = "memory", .api = api, .result = wanted, .addr = HEX(exec),
	       .stream = HEX(stream));
}

static void launch(const char *api, CUgraphExec exec, const char *made, const char *ended)
{
	CUstream stream = rows_driver_stream();

	CALL(CUDA_SUCCESS, api, P(exec), P(stream));
	EXPECT(.op = "launch", .api = api, .addr = HEX(exec), .stream = HEX(stream), .made = made,
	       .ended = ended);
}

static void launch_in_vain(const char *api, CUgraphExec exec)
{
	CUstream stream = rows_driver_stream();

	CALL(invalid, api, P(exec), P(stream));
	EXPECT(.op = "launch", .api = api, .result = invalid, .addr = HEX(exec),
	       .stream = HEX(stream));
}

static void free_outside(CUdeviceptr addr, uint64_t size)
{
	const struct block block = { addr, size, "graph" };

	rows_driver_free("cuMemFree_v2", &block);
}

static void trim(int device, CUresult wanted)
{
	CALL(wanted, "cuDeviceGraphMemTrim", DIRTY(device));
	EXPECT(.op = "memory", .api = "cuDeviceGraphMemTrim", .result = wanted,
	       .device = DEC(device));
}

/* ---- a graph with children ------------------------------------------------------------------- */

enum { FIRST = 3001, SECOND = 5003, THIRD = 7001, FOURTH = 4001, FIFTH = 6007 };

/* What is live after a launch; the first two are freed by the graph. */
static CUdeviceptr third, fourth, fifth;

#define MADE AMOUNT("graph", 5, FIRST + SECOND + THIRD + FOURTH + FIFTH)

static CUgraph build(void)
{
	CUgraph graph = new_graph(), child = new_graph(), other = new_graph(), copy;
	CUdeviceptr first, second;

	clone(graph, CUDA_SUCCESS);
	first = add_alloc(graph, FIRST, CUDA_SUCCESS);
	add_alloc(graph, (1ull << 41) + 1, CUDA_ERROR_OUT_OF_MEMORY);
	second = add_any_alloc(add_node, graph, SECOND);
	third = add_any_alloc(add_node_v2, graph, THIRD);
	add_any_empty(add_node, graph);
	add_any_empty(add_node_v2, graph);
	add_free(graph, first, CUDA_SUCCESS);
	add_free(graph, first, invalid);
	add_any_free(add_node, graph, second);
	clone(graph, CUDA_ERROR_NOT_SUPPORTED);

	add_child(graph, child, CUDA_SUCCESS);
	fourth = add_alloc(child, FOURTH, CUDA_SUCCESS);
	add_child(graph, child, invalid);
	move_child(add_node_v2, graph, child);
	fifth = add_any_alloc(add_node_v3, other, FIFTH);
	move_child(add_node, graph, other);
	copy = clone((CUgraph)&first, invalid);
	destroy_graph(copy ? copy : child, invalid);
	return graph;
}

static void free_all(void)
{
	CUstream stream = rows_driver_stream();

	CALL(CUDA_SUCCESS, "cuMemFreeAsync", third, P(stream));
	EXPECT(.op = "free", .api = "cuMemFreeAsync", .addr = HEX(third), .size = DEC(THIRD),
	       .stream = HEX(stream), .space = "graph");
	free_outside(fourth, FOURTH);
	free_outside(fifth, FIFTH);
}

static void launches(CUgraph graph)
{
	static char host[16];
	CUgraphExec exec = instantiate(graph, 0, CUDA_SUCCESS);

	instantiate(graph, 1 << 10, invalid);
	upload("cuGraphUpload", exec, CUDA_SUCCESS);
	upload("cuGraphUpload_ptsz", exec, CUDA_SUCCESS);
	upload("cuGraphUpload", (CUgraphExec)&exec, invalid);
	launch("cuGraphLaunch", exec, MADE, AMOUNT("graph", 2, FIRST + SECOND));
	launch_in_vain("cuGraphLaunch", exec);
	launch_in_vain("cuGraphLaunch_ptsz", exec);
	CALL(CUDA_SUCCESS, "cuMemcpy", P(host), third + THIRD - 11, 11);
	EXPECT(.op = "copy", .api = "cuMemcpy", .addr = HEX(host), .src = HEX(third + THIRD - 11),
	       .size = "11", .direction = "DtoH");
	free_all();
	launch("cuGraphLaunch_ptsz", exec, MADE, AMOUNT("graph", 2, FIRST + SECOND));
	free_all();
	destroy_exec(exec, CUDA_SUCCESS);
	destroy_exec(exec, invalid);
}

static void automatic_frees(CUgraph graph)
{
	const uint64_t flag = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	const char *const forms[] = { "cuGraphInstantiateWithParams",
				      "cuGraphInstantiateWithParams_ptsz" };
	CUgraphExec exec;

	for (size_t i = 0; i <= MANY(forms); i++) {
		if (i < MANY(forms)) {
			instantiate_with(forms[i], graph, 1 << 11, invalid);
			exec = instantiate_with(forms[i], graph, flag, CUDA_SUCCESS);
		} else {
			exec = instantiate(graph, flag, CUDA_SUCCESS);
		}
		launch("cuGraphLaunch", exec, MADE, AMOUNT("graph", 2, FIRST + SECOND));
		launch("cuGraphLaunch_ptsz", exec, MADE,
		       AMOUNT("graph", 5, THIRD + FOURTH + FIFTH + FIRST + SECOND));
		free_outside(fourth, FOURTH);
		launch("cuGraphLaunch", exec, MADE,
		       AMOUNT("graph", 4, THIRD + FIFTH + FIRST + SECOND));
		free_all();
		destroy_exec(exec, CUDA_SUCCESS);
	}
}

/* ---- captures -------------------------------------------------------------------------------- */

static void begin(const char *api, CUstream stream, CUresult wanted)
{
	CALL(wanted, api, P(stream), DIRTY(CU_STREAM_CAPTURE_MODE_RELAXED));
	EXPECT(.op = "memory", .api = api, .result = wanted, .stream = HEX(stream));
}

static CUgraph end(const char *api, CUstream stream, CUresult wanted)
{
	CUgraph graph = NULL;

	CALL(wanted, api, P(stream), P(&graph));
	EXPECT(.op = "memory", .api = api, .result = wanted, .stream = HEX(stream),
	       .addr = graph ? HEX(graph) : UNKNOWN);
	return graph;
}

static CUdeviceptr allocate_async(const char *api, uint64_t size, CUmemoryPool pool,
				  CUstream stream, bool captured)
{
	CUdeviceptr addr = 0;

	CALL(CUDA_SUCCESS, api, P(&addr), size, P(pool ? (void *)pool : (void *)stream), P(stream));
	EXPECT(.op = "alloc", .api = api, .addr = HEX(addr), .size = DEC(size),
	       .stream = HEX(stream), .space = "pool", .captured = captured,
	       .backing = pool ? HEX(pool) : UNKNOWN);
	return addr;
}

static void free_captured(const char *api, CUdeviceptr addr, CUstream stream)
{
	CALL(CUDA_SUCCESS, api, addr, P(stream));
	EXPECT(.op = "free", .api = api, .addr = HEX(addr), .stream = HEX(stream),
	       .freed = "captured", .captured = true);
	CALL(invalid, api, addr, P(stream));
	EXPECT(.op = "free", .api = api, .result = invalid, .addr = HEX(addr),
	       .stream = HEX(stream));
}

/* Where memory will be that is not there yet. */
static void copy_captured(CUdeviceptr addr, CUstream stream)
{
	static char host[16];

	CALL(CUDA_SUCCESS, "cuMemcpyAsync", addr, P(host), 9, P(stream));
	EXPECT(.op = "copy", .api = "cuMemcpyAsync", .addr = HEX(addr), .src = HEX(host),
	       .size = "9", .stream = HEX(stream), .direction = "Default");
}

static void capture(const char *begin_api, const char *end_api, CUmemoryPool pool, uint64_t size)
{
	CUstream stream = rows_driver_stream();
	CUdeviceptr kept, freed;
	CUgraphExec exec;
	CUgraph graph;

	end(end_api, stream, CUDA_ERROR_ILLEGAL_STATE);
	begin(begin_api, stream, CUDA_SUCCESS);
	begin(begin_api, stream, CUDA_ERROR_ILLEGAL_STATE);
	freed = allocate_async("cuMemAllocAsync", size, NULL, stream, true);
	kept = allocate_async("cuMemAllocFromPoolAsync_ptsz", size + 2, pool, stream, true);
	copy_captured(freed, stream);
	free_captured("cuMemFreeAsync", freed, stream);
	graph = end(end_api, stream, CUDA_SUCCESS);
	exec = instantiate(graph, 0, CUDA_SUCCESS);
	launch("cuGraphLaunch", exec, AMOUNT("graph", 2, 2 * size + 2), AMOUNT("graph", 1, size));
	free_outside(kept, size + 2);
	destroy_exec(exec, CUDA_SUCCESS);
	destroy_graph(graph, CUDA_SUCCESS);
	destroy_graph(graph, invalid);
}

/* One that becomes nothing: what the stream is told afterwards it does. */
static void broken_capture(CUmemoryPool pool)
{
	CUstream stream = rows_driver_stream();
	struct block block = { .size = 9001, .space = "pool" };

	begin("cuStreamBeginCapture_v2", stream, CUDA_SUCCESS);
	allocate_async("cuMemAllocAsync", 9007, NULL, stream, true);
	CALL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamSynchronize", P(stream));
	EXPECT(.op = "sync", .api = "cuStreamSynchronize", .stream = HEX(stream),
	       .result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end("cuStreamEndCapture", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	block.addr = allocate_async("cuMemAllocFromPoolAsync", block.size, pool, stream, false);
	rows_driver_free("cuMemFree_v2", &block);
}

static void captures(void)
{
	static const struct {
		const char *begin, *end;
	} forms[] = {
		{ "cuStreamBeginCapture", "cuStreamEndCapture" },
		{ "cuStreamBeginCapture_ptsz", "cuStreamEndCapture_ptsz" },
		{ "cuStreamBeginCapture_v2", "cuStreamEndCapture" },
		{ "cuStreamBeginCapture_v2_ptsz", "cuStreamEndCapture_ptsz" },
	};
	CUmemoryPool pool = rows_driver_create_pool();

	/* The older form has another mode: meanwhile, nothing unsafe. */
	for (size_t i = 0; i < MANY(forms); i++)
		capture(forms[i].begin, forms[i].end, pool, 8009 + 1000 * i);
	broken_capture(pool);
	rows_driver_destroy_pool(pool);
}

/* ---- what the simulated driver cannot do ----------------------------------------------------- */

static void unsupported(CUgraph graph)
{
	static const char *const instantiations[] = { "cuGraphInstantiate",
						      "cuGraphInstantiate_v2" };
	static const char *const begins[] = { "cuStreamBeginCaptureToGraph",
					      "cuStreamBeginCaptureToGraph_ptsz" };
	const CUresult wanted = CUDA_ERROR_NOT_SUPPORTED;
	uint64_t untouched = 0x5a5a;

	for (size_t i = 0; i < MANY(instantiations); i++) {
		CALL(wanted, instantiations[i], P(&untouched), P(graph), 0, 0, 0);
		expect_node(instantiations[i], wanted, graph, 0, 0);
	}
	for (size_t i = 0; i < MANY(begins); i++) {
		CUstream stream = rows_driver_stream();

		CALL(wanted, begins[i], P(stream), P(graph), 0, 0, 0, DIRTY(2));
		EXPECT(.op = "memory", .api = begins[i], .result = wanted, .addr = HEX(graph),
		       .stream = HEX(stream));
	}
}

uint64_t rows_driver_leave(void)
{
	const uint64_t size = 12007;
	CUgraph graph = new_graph();
	CUgraphExec exec;

	add_alloc(graph, size, CUDA_SUCCESS);
	exec = instantiate(graph, 0, CUDA_SUCCESS);
	launch("cuGraphLaunch", exec, AMOUNT("graph", 1, size), NULL);
	destroy_exec(exec, CUDA_SUCCESS);
	destroy_graph(graph, CUDA_SUCCESS);
	return size;
}

void rows_driver_graphs(void)
{
	CUgraph graph = build();

	launches(graph);
	automatic_frees(graph);
	unsupported(graph);
	destroy_graph(graph, CUDA_SUCCESS);
	captures();
	updates();
	trim(0, CUDA_SUCCESS);
	trim(1, CUDA_SUCCESS);
	trim(9, CUDA_ERROR_INVALID_DEVICE);
}
