// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_standin: a driver that can do what the simulated one cannot: capture into a graph that there
 * is, old forms of instantiation, clones of graphs with memory, imports into pools, multicast
 * objects, formats of arrays, managed variables. Handles are what the addresses of these are.
 */
#include "rows_standin.h"
#include "simcuda.h"

static char graph, clone, exec, stream, pool, library;

#define GRAPH ((CUgraph)&graph)
#define CLONE ((CUgraph)&clone)
#define EXEC ((CUgraphExec)&exec)
#define STREAM ((CUstream)&stream)

#define KEPT 0x7b0000000000ull
#define FREED 0x7c0000000000ull
#define IMPORTED 0x7d0000000000ull
#define VARIABLE 0x7e0000000000ull
#define MULTICAST 0x1230000000ull

static uint64_t next_addr;

/* ---- functions ------------------------------------------------------------------------------- */

CUresult cuStreamBeginCaptureToGraph(CUstream s, CUgraph g, const CUgraphNode *dependencies,
				     const CUgraphEdgeData *edges, size_t count,
				     CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream s, CUgraph g, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *edges, size_t count,
					  CUstreamCaptureMode mode);
CUresult cuGraphInstantiate(CUgraphExec *e, CUgraph g, CUgraphNode *node, char *log, size_t size);
CUresult cuGraphInstantiate_v2(CUgraphExec *e, CUgraph g, CUgraphNode *node, char *log,
			       size_t size);
CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool p, void *data);
CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *size, CUlibrary l, const char *name);

