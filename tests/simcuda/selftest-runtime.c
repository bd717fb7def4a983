/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the stand-in runtime. Built three times: with the shared library, with the static one,
 * and with CUDA_API_PER_THREAD_DEFAULT_STREAM.
 */
#include <pthread.h>
#include <string.h>

#include "selftest-runtime.h"

#define DEVICE_CODE(KERNEL12, KERNEL13, VARIABLE) KERNEL12(scale) KERNEL13(add) VARIABLE(table, 256)
SIMCUDART_MODULE(DEVICE_CODE)

static void test_errors(void)
{
	void *ptr;
	int version;

	CHECK(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
	CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
	OK(cudaRuntimeGetVersion(&version));
	CHECK(version == 13050);
	OK(cudaGetLastError());
	FAILS(MemoryAllocation, cudaMalloc(&ptr, 1ul << 60));
	OK(cudaMalloc(&ptr, 1));
	FAILS(MemoryAllocation, cudaPeekAtLastError());
	FAILS(MemoryAllocation, cudaGetLastError());
	OK(cudaGetLastError());
}

static void test_no_device(void)
{
	void *ptr;
	int count;

	FAILS(NoDevice, cudaGetDeviceCount(&count));
	FAILS(NoDevice, cudaMalloc(&ptr, 1));
	FAILS(NoDevice, cudaGetLastError());
}

#ifdef SELFTEST_STATIC /* with LD_LIBRARY_PATH gone, a shared runtime would not be found either */
static void test_no_driver(void)
{
	int version;
	void *ptr;

	FAILS(InsufficientDriver, cudaMalloc(&ptr, 1));
	FAILS(InsufficientDriver, cudaGetDeviceCount(&version));
	OK(cudaDriverGetVersion(&version));
	CHECK(version == 0);
}
#endif

static void test_memory(void)
{
	struct cudaPointerAttributes attributes;
	struct cudaPitchedPtr pitched;
	void *a, *b, *managed, *pinned;
	size_t pitch;
	char own[100];

	OK(cudaMalloc(&a, 0));
	CHECK(!a);
	OK(cudaFree(NULL));
	OK(cudaMalloc(&a, MIB));
	OK(cudaMallocPitch(&b, &pitch, 100, 10));
	CHECK(pitch == 512);
	OK(cudaMalloc3D(&pitched, (struct cudaExtent){ 513, 4, 2 }));
	CHECK(pitched.pitch == 1024 && pitched.xsize == 513 && pitched.ysize == 4);
	CHECK(used() == MIB + 512 * 10 + 1024 * 8);
	OK(cudaMallocManaged(&managed, 100, cudaMemAttachGlobal));
	OK(cudaPointerGetAttributes(&attributes, managed));
	CHECK(attributes.type == cudaMemoryTypeManaged && attributes.device == 0);
	OK(cudaMallocHost(&pinned, 100));
	OK(cudaPointerGetAttributes(&attributes, pinned));
	CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
	OK(cudaPointerGetAttributes(&attributes, own));
	CHECK(attributes.type == cudaMemoryTypeUnregistered && attributes.device == -2);
	OK(cudaHostRegister(own, sizeof(own), cudaHostRegisterDefault));
	OK(cudaHostUnregister(own));
	OK(cudaFreeHost(pinned));
	OK(cudaFree(managed));
	FAILS(InvalidValue, cudaFree(managed));
	OK(cudaFree(pitched.ptr));
	OK(cudaFree(b));
	OK(cudaFree(a));
	CHECK(used() == 0);
}

static void test_copies(void)
{
	char in[256], out[256] = { 0 };
	struct cudaMemcpy3DParms box = {
		.srcPtr = { in, 16, 16, 4 },
		.dstPtr = { out, 16, 16, 4 },
		.extent = { 16, 4, 4 },
		.kind = cudaMemcpyDefault,
	};
	void *a, *symbol;
	size_t size;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)i;
	OK(cudaMalloc(&a, 256));
	OK(cudaMemcpy(a, in, 256, cudaMemcpyHostToDevice));
	OK(cudaMemcpyAsync(out, a, 256, cudaMemcpyDefault, NULL));
	CHECK(!memcmp(in, out, 256));
	FAILS(InvalidMemcpyDirection, cudaMemcpy(a, in, 1, (enum cudaMemcpyKind)5));
	OK(cudaMemset(a, 7, 256));
	OK(cudaMemcpy2D(out, 16, a, 32, 16, 8, cudaMemcpyDeviceToHost));
	CHECK(out[127] == 7 && out[128] == in[128]);
	OK(cudaMemcpy3D(&box));
	CHECK(!memcmp(in, out, 256));
	OK(cudaMemcpyToSymbol(table, in, 100, 156, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaMemcpyToSymbol(table, in, 100, 157, cudaMemcpyHostToDevice));
	FAILS(InvalidSymbol, cudaMemcpyToSymbol(in, in, 1, 0, cudaMemcpyHostToDevice));
	OK(cudaMemcpyFromSymbol(out, table, 256, 0, cudaMemcpyDeviceToHost));
	CHECK(!out[155] && !memcmp(out + 156, in, 100));
	OK(cudaGetSymbolAddress(&symbol, table));
	OK(cudaGetSymbolSize(&size, table));
	CHECK(symbol && size == 256);
}

static void test_pool(void)
{
	struct cudaMemPoolProps props = {
		.allocType = cudaMemAllocationTypePinned,
		.location = { cudaMemLocationTypeDevice, 0 },
	};
	cudaMemPool_t pool;
	uint64_t value;
	void *a, *b;

	OK(cudaMemPoolCreate(&pool, &props));
	OK(cudaMallocAsync(&a, MIB, NULL));
	OK(cudaMallocFromPoolAsync(&b, 2 * MIB, pool, cudaStreamPerThread));
	OK(cudaFreeAsync(b, NULL));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
	CHECK(value == 2 * MIB);
	OK(cudaDeviceSynchronize());
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
	CHECK(value == 0);
	OK(cudaFreeAsync(a, NULL));
	OK(cudaMemPoolDestroy(pool));
}

static void test_streams(void)
{
	cudaEvent_t start, end;
	cudaStream_t stream;
	float milliseconds;

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
	OK(cudaEventRecord(start, stream));
	OK(cudaEventRecord(end, stream));
	OK(cudaStreamWaitEvent(stream, end, 0));
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&milliseconds, start, end));
	CHECK(milliseconds >= 0);
	OK(cudaStreamSynchronize(stream));
	OK(cudaEventDestroy(start));
	FAILS(InvalidResourceHandle, cudaEventQuery(start));
	OK(cudaStreamDestroy(stream));
	FAILS(InvalidResourceHandle, cudaStreamQuery(stream));
}

