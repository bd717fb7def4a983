/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: stream capture, kernels in graphs, and the rarer forms of a
 * launch.
 */
#include <string.h>

#include "selftest-graph.h"

static CUstream new_stream(void)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
	CUstreamCaptureStatus status;

	OK(cuStreamIsCapturing(stream, &status));
	return status;
}

static void test_capture(void)
{
	char in[64] = "captured", out[64] = "";
	CUstreamCaptureStatus status;
	const CUgraphNode *dependencies;
	const CUgraphEdgeData *edges;
	CUgraphNode nodes[8];
	CUgraphNodeType type;
	CUdeviceptr ptr, kept;
	size_t count = 8;
	CUfunction function;
	CUstream stream;
	CUgraphExec exec;
	CUgraph graph, same;
	uint64_t id;

	start();
	function = get_function();
	kept = allocate(64);
	stream = new_stream();
	FAILS(ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, 0));
	FAILS(INVALID_VALUE, cuStreamBeginCapture_v2(stream, 3));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(ILLEGAL_STATE, cuStreamBeginCapture(stream));
	CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE && !status_of(NULL));
	OK(cuMemAllocAsync(&ptr, 64, stream));
	OK(cuMemsetD8Async(ptr, 0, 64, stream));
	OK(cuMemcpyHtoDAsync_v2(ptr, in, 10, stream));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	OK(cuMemcpyDtoDAsync_v2(kept, ptr, 64, stream));
	OK(cuMemcpyDtoHAsync_v2(out, ptr, 64, stream));
	OK(cuMemFreeAsync(ptr, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(ptr, stream));
	FAILS(INVALID_VALUE, cuMemFreeAsync(kept, stream)); /* no graph's */
	FAILS(INVALID_VALUE, cuMemcpyHtoDAsync_v2(kept + 1, in, 64, stream));
	FAILS(INVALID_VALUE, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &same, &dependencies, &edges, &count));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && count == 1 && !edges->type);
	FAILS(INVALID_VALUE, cuGraphDestroy(same));
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(graph == same && !status_of(stream) && !*out && used() == 512);
	count = 8;
	OK(cuGraphGetNodes(graph, nodes, &count));
	CHECK(count == 7);
	OK(cuGraphNodeGetType(nodes[3], &type));
	CHECK(type == CU_GRAPH_NODE_TYPE_KERNEL);
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, stream));
	CHECK(!strcmp(out, "captured") && USED() == 0 && RESERVED() == 512);
	OK(cuMemcpyDtoH_v2(out, kept, 64));
	CHECK(!strcmp(out, "captured"));
	OK(cuMemAllocAsync(&ptr, 64, stream)); /* an ordinary one again */
	OK(cuMemFreeAsync(ptr, stream));
	OK(cuDevicePrimaryCtxReset_v2(0));
}

static void log_capture(const char *lines)
{
	static const char *const captured[] = {
		"cuMemAllocAsync", "cuMemsetD8Async",      "cuMemcpyHtoDAsync_v2",
		"cuLaunchKernel",  "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
		"cuMemFreeAsync",
	};
	char regex[256];

	for (size_t i = 0; i < sizeof(captured) / sizeof(*captured); i++) {
		snprintf(regex, sizeof(regex), START "%s result=0 .* graph=" ADDR " node=" ADDR " ",
			 captured[i]);
		CHECK(selftest_count(lines, regex) == 1);
	}
	CHECK(selftest_count(lines, " cuMemAllocAsync result=0 ") == 2);
	CHECK(selftest_count(lines, " graph:(alloc|free) .* size=64 ") == 2);
}

static void set_flag(void *flag)
{
	*(int *)flag = 1;
}

