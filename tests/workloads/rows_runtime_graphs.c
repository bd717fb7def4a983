// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_runtime: graphs, the memory that they allocate, and captures. Graphs are made of memory
 * alone; nodes of other kinds have no rows.
 */
#include "rows_runtime.h"

static char host[4096];

static void expect(const char *api, const char *driver_api, const void *handle, const void *graph)
{
	EXPECT(.op = "memory", .api = api, .driver_api = driver_api, .addr = HEX(handle),
	       .graph = graph ? HEX(graph) : UNKNOWN);
}

static void expect_failure(const char *api, const char *driver_api, const void *handle,
			   const void *graph)
{
	EXPECT(.op = "memory", .api = api, .driver_api = driver_api,
	       .result = cudaErrorInvalidValue, .addr = handle ? HEX(handle) : UNKNOWN,
	       .graph = HEX(graph));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static cudaGraph_t new_graph(void)
{
	return rows_runtime_make(API(cudaGraphCreate), "cuGraphCreate", DIRTY(0), 0);
}

static void destroy(cudaGraph_t graph)
{
	CALL(cudaSuccess, cudaGraphDestroy, P(graph));
	expect("cudaGraphDestroy", "cuGraphDestroy", graph, NULL);
}

static struct cudaMemAllocNodeParams params_of(uint64_t size)
{
	return (struct cudaMemAllocNodeParams){
		.poolProps = { .allocType = cudaMemAllocationTypePinned,
			       .location = { cudaMemLocationTypeDevice, 0 } },
		.bytesize = size,
	};
}

static void *add_alloc(cudaGraph_t graph, uint64_t size)
{
	struct cudaMemAllocNodeParams params = params_of(size);
	cudaGraphNode_t node;

	CALL(cudaSuccess, cudaGraphAddMemAllocNode, P(&node), P(graph), 0, 0, P(&params));
	EXPECT(.op = "memory", .api = "cudaGraphAddMemAllocNode",
	       .driver_api = "cuGraphAddMemAllocNode", .addr = HEX(params.dptr), .size = DEC(size),
	       .graph = HEX(graph));
	return params.dptr;
}

static void add_free(cudaGraph_t graph, void *ptr)
{
	cudaGraphNode_t node;

	CALL(cudaSuccess, cudaGraphAddMemFreeNode, P(&node), P(graph), 0, 0, P(ptr));
	expect("cudaGraphAddMemFreeNode", "cuGraphAddMemFreeNode", ptr, graph);
}

static void add_in_vain(cudaGraph_t graph)
{
	struct cudaMemAllocNodeParams params = params_of(63001);
	cudaGraphNode_t node;

	CALL(cudaErrorInvalidValue, cudaGraphAddMemAllocNode, P(&node), P(graph), 0, 7, P(&params));
	EXPECT(.op = "memory", .api = "cudaGraphAddMemAllocNode",
	       .driver_api = "cuGraphAddMemAllocNode", .result = cudaErrorInvalidValue,
	       .size = "63001", .graph = HEX(graph));
	CALL(cudaErrorInvalidValue, cudaGraphAddMemFreeNode, P(&node), P(graph), 0, 0, P(host));
	expect_failure("cudaGraphAddMemFreeNode", "cuGraphAddMemFreeNode", host, graph);
}

/* cudaGraphAddNode has no row: the driver's function stands for itself. */
static void *add_any(cudaGraph_t graph, uint64_t size)
{
	struct cudaGraphNodeParams params = { .type = cudaGraphNodeTypeMemAlloc };
	cudaGraphNode_t node;
	void *ptr;

	params.alloc = params_of(size);
	NEED(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	ptr = params.alloc.dptr;
	EXPECT(.op = "memory", .api = "cuGraphAddNode_v2", .addr = HEX(ptr), .size = DEC(size),
	       .graph = HEX(graph));
	params = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeMemFree };
	params.free.dptr = ptr;
	NEED(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	expect("cuGraphAddNode_v2", NULL, ptr, graph);
	return ptr;
}

/* ---- executables ----------------------------------------------------------------------------- */

static void expect_executable(const char *api, const char *driver_api, cudaGraphExec_t exec,
			      cudaGraph_t graph)
{
	EXPECT(.op = "memory", .api = api, .driver_api = driver_api, .addr = HEX(exec),
	       .graph = HEX(graph));
}

static cudaGraphExec_t instantiate(cudaGraph_t graph, uint64_t flags)
{
	cudaGraphExec_t exec;

	CALL(cudaSuccess, cudaGraphInstantiate, P(&exec), P(graph), flags);
	expect_executable("cudaGraphInstantiate", "cuGraphInstantiateWithFlags", exec, graph);
	return exec;
}

static cudaGraphExec_t instantiate_with_flags(cudaGraph_t graph, uint64_t flags)
{
	cudaGraphExec_t exec;

	CALL(cudaSuccess, cudaGraphInstantiateWithFlags, P(&exec), P(graph), flags);
	expect_executable("cudaGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", exec,
			  graph);
	return exec;
}

static cudaGraphExec_t instantiate_with_params(cudaGraph_t graph, uint64_t flags)
{
	cudaGraphInstantiateParams params = { .flags = flags,
					      .uploadStream = rows_runtime_stream() };
	cudaGraphExec_t exec;

	CALL(cudaSuccess, cudaGraphInstantiateWithParams, P(&exec), P(graph), P(&params));
	expect_executable(NAME(cudaGraphInstantiateWithParams),
			  PTSZ("cuGraphInstantiateWithParams"), exec, graph);
	return exec;
}

static void upload(cudaGraphExec_t exec)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaGraphUpload, P(exec), P(stream));
	EXPECT(.op = "memory", .api = NAME(cudaGraphUpload), .driver_api = PTSZ("cuGraphUpload"),
	       .addr = HEX(exec), .stream = HEX(stream));
}