static void test_launches(void)
{
	dim3 grid = { 1, 2, 3 }, block = { 4, 5, 6 }, none = { 0, 1, 1 };
	cudaLaunchConfig_t config = { grid, block, 7, NULL, NULL, 0 };
	struct cudaFuncAttributes attributes;
	void *args[1] = { NULL };

	for (int i = 0; i < 2; i++) {
		CHECK(!simcudart_launch(scale, grid, block, 7, NULL, args));
		CHECK(!simcudart_launch(add, grid, block, 7, NULL, args));
	}
	OK(cudaGetLastError());
	OK(cudaLaunchKernelExC(&config, (const void *)scale, args));
	OK(cudaLaunchCooperativeKernel((const void *)add, grid, block, args, 0, NULL));
	FAILS(InvalidConfiguration,
	      cudaLaunchKernel((const void *)add, none, block, args, 0, NULL));
	FAILS(InvalidDeviceFunction, cudaLaunchKernel("no stub", grid, block, args, 0, NULL));
	OK(cudaFuncGetAttributes(&attributes, (const void *)scale));
	CHECK(attributes.maxThreadsPerBlock == 1024);
}

static void test_occupancy(void)
{
	int blocks;

	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)scale, 512, 0));
	CHECK(blocks == 4);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)add, 64, 0,
								  1));
	CHECK(blocks == 32);
	FAILS(InvalidDeviceFunction,
	      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, "no stub", 512, 0));
	FAILS(InvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
				    &blocks, (const void *)scale, 512, 0, 2));
}

static void log_occupancy(const char *lines)
{
	CHECK(selftest_count(lines, " cudaOccupancyMaxActiveBlocksPerMultiprocessor result=0 "
				    "stub=0x[0-9a-f]+ kernel=scale value=4 ") == 1);
	CHECK(selftest_count(lines,
			     " cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags result=0 "
			     "via=cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags .* "
			     "kernel=add flags=1 value=32 ") == 1);
}