/* What of each kind of call becomes a node, that the test above does not have. */
static void test_capture_calls(void)
{
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcPitch = 8,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = 16,
			       .WidthInBytes = 8,
			       .Height = 2 };
	CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0 };
	CUcontext context = start();
	unsigned char out[32];
	int flag = 0;
	CUmemoryPool pool;
	CUgraph graph;
	size_t count;

	copy.srcDevice = allocate(16);
	copy.dstDevice = allocate(32);
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	config.hStream = new_stream();
	OK(cuMemsetD8_v2(copy.srcDevice, 1, 16));
	OK(cuMemsetD8_v2(copy.dstDevice, 2, 32));
	OK(cuStreamBeginCapture_v2(config.hStream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuLaunchKernelEx(&config, get_function(), NULL, NULL));
	OK(cuLaunchHostFunc(config.hStream, set_flag, &flag));
	OK(cuMemcpy2DAsync_v2(&copy, config.hStream));
	OK(cuMemcpyPeerAsync(copy.dstDevice + 8, context, copy.srcDevice, context, 4,
			     config.hStream));
	OK(cuMemsetD2D16Async(copy.dstDevice + 12, 16, 0x0303, 1, 2, config.hStream));
	OK(cuMemAllocFromPoolAsync(&copy.srcDevice, 100, pool, config.hStream));
	OK(cuStreamEndCapture(config.hStream, &graph));
	OK(cuGraphGetNodes(graph, NULL, &count));
	CHECK(count == 6);
	OK(cuMemcpyDtoH_v2(out, copy.dstDevice, 32));
	CHECK(out[0] == 2 && out[31] == 2 && !flag);
	OK(cuGraphLaunch(instantiate(graph, 0), config.hStream));
	CHECK(flag);
	OK(cuMemcpyDtoH_v2(out, copy.dstDevice, 32));
	CHECK(!memcmp(out, "\1\1\1\1\1\1\1\1\1\1\1\1\3\3\2\2\1\1\1\1\1\1\1\1\2\2\2\2\3\3\2\2", 32));
	OK(cuMemFreeAsync(copy.srcDevice, config.hStream)); /* outside: a free of the live memory */
	CHECK(USED() == 0 && USED_HIGH() == 512);
	OK(cuDevicePrimaryCtxReset_v2(0));
}

/* A batch becomes a node per copy; prefetches, and what cannot be written to, are refused. */
static void test_capture_batches(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { 1, 0 } };
	CUmemAccessDesc access = { { 1, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ };
	CUmemcpyAttributes attributes = { .srcAccessOrder = 1 };
	CUdeviceptr dsts[2], srcs[2], mapped, managed;
	size_t sizes[] = { 4, 3 }, first = 0, count;
	CUmemGenericAllocationHandle handle;
	char out[8] = "";
	CUstream stream;
	CUgraph graph;

	start();
	stream = new_stream();
	OK(cuMemCreate(&handle, 2 * MIB, &prop, 0));
	OK(cuMemAddressReserve(&mapped, 2 * MIB, 0, 0, 0));
	OK(cuMemMap(mapped, 2 * MIB, 0, handle, 0));
	OK(cuMemSetAccess(mapped, 2 * MIB, &access, 1));
	OK(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL));
	srcs[0] = allocate(8);
	dsts[0] = allocate(8);
	srcs[1] = srcs[0] + 4;
	dsts[1] = dsts[0] + 4;
	OK(cuMemcpyHtoD_v2(srcs[0], "batches", 8));
	OK(cuMemsetD8_v2(dsts[0], 0, 8));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, &attributes, &first, 1, stream));
	OK(cuMemcpyDtoDAsync_v2(dsts[0], mapped, 1, stream));
	FAILS(INVALID_VALUE, cuMemcpyDtoDAsync_v2(mapped, srcs[0], 1, stream));
	FAILS(INVALID_VALUE, cuMemsetD8Async(mapped, 1, 1, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphGetNodes(graph, NULL, &count));
	CHECK(count == 3);
	OK(cuGraphLaunch(instantiate(graph, 0), stream));
	OK(cuMemcpyDtoH_v2(out, dsts[0], 8));
	CHECK(!out[0] && !strcmp(out + 1, "atches"));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuMemPrefetchAsync(managed, 8, 0, stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuMemDiscardBatchAsync(&managed, sizes, 1, 0, stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuDevicePrimaryCtxReset_v2(0));
}

static void log_capture_batches(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemcpyBatchAsync_v2 result=0 .* size=7 stream=" ADDR
				    " graph=" ADDR " node=" ADDR " ") == 1);
}

static CUstream shared_stream;
static CUcontext shared_context;

static void elsewhere(unsigned int index)
{
	CUgraph graph;

	(void)index;
	OK(cuCtxSetCurrent(shared_context));
	FAILS(STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(shared_stream, &graph));
	allocate(1); /* of no concern to a capture of another thread, if local */
}