static void launch(cudaGraphExec_t exec, const char *made, const char *ended)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaGraphLaunch, P(exec), P(stream));
	EXPECT(.op = "launch", .api = NAME(cudaGraphLaunch), .driver_api = PTSZ("cuGraphLaunch"),
	       .addr = HEX(exec), .stream = HEX(stream), .made = made, .ended = ended);
}

static void end(cudaGraphExec_t exec, cudaGraph_t graph)
{
	CALL(cudaSuccess, cudaGraphExecDestroy, P(exec));
	expect("cudaGraphExecDestroy", "cuGraphExecDestroy", exec, NULL);
	destroy(graph);
}

/* What a launch has allocated and a call frees. */
static void free_async(void *ptr, uint64_t size)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaFreeAsync, P(ptr), P(stream));
	EXPECT(.op = "free", .api = NAME(cudaFreeAsync), .driver_api = PTSZ("cuMemFreeAsync"),
	       .addr = HEX(ptr), .size = DEC(size), .stream = HEX(stream), .space = "graph");
}

/* ---- what becomes of their memory ------------------------------------------------------------ */

static void freed_by_the_graph(void)
{
	cudaGraph_t graph = new_graph();
	cudaGraphExec_t exec;
	const uint64_t bytes = 64007 + 65003 + 66029;
	void *kept;

	add_free(graph, add_alloc(graph, 64007));
	kept = add_alloc(graph, 65003);
	add_in_vain(graph);
	add_free(graph, kept);
	add_any(graph, 66029);
	exec = instantiate(graph, 0);
	upload(exec);
	launch(exec, AMOUNT("graph", 3, bytes), AMOUNT("graph", 3, bytes));
	launch(exec, AMOUNT("graph", 3, bytes), AMOUNT("graph", 3, bytes));
	end(exec, graph);
}

static void freed_by_a_call(void)
{
	const uint64_t size = 67003;
	cudaGraph_t graph = new_graph();
	char *ptr = add_alloc(graph, size);
	cudaGraphExec_t exec = instantiate_with_params(graph, cudaGraphInstantiateFlagUpload);

	launch(exec, AMOUNT("graph", 1, size), NULL);
	rows_runtime_copy_default(ptr + 1000, host, "HtoD");
	free_async(ptr, size);
	launch(exec, AMOUNT("graph", 1, size), NULL);
	rows_runtime_copy_default(host, ptr, "DtoH");
	rows_runtime_free(ptr, size, "graph");
	end(exec, graph);
}

static void freed_by_the_next_launch(void)
{
	const uint64_t size = 68023;
	cudaGraph_t graph = new_graph();
	void *ptr = add_alloc(graph, size);
	cudaGraphExec_t exec =
		instantiate_with_flags(graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);

	launch(exec, AMOUNT("graph", 1, size), NULL);
	launch(exec, AMOUNT("graph", 1, size), AMOUNT("graph", 1, size));
	free_async(ptr, size);
	end(exec, graph);
}

/* ---- graphs of graphs ------------------------------------------------------------------------ */

static void add_child(cudaGraph_t graph, cudaGraph_t child)
{
	cudaGraphNode_t node;

	CALL(cudaSuccess, cudaGraphAddChildGraphNode, P(&node), P(graph), 0, 0, P(child));
	expect("cudaGraphAddChildGraphNode", "cuGraphAddChildGraphNode", graph, child);
	CALL(cudaErrorInvalidValue, cudaGraphAddChildGraphNode, P(&node), P(graph), 0, 0, P(host));
	expect_failure("cudaGraphAddChildGraphNode", "cuGraphAddChildGraphNode", graph, host);
}

static cudaGraph_t copy_of(cudaGraph_t graph)
{
	cudaGraph_t copy;

	CALL(cudaSuccess, cudaGraphClone, P(&copy), P(graph));
	expect("cudaGraphClone", "cuGraphClone", copy, graph);
	return copy;
}

static void families(void)
{
	cudaGraph_t graph = new_graph(), child = new_graph(), copy;
	cudaGraphExec_t exec;

	add_child(graph, child);
	copy = copy_of(graph);
	exec = instantiate(copy, 0);
	launch(exec, NULL, NULL);
	end(exec, copy);
	destroy(graph);
	destroy(child);
}