/* Has no declaration: what it is called with does not matter. */
cudaError_t cudaUserObjectCreate(void);

static void test_not_supported(void)
{
	FAILS(NotSupported, cudaUserObjectCreate());
}

#define SHAPE " grid=1,2,3 block=4,5,6 shared=7 stream=0x0 "

static void log_launches(const char *lines)
{
	CHECK(selftest_count(lines, " __cudaRegisterFunction result=0 ") == 2);
	CHECK(selftest_count(lines, " cuLibraryLoadData ") == 1);
	CHECK(selftest_count(lines, " cuLibraryGetKernel result=0 via=cudaLaunchKernel" PTSZ " ") ==
	      1);
	CHECK(selftest_count(lines, " __cudaGetKernel result=0 handle=.* kernel=add ") == 1);
	CHECK(selftest_count(lines, " cudaLaunchKernel" PTSZ " result=0 kernel=scale .*" SHAPE) ==
	      2);
	CHECK(selftest_count(lines, " __cudaLaunchKernel" PTSZ " result=0 kernel=add .*" SHAPE) ==
	      2);
	CHECK(selftest_count(lines, " cuLaunchKernel" PTSZ " result=0 via=cudaLaunchKernel" PTSZ
				    " .* kernel=scale" SHAPE) == 2);
	CHECK(selftest_count(lines, " cuLaunchKernel" PTSZ " result=0 via=__cudaLaunchKernel" PTSZ
				    " .* kernel=add" SHAPE) == 2);
	CHECK(selftest_count(lines, " cuLaunchKernelEx" PTSZ " .* kernel=scale" SHAPE) == 1);
	CHECK(selftest_count(lines, " cuLaunchCooperativeKernel" PTSZ " .* kernel=add ") == 1);
	CHECK(selftest_count(lines, " cudaLaunchKernel" PTSZ " result=98 kernel=\\? ") == 1);
	CHECK(selftest_count(lines, " cuLibraryUnload result=0 via=__cudaUnregisterFatBinary ") ==
	      1);
}