static void test_capture_failures(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream stream, other;
	CUgraphExec exec;
	CUdeviceptr ptr;
	CUevent event;
	CUgraph graph;

	shared_context = start();
	stream = shared_stream = new_stream();
	other = new_stream();
	OK(cuEventCreate(&event, 0));
	exec = instantiate(new_graph(), 0);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuEventRecord(event, stream));
	FAILS(CAPTURED_EVENT, cuEventQuery(event));
	FAILS(CAPTURED_EVENT, cuEventSynchronize(event));
	OK(cuStreamWaitEvent(stream, event, 0));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuStreamWaitEvent(other, event, 0));
	selftest_threads(1, elsewhere);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
	ptr = allocate(1);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuMemFree_v2(ptr));
	CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(STREAM_CAPTURE_INVALIDATED, cuMemsetD8Async(ptr, 1, 1, stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuMemAllocAsync(&ptr, 1, stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	CHECK(!graph && !status_of(stream));
	OK(cuStreamQuery(stream));
	OK(cuEventRecord(event, other));
	OK(cuEventQuery(event));

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	allocate(1);
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(exec, stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamSynchronize(stream));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&ptr, 1));
	FAILS(STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
	OK(cuStreamDestroy_v2(stream));
	OK(cuCtxSynchronize()); /* the capture went with it */
}

static void other_thread(unsigned int index)
{
	CUdeviceptr ptr;

	OK(cuCtxSetCurrent(shared_context));
	if (index)
		FAILS(STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&ptr, 1));
}

/* A capture stays alone with its addresses while the context it is in goes. */
static void test_capture_ends(void)
{
	CUcontext own;
	CUdeviceptr ptr;

	start();
	OK(cuCtxCreate_v2(&own, 0, 0));
	shared_context = own;
	shared_stream = new_stream();
	OK(cuStreamBeginCapture_v2(shared_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&ptr, MIB, shared_stream));
	selftest_threads(2, other_thread);
	OK(cuCtxDestroy_v2(own));
	allocate(1); /* no capture any more that would forbid it */
	CHECK(used() == 512);
	FAILS(INVALID_VALUE, cuMemFree_v2(ptr));
}

static void test_kernels(void)
{
	CUDA_KERNEL_NODE_PARAMS params = { .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 1,
					   .blockDimY = 1,
					   .blockDimZ = 1 };
	CUDA_KERNEL_NODE_PARAMS_v1 old;
	CUgraphExec exec;
	CUgraphNode node;
	CUmodule module;
	CUgraph graph;

	start();
	graph = new_graph();
	FAILS(INVALID_HANDLE, cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	params.func = get_function();
	OK(cuFuncGetModule(&module, params.func));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	memcpy(&old, &params, sizeof(old));
	OK(cuGraphAddKernelNode(&node, graph, &node, 1, &old));
	params.blockDimX = 1025;
	FAILS(INVALID_VALUE, cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	FAILS(INVALID_VALUE, cuGraphAddKernelNode_v2(&node, graph, NULL, 0, NULL));
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch_ptsz(exec, NULL));
	OK(cuModuleUnload(module));
	FAILS(INVALID_HANDLE, cuGraphLaunch(exec, NULL));
}

static void test_launch_forms(void)
{
	CUDA_LAUNCH_PARAMS list[2] = { { .gridDimX = 2,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1 } };
	unsigned int free_bytes, total_bytes;
	CUcontext own;

	start();
	list[0].function = get_function();
	list[0].hStream = new_stream();
	list[1] = list[0];
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(list, 2, 0)); /* one device */
	OK(cuCtxCreate_v2(&own, 0, 1));
	list[1].function = get_function();
	list[1].hStream = new_stream();
	OK(cuLaunchCooperativeKernelMultiDevice(list, 2, 3));
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(list, 2, 4));
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(list, 0, 0));
	list[1].gridDimX = 1;
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
	list[1].gridDimX = 2;
	list[1].function = NULL;
	FAILS(INVALID_HANDLE, cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
	list[1].hStream = NULL;
	FAILS(INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
	allocate(MIB);
	OK(cuMemGetInfo(&free_bytes, &total_bytes));
	CHECK(total_bytes == UINT32_MAX && free_bytes == UINT32_MAX);
	allocate((5ul << 30) - MIB);
	OK(cuMemGetInfo(&free_bytes, &total_bytes));
	CHECK(free_bytes == 3u << 30);
	OK(cuCtxDestroy_v2(own));
	OK(cuDevicePrimaryCtxReset_v2(0));
}

const struct selftest selftests[] = {
	{ "capture", test_capture, { NULL }, log_capture, 0 },
	{ "capture-calls", test_capture_calls, { NULL }, NULL, 0 },
	{ "capture-batches", test_capture_batches, { NULL }, log_capture_batches, 0 },
	{ "capture-failures", test_capture_failures, { NULL }, NULL, 0 },
	{ "capture-ends", test_capture_ends, { NULL }, NULL, 0 },
	{ "kernels", test_kernels, { NULL }, NULL, 0 },
	{ "launch-forms", test_launch_forms, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