static void failures(void)
{
	const char *params_api = NAME(cudaGraphInstantiateWithParams);
	cudaGraphInstantiateParams params = { .flags = 1 };
	cudaGraphExec_t exec;
	cudaGraph_t copy;

	CALL(cudaErrorInvalidValue, cudaGraphClone, P(&copy), P(host));
	expect_failure("cudaGraphClone", "cuGraphClone", NULL, host);
	CALL(cudaErrorInvalidValue, cudaGraphDestroy, P(host));
	EXPECT(.op = "memory", .api = "cudaGraphDestroy", .driver_api = "cuGraphDestroy",
	       .result = cudaErrorInvalidValue, .addr = HEX(host));
	CALL(cudaErrorInvalidValue, cudaGraphInstantiateWithParams, P(&exec), P(host), P(&params));
	EXPECT(.op = "memory", .api = params_api,
	       .driver_api = PTSZ("cuGraphInstantiateWithParams"), .result = cudaErrorInvalidValue,
	       .graph = HEX(host));
}

/* ---- captures -------------------------------------------------------------------------------- */

static void begin(cudaStream_t stream, cudaError_t wanted)
{
	CALL(wanted, cudaStreamBeginCapture, P(stream), DIRTY(cudaStreamCaptureModeRelaxed));
	EXPECT(.op = "memory", .api = NAME(cudaStreamBeginCapture),
	       .driver_api = PTSZ("cuStreamBeginCapture_v2"), .result = wanted,
	       .stream = HEX(stream));
}

/* No header of the simulated CUDA has it, as it does nothing there. */
cudaError_t cudaStreamBeginCaptureToGraph(void);

static void begin_to_graph(cudaStream_t stream)
{
	CALL(cudaErrorNotSupported, cudaStreamBeginCaptureToGraph, P(stream), 0x71, 0, 0, 0,
	     DIRTY(cudaStreamCaptureModeRelaxed));
	EXPECT(.op = "memory", .api = "cudaStreamBeginCaptureToGraph",
	       .result = cudaErrorNotSupported, .addr = "0x71", .stream = HEX(stream));
}

static cudaGraph_t end_capture(cudaStream_t stream)
{
	cudaGraph_t graph;

	CALL(cudaSuccess, cudaStreamEndCapture, P(stream), P(&graph));
	EXPECT(.op = "memory", .api = NAME(cudaStreamEndCapture),
	       .driver_api = PTSZ("cuStreamEndCapture"), .addr = HEX(graph), .stream = HEX(stream));
	return graph;
}

static void *capture_alloc(uint64_t size, cudaStream_t stream)
{
	void *ptr;

	CALL(cudaSuccess, cudaMallocAsync, P(&ptr), size, P(stream));
	EXPECT(.op = "alloc", .api = NAME(cudaMallocAsync), .driver_api = PTSZ("cuMemAllocAsync"),
	       .addr = HEX(ptr), .size = DEC(size), .stream = HEX(stream), .space = "pool",
	       .captured = true);
	return ptr;
}

static void captures(void)
{
	cudaStream_t stream = rows_runtime_stream();
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	void *freed, *kept;

	begin(stream, cudaSuccess);
	freed = capture_alloc(69001, stream);
	kept = capture_alloc(70001, stream);
	CALL(cudaSuccess, cudaFreeAsync, P(freed), P(stream));
	EXPECT(.op = "free", .api = NAME(cudaFreeAsync), .driver_api = PTSZ("cuMemFreeAsync"),
	       .addr = HEX(freed), .stream = HEX(stream), .freed = "captured", .captured = true);
	graph = end_capture(stream);
	exec = instantiate(graph, 0);
	launch(exec, AMOUNT("graph", 2, 69001 + 70001), AMOUNT("graph", 1, 69001));
	free_async(kept, 70001);
	end(exec, graph);
}

/* ---- everything ------------------------------------------------------------------------------ */

static void trim(unsigned int device, cudaError_t wanted)
{
	CALL(wanted, cudaDeviceGraphMemTrim, DIRTY(device));
	EXPECT(.op = "memory", .api = "cudaDeviceGraphMemTrim",
	       .driver_api = "cuDeviceGraphMemTrim", .result = wanted, .device = DEC(device));
}

static void updates(void)
{
	cudaGraph_t graph = new_graph(), other = new_graph();
	cudaGraphExec_t exec = instantiate(graph, 0);
	cudaGraphExecUpdateResultInfo info;

	CALL(cudaSuccess, cudaGraphExecUpdate, P(exec), P(other), P(&info));
	EXPECT(.op = "memory", .api = "cudaGraphExecUpdate", .driver_api = "cuGraphExecUpdate_v2",
	       .addr = HEX(exec));
	destroy(other);
	end(exec, graph);
}

void rows_runtime_graphs(void)
{
	freed_by_the_graph();
	freed_by_a_call();
	freed_by_the_next_launch();
	families();
	failures();
	captures();
	begin_to_graph(rows_runtime_stream());
	updates();
	trim(1, cudaSuccess);
	trim(7, cudaErrorInvalidDevice);
}