/* What each runtime function reaches in the driver. */
static void test_reach(void)
{
	void *a, *b, *c, *d;
	cudaStream_t stream;
	char host[64];
	size_t pitch;

	OK(cudaMalloc(&a, 512));
	OK(cudaMallocPitch(&b, &pitch, 8, 8));
	OK(cudaMallocHost(&c, 64));
	OK(cudaHostAlloc(&d, 64, cudaHostAllocMapped));
	OK(cudaMemcpy(a, host, 64, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(host, a, 64, cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(a, b, 64, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(a, b, 64, cudaMemcpyDefault));
	OK(cudaMemcpyAsync(a, c, 64, cudaMemcpyHostToDevice, NULL));
	OK(cudaMemcpy2D(a, 8, b, pitch, 8, 8, cudaMemcpyDeviceToDevice));
	OK(cudaMemset(a, 1, 64));
	OK(cudaMemset2DAsync(b, pitch, 1, 8, 8, NULL));
	OK(cudaMallocAsync(&b, 64, NULL));
	OK(cudaFreeAsync(b, NULL));
	OK(cudaStreamCreate(&stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaFreeHost(c));
	OK(cudaFree(a));
	OK(cudaDeviceReset());
}

static void log_reach(const char *lines)
{
	static const char *const calls[][2] = {
		{ "cudaMalloc", "cuInit" },
		{ "cudaMalloc", "cuDevicePrimaryCtxRetain" },
		{ "cudaMalloc", "cuCtxSetCurrent" },
		{ "cudaMalloc", "cuMemAlloc_v2" },
		{ "cudaMallocPitch", "cuMemAllocPitch_v2" },
		{ "cudaMallocHost", "cuMemHostAlloc" },
		{ "cudaHostAlloc", "cuMemHostAlloc" },
		{ "cudaMemcpy" PTDS, "cuMemcpyHtoD_v2" PTDS },
		{ "cudaMemcpy" PTDS, "cuMemcpyDtoH_v2" PTDS },
		{ "cudaMemcpy" PTDS, "cuMemcpyDtoD_v2" PTDS },
		{ "cudaMemcpy" PTDS, "cuMemcpy" PTDS },
		{ "cudaMemcpyAsync" PTSZ, "cuMemcpyHtoDAsync_v2" PTSZ },
		{ "cudaMemcpy2D" PTDS, "cuMemcpy2DUnaligned_v2" PTDS },
		{ "cudaMemset" PTDS, "cuMemsetD8_v2" PTDS },
		{ "cudaMemset2DAsync" PTSZ, "cuMemsetD2D8Async" PTSZ },
		{ "cudaMallocAsync" PTSZ, "cuMemAllocAsync" PTSZ },
		{ "cudaFreeAsync" PTSZ, "cuMemFreeAsync" PTSZ },
		{ "cudaStreamCreate", "cuStreamCreate" },
		{ "cudaStreamSynchronize" PTSZ, "cuStreamSynchronize" PTSZ },
		{ "cudaFreeHost", "cuMemFreeHost" },
		{ "cudaFree", "cuMemFree_v2" },
		{ "cudaDeviceReset", "cuDevicePrimaryCtxReset_v2" },
	};
	char regex[256];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		snprintf(regex, sizeof(regex), " %s result=0 via=%s ", calls[i][1], calls[i][0]);
		CHECK(selftest_count(lines, regex) == 1);
	}
	CHECK(selftest_count(lines, " cudaMemcpy" PTDS " result=0 .* kind=4 direction=Default ") ==
	      1);
}

static void use_device_1(unsigned int index)
{
	int device;
	void *ptr;

	OK(cudaGetDevice(&device));
	CHECK(device == 0); /* of each new thread, whatever the others set */
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&ptr, MIB * (index + 1)));
}

static void test_devices(void)
{
	struct cudaDeviceProp properties;
	void *ptr;
	int count;

	OK(cudaGetDeviceCount(&count));
	CHECK(count == 2);
	FAILS(InvalidDevice, cudaSetDevice(2));
	OK(cudaInitDevice(1, 0, 0));
	selftest_threads(4, use_device_1);
	CHECK(used() == 0);
	OK(cudaSetDevice(1));
	CHECK(used() == 10 * MIB);
	OK(cudaDeviceReset());
	CHECK(used() == 0);
	OK(cudaMalloc(&ptr, 1));
	OK(cudaGetDeviceProperties(&properties, 1));
	CHECK(properties.totalGlobalMem == 8ul << 30 && properties.major == 9 &&
	      properties.warpSize == 32 && properties.pciBusID == 2);
}

static void first_call(unsigned int index)
{
	void *ptr;

	OK(cudaMalloc(&ptr, 1 + index));
	CHECK(!simcudart_launch(add, ((dim3){ 1, 1, 1 }), ((dim3){ 1, 1, 1 }), 0, NULL, NULL));
	OK(cudaGetLastError());
	OK(cudaFree(ptr));
}

static void test_threads(void)
{
	selftest_threads(16, first_call);
	CHECK(used() == 0);
}

static void log_threads(const char *lines)
{
	CHECK(selftest_count(lines, " cuDevicePrimaryCtxRetain ") == 1);
	CHECK(selftest_count(lines, " cuLibraryLoadData ") == 1);
	CHECK(selftest_count(lines, " __cudaGetKernel ") == 1);
	CHECK(selftest_count(lines, " cuLaunchKernel" PTSZ " ") == 16);
}

static uint64_t graph_memory(enum cudaGraphMemAttributeType attribute)
{
	uint64_t value;

	OK(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
	return value;
}

/* Each kind of node by its own function. */
static void test_graph_nodes(void)
{
	struct cudaMemAllocNodeParams alloc = {
		.poolProps.allocType = cudaMemAllocationTypePinned,
		.poolProps.location = { cudaMemLocationTypeDevice, 0 },
		.bytesize = MIB,
	};
	struct cudaKernelNodeParams kernel = { (void *)scale, { 1, 1, 1 }, { 32, 1, 1 }, 0, 0, 0 };
	struct cudaMemsetParams set = { .value = 7, .elementSize = 1, .width = 16, .height = 1 };
	struct cudaMemcpy3DParms copy = {
		.extent = { 16, 1, 1 },
		.kind = cudaMemcpyDeviceToHost,
	};
	cudaGraph_t graph, child, clone;
	char out[16] = "", line[16] = "";
	cudaGraphExec_t exec;
	cudaGraphNode_t node;

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphCreate(&child, 0));
	OK(cudaGraphAddKernelNode(&node, child, NULL, 0, &kernel));
	kernel.func = &kernel;
	FAILS(InvalidDeviceFunction, cudaGraphAddKernelNode(&node, child, NULL, 0, &kernel));
	OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
	set.dst = alloc.dptr;
	OK(cudaGraphAddMemsetNode(&node, graph, &node, 1, &set));
	copy.srcPtr = (struct cudaPitchedPtr){ alloc.dptr, 16, 16, 1 };
	copy.dstPtr = (struct cudaPitchedPtr){ out, 16, 16, 1 };
	OK(cudaGraphAddMemcpyNode(&node, graph, &node, 1, &copy));
	OK(cudaGraphAddMemcpyNode1D(&node, graph, &node, 1, line, alloc.dptr, 8,
				    cudaMemcpyDefault));
	FAILS(InvalidMemcpyDirection,
	      cudaGraphAddMemcpyNode1D(&node, graph, &node, 1, line, alloc.dptr, 8, 5));
	OK(cudaGraphAddChildGraphNode(&node, graph, &node, 1, child));
	OK(cudaGraphAddEmptyNode(&node, graph, &node, 1));
	OK(cudaGraphAddMemFreeNode(&node, graph, &node, 1, alloc.dptr));
	FAILS(NotSupported, cudaGraphClone(&clone, graph));
	OK(cudaGraphClone(&clone, child));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphUpload(exec, NULL));
	CHECK(used() == MIB && !out[0]);
	OK(cudaGraphLaunch(exec, NULL));
	CHECK(out[0] == 7 && out[15] == 7 && line[7] == 7 && !line[8]);
	CHECK(!graph_memory(cudaGraphMemAttrUsedMemCurrent) &&
	      graph_memory(cudaGraphMemAttrReservedMemCurrent) == MIB);
	OK(cudaDeviceGraphMemTrim(0));
	CHECK(used() == 0);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	FAILS(InvalidValue, cudaGraphLaunch(exec, NULL));
	OK(cudaGraphInstantiateWithFlags(&exec, clone, 0));
	OK(cudaGraphLaunch(exec, NULL));
}