static CUresult is(const void *got, const void *wanted)
{
	return got == wanted ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCaptureToGraph(CUstream s, CUgraph g, const CUgraphNode *dependencies,
				     const CUgraphEdgeData *edges, size_t count,
				     CUstreamCaptureMode mode)
{
	(void)g, (void)dependencies, (void)edges, (void)count, (void)mode;
	return is(s, STREAM);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream s, CUgraph g, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *edges, size_t count,
					  CUstreamCaptureMode mode)
{
	(void)s, (void)dependencies, (void)edges, (void)count, (void)mode;
	return is(g, GRAPH);
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
	*g = GRAPH;
	return is(s, STREAM);
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t size, CUstream s)
{
	*ptr = next_addr;
	return size ? is(s, STREAM) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream s)
{
	return ptr == FREED ? is(s, STREAM) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphClone(CUgraph *copy, CUgraph original)
{
	*copy = CLONE;
	return is(original, GRAPH);
}

CUresult cuGraphInstantiate(CUgraphExec *e, CUgraph g, CUgraphNode *node, char *log, size_t size)
{
	(void)node, (void)log, (void)size;
	*e = EXEC;
	return is(g, GRAPH);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *e, CUgraph g, CUgraphNode *node, char *log, size_t size)
{
	(void)node, (void)log, (void)size;
	*e = EXEC;
	return is(g, CLONE);
}

CUresult cuGraphLaunch(CUgraphExec e, CUstream s)
{
	return is(e, EXEC) ? CUDA_ERROR_INVALID_VALUE : is(s, STREAM);
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	return ptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool p, void *data)
{
	(void)data;
	*ptr = IMPORTED;
	return is(p, &pool);
}

CUresult cuMulticastCreate(uint64_t *handle, const void *properties);

CUresult cuMulticastCreate(uint64_t *handle, const void *properties)
{
	*handle = MULTICAST;
	return properties ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *size, CUlibrary l, const char *name)
{
	(void)name;
	*ptr = VARIABLE;
	*size = 1ull << 33;
	return is(l, &library);
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *shape)
{
	*array = (CUarray)&array;
	return shape->Width ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayDestroy(CUarray array)
{
	return array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void begin(const char *api, void *function)
{
	rows_call(api, function, 0,
		  (const uint64_t[ROWS_ARGS]){ P(STREAM), P(GRAPH), 0, 0, 0, DIRTY(2) });
	EXPECT(.op = "memory", .api = api, .addr = HEX(GRAPH), .stream = HEX(STREAM));
}

static void end(void)
{
	CUgraph got;

	CALL(cuStreamEndCapture, P(STREAM), P(&got));
	EXPECT(.op = "memory", .api = "cuStreamEndCapture", .addr = HEX(GRAPH),
	       .stream = HEX(STREAM));
}

static void allocate(uint64_t addr, uint64_t size)
{
	CUdeviceptr got;

	next_addr = addr;
	CALL(cuMemAllocAsync, P(&got), size, P(STREAM));
	EXPECT(.op = "alloc", .api = "cuMemAllocAsync", .addr = HEX(addr), .size = DEC(size),
	       .stream = HEX(STREAM), .space = "pool", .captured = true);
}

/* What instantiates `source` launches the same nodes. */
static void instantiate_and_launch(const char *api, void *function, CUgraph source)
{
	CUgraphExec got;

	rows_call(api, function, 0, (const uint64_t[ROWS_ARGS]){ P(&got), P(source), 0, 0, 77 });
	EXPECT(.op = "memory", .api = api, .addr = HEX(EXEC), .graph = HEX(source));
	CALL(cuGraphLaunch, P(EXEC), P(STREAM));
	EXPECT(.op = "launch", .api = "cuGraphLaunch", .addr = HEX(EXEC), .stream = HEX(STREAM),
	       .made = AMOUNT("graph", 2, 5001 + 6007), .ended = AMOUNT("graph", 1, 5001));
	CALL(cuMemFree_v2, KEPT);
	EXPECT(.op = "free", .api = "cuMemFree_v2", .addr = HEX(KEPT), .size = DEC(6007),
	       .space = "graph");
}

static void graphs(void)
{
	CUgraph got;

	begin("cuStreamBeginCaptureToGraph", (void *)cuStreamBeginCaptureToGraph);
	allocate(FREED, 5001);
	CALL(cuMemFreeAsync, FREED, P(STREAM));
	EXPECT(.op = "free", .api = "cuMemFreeAsync", .addr = HEX(FREED), .stream = HEX(STREAM),
	       .freed = "captured", .captured = true);
	end();
	begin("cuStreamBeginCaptureToGraph_ptsz", (void *)cuStreamBeginCaptureToGraph_ptsz);
	allocate(KEPT, 6007);
	end();
	CALL(cuGraphClone, P(&got), P(GRAPH));
	EXPECT(.op = "memory", .api = "cuGraphClone", .addr = HEX(CLONE), .graph = HEX(GRAPH));
	instantiate_and_launch("cuGraphInstantiate", (void *)cuGraphInstantiate, GRAPH);
	instantiate_and_launch("cuGraphInstantiate_v2", (void *)cuGraphInstantiate_v2, CLONE);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void imports(void)
{
	CUdeviceptr got;

	for (int i = 0; i < 2; i++) {
		CALL(cuMemPoolImportPointer, P(&got), P(&pool), P(&got));
		EXPECT(.op = "alloc", .api = "cuMemPoolImportPointer", .addr = HEX(IMPORTED),
		       .space = "imported", .live = "0");
	}
	for (int i = 0; i < 2; i++) {
		CALL(cuMemFree_v2, IMPORTED);
		EXPECT(.op = "free", .api = "cuMemFree_v2", .addr = HEX(IMPORTED),
		       .space = "imported", .freed = i ? "known" : "kept", .live = "0");
	}
}

static void multicast(void)
{
	uint64_t got;

	CALL(cuMulticastCreate, P(&got), P(&got));
	EXPECT(.op = "alloc", .api = "cuMulticastCreate", .addr = HEX(MULTICAST),
	       .space = "imported", .live = "0");
	CALL(cuMemRelease, MULTICAST);
	EXPECT(.op = "free", .api = "cuMemRelease", .addr = HEX(MULTICAST), .space = "imported",
	       .live = "0");
	rows_call("cuMulticastCreate", (void *)cuMulticastCreate, CUDA_ERROR_OUT_OF_MEMORY,
		  (const uint64_t[ROWS_ARGS]){ P(&got), 0 });
	EXPECT(.op = "alloc", .api = "cuMulticastCreate", .result = CUDA_ERROR_OUT_OF_MEMORY,
	       .space = "imported", .live = "0");
}

static void variables(void)
{
	CUdeviceptr got;
	size_t size;

	CALL(cuLibraryGetManaged, P(&got), P(&size), P(&library), 0);
	EXPECT(.op = "memory", .api = "cuLibraryGetManaged", .addr = HEX(VARIABLE),
	       .size = DEC(1ull << 33));
}

/* Bytes of an element; 0: there is no saying. */
static const struct {
	unsigned int format, channels, bytes;
} formats[] = {
	{ 0x01, 2, 2 },  { 0x02, 2, 4 }, { 0x03, 2, 8 },  { 0x08, 4, 4 }, { 0x09, 1, 2 },
	{ 0x0a, 4, 16 }, { 0x10, 4, 8 }, { 0x20, 4, 16 }, { 0x50, 4, 4 }, { 0xc0, 1, 1 },
	{ 0xc1, 2, 2 },  { 0xc2, 4, 4 }, { 0xc3, 1, 2 },  { 0xc4, 2, 4 }, { 0xc5, 4, 8 },
	{ 0xc6, 1, 1 },  { 0xc7, 2, 2 }, { 0xc8, 4, 4 },  { 0xc9, 1, 2 }, { 0xca, 2, 4 },
	{ 0xcb, 4, 8 },  { 0xb0, 3, 0 }, { 0x91, 4, 0 },  { 0x00, 1, 0 }, { 0x101, 1, 0 },
};

static void arrays(void)
{
	for (size_t i = 0; i < MANY(formats); i++) {
		const CUDA_ARRAY_DESCRIPTOR shape = { 60 + i, 3, (CUarray_format)formats[i].format,
						      formats[i].channels };
		const char *size =
			formats[i].bytes ? DEC((60 + i) * 3 * formats[i].bytes) : UNKNOWN;
		CUarray array;

		CALL(cuArrayCreate_v2, P(&array), P(&shape));
		EXPECT(.op = "alloc", .api = "cuArrayCreate_v2", .addr = HEX(array), .size = size,
		       .space = "array");
		CALL(cuArrayDestroy, P(array));
		EXPECT(.op = "free", .api = "cuArrayDestroy", .addr = HEX(array), .size = size,
		       .space = "array");
	}
}

void rows_standin_driver(void)
{
	graphs();
	imports();
	multicast();
	arrays();
	variables();
}