/* The same by cudaGraphAddNode. */
static void test_graph_any_node(void)
{
	struct cudaGraphNodeParams params = { .type = cudaGraphNodeTypeMemAlloc };
	cudaGraphInstantiateParams instantiate = {
		.flags = cudaGraphInstantiateFlagAutoFreeOnLaunch
	};
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	cudaGraph_t graph;
	char out[4] = "";
	void *ptr;

	OK(cudaGraphCreate(&graph, 0));
	params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
	params.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
	params.alloc.bytesize = MIB;
	OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	ptr = params.alloc.dptr;
	CHECK(ptr);
	params = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeMemset };
	params.memset = (struct cudaMemsetParams){ ptr, 0, 0x01020304, 4, 1, 1 };
	OK(cudaGraphAddNode(&node, graph, &node, NULL, 1, &params));
	params = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeMemcpy };
	params.memcpy.copyParams = (struct cudaMemcpy3DParms){
		.srcPtr = { ptr, 4, 4, 1 },
		.dstPtr = { out, 4, 4, 1 },
		.extent = { 4, 1, 1 },
		.kind = cudaMemcpyDefault,
	};
	OK(cudaGraphAddNode(&node, graph, &node, NULL, 1, &params));
	params = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeKernel };
	params.kernel =
		(struct cudaKernelNodeParams){ (void *)add, { 1, 1, 1 }, { 1, 1, 1 }, 0, 0, 0 };
	OK(cudaGraphAddNode(&node, graph, &node, NULL, 1, &params));
	OK(cudaGraphInstantiateWithParams(&exec, graph, &instantiate));
	OK(cudaGraphLaunch(exec, NULL));
	OK(cudaGraphLaunch(exec, NULL));
	CHECK(!memcmp(out, "\4\3\2\1", 4) && used() == MIB);
	OK(cudaFree(ptr));
	OK(cudaGraphLaunch(exec, NULL));
	OK(cudaFreeAsync(ptr, NULL));
	FAILS(InvalidValue, cudaFreeAsync(ptr, NULL));
}

static void test_capture(void)
{
	enum cudaStreamCaptureStatus status;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	char out[4] = "";
	size_t count;
	void *ptr;

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	OK(cudaStreamIsCapturing(stream, &status));
	CHECK(status == cudaStreamCaptureStatusActive);
	OK(cudaMallocAsync(&ptr, 100, stream));
	OK(cudaMemsetAsync(ptr, 3, 100, stream));
	CHECK(!simcudart_launch(add, ((dim3){ 1, 1, 1 }), ((dim3){ 1, 1, 1 }), 0, stream, NULL));
	OK(cudaMemcpyAsync(out, ptr, 4, cudaMemcpyDeviceToHost, stream));
	OK(cudaFreeAsync(ptr, stream));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, &count));
	CHECK(count == 1);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphGetNodes(graph, NULL, &count));
	CHECK(count == 5 && !out[0] && used() == 0);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, stream));
	CHECK(out[0] == 3 && used() == 512);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	FAILS(StreamCaptureUnsupported, cudaMalloc(&ptr, 1));
	FAILS(StreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
}

static void log_capture(const char *lines)
{
	CHECK(selftest_count(lines, " cuGraphLaunch" PTSZ " result=0 via=cudaGraphLaunch" PTSZ
				    " exec=[^ ]* stream=[^ ]* allocs=1 frees=1 alloc_bytes=100"
				    " free_bytes=100 ") == 1);
	CHECK(selftest_count(lines, " graph:(alloc|free) result=0 via=cudaGraphLaunch" PTSZ
				    " addr=0x[0-9a-f]+ size=100 ") == 2);
	CHECK(selftest_count(lines, " cuMemAllocAsync" PTSZ " result=0 via=cudaMallocAsync" PTSZ
				    " addr=.* graph=.* node=") == 1);
	CHECK(selftest_count(lines, " cuStreamBeginCapture_v2" PTSZ " result=0 ") == 2);
}

static void test_faults(void)
{
	void *ptr;

	OK(cudaMalloc(&ptr, 1));
	FAILS(MemoryAllocation, cudaMalloc(&ptr, 1));
	OK(cudaMalloc(&ptr, 1));
	FAILS(MemoryAllocation, cudaMalloc(&ptr, 1)); /* in the driver */
}

static void log_faults(const char *lines)
{
	CHECK(selftest_count(lines, " cudaMalloc result=2 ") == 2);
	CHECK(selftest_count(lines, " cuMemAlloc_v2 result=2 via=cudaMalloc ") == 1);
	CHECK(selftest_count(lines, " cuMemAlloc_v2 ") == 3);
}

const struct selftest selftests[] = {
	{ "errors", test_errors, { NULL }, NULL, 0 },
	{ "no-device", test_no_device, { "SIMCUDA_DEVICES=0" }, NULL, 0 },
#ifdef SELFTEST_STATIC
	{ "no-driver", test_no_driver, { "LD_LIBRARY_PATH=" }, NULL, 0 },
#endif
	{ "memory", test_memory, { NULL }, NULL, 0 },
	{ "copies", test_copies, { NULL }, NULL, 0 },
	{ "arrays", test_arrays, { NULL }, log_arrays, 0 },
	{ "shared", test_shared, { NULL }, NULL, 0 },
	{ "batches", test_batches, { NULL }, log_batches, 0 },
	{ "pool", test_pool, { NULL }, NULL, 0 },
	{ "streams", test_streams, { NULL }, NULL, 0 },
	{ "launches", test_launches, { NULL }, log_launches, 0 },
	{ "occupancy", test_occupancy, { NULL }, log_occupancy, 0 },
	{ "not-supported", test_not_supported, { NULL }, NULL, 0 },
	{ "reach", test_reach, { NULL }, log_reach, 0 },
	{ "devices", test_devices, { "SIMCUDA_DEVICES=2" }, NULL, 0 },
	{ "threads", test_threads, { NULL }, log_threads, 0 },
	{ "graph-nodes", test_graph_nodes, { NULL }, NULL, 0 },
	{ "graph-any-node", test_graph_any_node, { NULL }, NULL, 0 },
	{ "capture", test_capture, { NULL }, log_capture, 0 },
	{ "faults",
	  test_faults,
	  { "SIMCUDA_FAIL=cudaMalloc:2=2,cuMemAlloc_v2:3=2" },
	  log_faults,
	  0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
