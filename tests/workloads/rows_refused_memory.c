// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_refused: arrays, memory of others, pools, batches, graphs.
 */
#include "rows_refused.h"

#include <string.h>

/* No header of the simulated CUDA has it, as it does nothing there. */
cudaError_t cudaStreamBeginCaptureToGraph(void);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* 5 bytes of an element, of no channel a whole number. */
static const struct cudaChannelFormatDesc odd = { 5, 6, 22, 7, cudaChannelFormatKindSigned };

static void expect_array(const char *api, uint64_t size)
{
	EXPECT(.op = "alloc", .api = api, .result = REFUSED, .size = DEC(size), .space = "array");
}

static void arrays(void)
{
	static const struct api api = { API(cudaMallocArray) };
	const struct cudaChannelFormatDesc none = { 8, 8, 0, 0, cudaChannelFormatKindNone };
	const struct cudaExtent extents[] = { { 3ull << 32, 211, 223 },
					      { 227, 3ull << 32, 229 },
					      { 233, 239, 3ull << 32 } };
	cudaArray_t array;

	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), P(&odd), 3ull << 32, 1051 });
	expect_array(api.name, (3ull << 32) * 1051 * 5);
	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), P(&odd), 1061, 5ull << 32 });
	expect_array(api.name, (5ull << 32) * 1061 * 5);
	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), P(&odd), 1063, 0 });
	expect_array(api.name, 1063 * 5);
	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), P(&none), 1063, 3 });
	EXPECT(.op = "alloc", .api = api.name, .result = REFUSED, .space = "array");

	/* An extent by value is passed in another way on every architecture. */
	for (size_t i = 0; i < MANY(extents); i++) {
		rows_check("cudaMalloc3DArray", REFUSED,
			   cudaMalloc3DArray(&array, &odd, extents[i], 7));
		expect_array("cudaMalloc3DArray",
			     extents[i].width * extents[i].height * extents[i].depth * 5);
	}
}

static void mipmaps(void)
{
	static const struct {
		struct cudaExtent extent;
		unsigned int levels, flags;
		uint64_t elements;
	} rows[] = {
		{ { 3ull << 32, 211, 223 }, 1, 0, (3ull << 32) * 211 * 223 },
		{ { 227, 3ull << 32, 229 },
		  2,
		  0,
		  227 * (3ull << 32) * 229 + 113 * (3ull << 31) * 114 },
		{ { 9, 5, 3ull << 32 },
		  3,
		  0,
		  45 * (3ull << 32) + 8 * (3ull << 31) + 2 * (3ull << 30) },
		{ { 9, 5, 3ull << 32 }, 3, cudaArrayLayered, (45 + 8 + 2) * (3ull << 32) },
	};
	cudaMipmappedArray_t array;

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_check("cudaMallocMipmappedArray", REFUSED,
			   cudaMallocMipmappedArray(&array, &odd, rows[i].extent, rows[i].levels,
						    rows[i].flags));
		expect_array("cudaMallocMipmappedArray", rows[i].elements * 5);
	}
}

/* ---- copies of arrays ------------------------------------------------------------------------ */

static void copies(void)
{
	static const struct {
		struct api api;
		unsigned int src, size; /* of rectangles the height follows */
		unsigned int kind, stream;
		bool rectangle;
	} rows[] = {
		{ { API(cudaMemcpyToArray) }, 3, 4, 5, NONE, false },
		{ { API(cudaMemcpyToArray_ptds) }, 3, 4, 5, NONE, false },
		{ { API(cudaMemcpyToArrayAsync) }, 3, 4, 5, 6, false },
		{ { API(cudaMemcpyToArrayAsync_ptsz) }, 3, 4, 5, 6, false },
		{ { API(cudaMemcpyFromArray) }, 1, 4, 5, NONE, false },
		{ { API(cudaMemcpyFromArray_ptds) }, 1, 4, 5, NONE, false },
		{ { API(cudaMemcpyFromArrayAsync) }, 1, 4, 5, 6, false },
		{ { API(cudaMemcpyFromArrayAsync_ptsz) }, 1, 4, 5, 6, false },
		{ { API(cudaMemcpyArrayToArray) }, 3, 6, 7, NONE, false },
		{ { API(cudaMemcpyArrayToArray_ptds) }, 3, 6, 7, NONE, false },
		{ { API(cudaMemcpy2DToArray) }, 3, 5, 7, NONE, true },
		{ { API(cudaMemcpy2DToArray_ptds) }, 3, 5, 7, NONE, true },
		{ { API(cudaMemcpy2DToArrayAsync) }, 3, 5, 7, 8, true },
		{ { API(cudaMemcpy2DToArrayAsync_ptsz) }, 3, 5, 7, 8, true },
		{ { API(cudaMemcpy2DFromArray) }, 2, 5, 7, NONE, true },
		{ { API(cudaMemcpy2DFromArray_ptds) }, 2, 5, 7, NONE, true },
		{ { API(cudaMemcpy2DFromArrayAsync) }, 2, 5, 7, 8, true },
		{ { API(cudaMemcpy2DFromArrayAsync_ptsz) }, 2, 5, 7, 8, true },
		{ { API(cudaMemcpy2DArrayToArray) }, 3, 6, 8, NONE, true },
		{ { API(cudaMemcpy2DArrayToArray_ptds) }, 3, 6, 8, NONE, true },
	};

	for (size_t i = 0; i < MANY(rows) * KINDS; i++) {
		unsigned int size = rows[i / KINDS].size, src = rows[i / KINDS].src;
		bool rectangle = rows[i / KINDS].rectangle;
		uint64_t args[ROWS_ARGS] = { ALL };

		args[rows[i / KINDS].kind] = DIRTY(i % KINDS);
		if (rectangle)
			args[size + i % 2] = 1069;
		rows_refused_call(&rows[i / KINDS].api, args);
		EXPECT(.op = "copy", .api = rows[i / KINDS].api.name, .result = REFUSED,
		       .addr = HEX(A(0)),
		       .size = DEC(rectangle ? args[size] * args[size + 1] : args[size]),
		       .src = HEX(A(src)), .stream = HANDLE(rows[i / KINDS].stream),
		       .direction = rows_refused_directions[i % KINDS]);
	}
}

/* ---- batches --------------------------------------------------------------------------------- */

/* What follows the sizes is not the same in every version of CUDA, so that it is not looked at. */
static void batches(void)
{
	static const struct api rows[] = {
		{ API(cudaMemcpyBatchAsync) },
		{ API(cudaMemcpyBatchAsync_ptsz) },
	};
	static const struct api rows_3d[] = {
		{ API(cudaMemcpy3DBatchAsync) },
		{ API(cudaMemcpy3DBatchAsync_ptsz) },
	};
	static const struct api single[] = {
		{ API(cudaMemcpyWithAttributesAsync) },
		{ API(cudaMemcpyWithAttributesAsync_ptsz) },
	};
	static const struct api single_3d[] = {
		{ API(cudaMemcpy3DWithAttributesAsync) },
		{ API(cudaMemcpy3DWithAttributesAsync_ptsz) },
	};
	const struct cudaMemcpy3DBatchOp op = {
		.src = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = (void *)0xf00000001 },
		.dst = { .type = cudaMemcpyOperandTypePointer, .op.ptr.ptr = (void *)0xf10000001 },
		.extent = { 3ull << 32, 5, 7 },
	};
	const uint64_t dsts[] = { 0xd00000001, 1 }, srcs[] = { 0xe00000001, 2 };
	const uint64_t sizes[] = { 3ull << 32, 1087, 1091 };

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call(&rows[i],
				  (const uint64_t[ROWS_ARGS]){ P(dsts), P(srcs), P(sizes), 3 - i,
							       A(4), A(5), A(6), A(7), A(8) });
		EXPECT(.op = "copy", .api = rows[i].name, .result = REFUSED, .addr = HEX(dsts[0]),
		       .size = DEC((3ull << 32) + 1087 + (i ? 0 : 1091)), .src = HEX(srcs[0]),
		       .direction = "HtoH");
	}
	for (size_t i = 0; i < MANY(single); i++) {
		rows_refused_call_all(&single[i]);
		EXPECT(.op = "copy", .api = single[i].name, .result = REFUSED, .addr = HEX(A(0)),
		       .size = DEC(A(2)), .src = HEX(A(1)), .stream = HANDLE(4),
		       .direction = "HtoH");
		rows_refused_call(&single_3d[i], (const uint64_t[ROWS_ARGS]){ P(&op), A(1), A(2) });
		EXPECT(.op = "copy", .api = single_3d[i].name, .result = REFUSED,
		       .addr = HEX(0xf10000001), .size = DEC((3ull << 32) * 35),
		       .src = HEX(0xf00000001), .stream = HANDLE(2), .direction = "HtoH");
	}
	for (size_t i = 0; i < MANY(rows_3d); i++) {
		rows_refused_call_all(&rows_3d[i]);
		EXPECT(.op = "copy", .api = rows_3d[i].name, .result = REFUSED,
		       .direction = "Default");
	}
}

static void prefetches(void)
{
	static const struct api rows[] = {
		{ API(cudaMemPrefetchAsync) },
		{ API(cudaMemPrefetchAsync_ptsz) },
	};
	static const struct api batch_rows[] = {
		{ API(cudaMemPrefetchBatchAsync) },
		{ API(cudaMemPrefetchBatchAsync_ptsz) },
		{ API(cudaMemDiscardAndPrefetchBatchAsync) },
		{ API(cudaMemDiscardAndPrefetchBatchAsync_ptsz) },
	};
	const uint64_t ptrs[] = { 0xd00000003, 1 }, sizes[] = { 5ull << 32, 1093, 1097 };

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i]);
		EXPECT(.op = "copy", .api = rows[i].name, .result = REFUSED, .addr = HEX(A(0)),
		       .size = DEC(A(1)), .direction = "migrate");
	}
	for (size_t i = 0; i < MANY(batch_rows); i++) {
		rows_refused_call(&batch_rows[i],
				  (const uint64_t[ROWS_ARGS]){ P(ptrs), P(sizes), 2 + i % 2, A(3),
							       A(4), A(5), A(6), A(7) });
		EXPECT(.op = "copy", .api = batch_rows[i].name, .result = REFUSED,
		       .addr = HEX(ptrs[0]), .size = DEC((5ull << 32) + 1093 + (i % 2 ? 1097 : 0)),
		       .direction = "migrate");
	}
}

/* ---- memory of others ------------------------------------------------------------------------ */

static void imports(void)
{
	static const struct api import = { API(cudaImportExternalMemory) };
	static const struct api map = { API(cudaExternalMemoryGetMappedBuffer) };
	const struct cudaExternalMemoryHandleDesc desc = { .size = (7ull << 32) + 1 };
	const struct cudaExternalMemoryBufferDesc buffer = { .offset = 1,
							     .size = (9ull << 32) + 2 };
	const cudaIpcMemHandle_t handle = { "whatever" };
	const cudaIpcEventHandle_t event_handle = { "whatever" };
	cudaEvent_t event;
	void *ptr;

	rows_check("cudaIpcOpenMemHandle", REFUSED, cudaIpcOpenMemHandle(&ptr, handle, 1));
	EXPECT(.op = "alloc", .api = "cudaIpcOpenMemHandle", .result = REFUSED, .space = "imported",
	       .live = "0", .backing = rows_handle_hash(&handle));
	rows_check("cudaIpcOpenEventHandle", REFUSED, cudaIpcOpenEventHandle(&event, event_handle));
	EXPECT(.op = "memory", .api = "cudaIpcOpenEventHandle", .result = REFUSED);
	rows_refused_call_with(&import, 1, P(&desc));
	EXPECT(.op = "alloc", .api = import.name, .result = REFUSED, .size = DEC(desc.size),
	       .space = "imported", .live = "0");
	rows_refused_call_with(&map, 2, P(&buffer));
	EXPECT(.op = "alloc", .api = map.name, .result = REFUSED, .size = DEC(buffer.size),
	       .space = "mapped", .live = "0", .backing = HEX(A(1)));
}

static void frees(void)
{
	static const struct api rows[] = {
		{ API(cudaFreeArray) },
		{ API(cudaFreeMipmappedArray) },
		{ API(cudaIpcCloseMemHandle) },
		{ API(cudaDestroyExternalMemory) },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i]);
		EXPECT(.op = "free", .api = rows[i].name, .result = REFUSED, .addr = HEX(A(0)));
	}
}

/* ---- calls about memory and graphs ----------------------------------------------------------- */

/* Which arguments are what. */
static void calls(void)
{
	static const struct {
		struct api api;
		unsigned int addr, size, graph, stream;
	} rows[] = {
		{ { API(cudaIpcGetMemHandle) }, 1, NONE, NONE, NONE },
		{ { API(cudaMemPoolCreate) }, NONE, NONE, NONE, NONE },
		{ { API(cudaMemPoolDestroy) }, 0, NONE, NONE, NONE },
		{ { API(cudaMemPoolTrimTo) }, 0, 1, NONE, NONE },
		{ { API(cudaDeviceSetLimit) }, NONE, 1, NONE, NONE },
		{ { API(cudaMemGetInfo) }, NONE, NONE, NONE, NONE },
		{ { API(cudaGetSymbolAddress) }, NONE, NONE, NONE, NONE },
		{ { API(cudaLibraryLoadData) }, NONE, NONE, NONE, NONE },
		{ { API(cudaLibraryLoadFromFile) }, NONE, NONE, NONE, NONE },
		{ { API(cudaLibraryUnload) }, 0, NONE, NONE, NONE },
		{ { API(cudaStreamCreate) }, NONE, NONE, NONE, NONE },
		{ { API(cudaStreamCreateWithFlags) }, NONE, NONE, NONE, NONE },
		{ { API(cudaStreamCreateWithPriority) }, NONE, NONE, NONE, NONE },
		{ { API(cudaStreamDestroy) }, 0, NONE, NONE, NONE },
		{ { API(cudaEventCreate) }, NONE, NONE, NONE, NONE },
		{ { API(cudaEventCreateWithFlags) }, NONE, NONE, NONE, NONE },
		{ { API(cudaEventDestroy) }, 0, NONE, NONE, NONE },
		{ { API(cudaGraphCreate) }, NONE, NONE, NONE, NONE },
		{ { API(cudaGraphUpload) }, 0, NONE, NONE, 1 },
		{ { API(cudaGraphUpload_ptsz) }, 0, NONE, NONE, 1 },
		{ { API(cudaGraphAddMemFreeNode) }, 4, NONE, 1, NONE },
		{ { API(cudaGraphAddChildGraphNode) }, 1, NONE, 4, NONE },
		{ { API(cudaGraphClone) }, NONE, NONE, 1, NONE },
		{ { API(cudaGraphInstantiate) }, NONE, NONE, 1, NONE },
		{ { API(cudaGraphInstantiateWithFlags) }, NONE, NONE, 1, NONE },
		{ { API(cudaGraphExecUpdate) }, 0, NONE, NONE, NONE },
		{ { API(cudaGraphExecDestroy) }, 0, NONE, NONE, NONE },
		{ { API(cudaGraphDestroy) }, 0, NONE, NONE, NONE },
		{ { API(cudaStreamBeginCapture) }, NONE, NONE, NONE, 0 },
		{ { API(cudaStreamBeginCapture_ptsz) }, NONE, NONE, NONE, 0 },
		{ { API(cudaStreamBeginCaptureToGraph) }, 1, NONE, NONE, 0 },
		{ { API(cudaStreamEndCapture) }, NONE, NONE, NONE, 0 },
		{ { API(cudaStreamEndCapture_ptsz) }, NONE, NONE, NONE, 0 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "memory", .api = rows[i].api.name, .result = REFUSED,
		       .addr = HANDLE(rows[i].addr),
		       .size = rows[i].size == NONE ? UNKNOWN : DEC(A(rows[i].size)),
		       .graph = HANDLE(rows[i].graph), .stream = HANDLE(rows[i].stream));
	}
}

static void pointed_to(void)
{
	static const struct api node = { API(cudaGraphAddMemAllocNode) };
	static const struct api instantiate[] = { { API(cudaGraphInstantiateWithParams) },
						  { API(cudaGraphInstantiateWithParams_ptsz) } };
	struct cudaMemAllocNodeParams alloc;
	cudaGraphInstantiateParams params;

	memset(&alloc, 0x5a, sizeof(alloc));
	alloc.bytesize = (11ull << 32) + 3;
	rows_refused_call_with(&node, 4, P(&alloc));
	EXPECT(.op = "memory", .api = node.name, .result = REFUSED, .size = DEC(alloc.bytesize),
	       .graph = HEX(A(1)));
	memset(&params, 0x5a, sizeof(params));
	for (size_t i = 0; i < MANY(instantiate); i++) {
		params.flags = (13ull << 32) + i;
		rows_refused_call_with(&instantiate[i], 2, P(&params));
		EXPECT(.op = "memory", .api = instantiate[i].name, .result = REFUSED,
		       .graph = HEX(A(1)));
	}
}

static void numbers(void)
{
	static const struct api attributes[] = { { API(cudaMemPoolGetAttribute) },
						 { API(cudaMemPoolSetAttribute) } };
	static const struct api current = { API(cudaDeviceSetMemPool) };
	static const struct api trim = { API(cudaDeviceGraphMemTrim) };
	static const struct {
		struct api api;
		unsigned int device; /* which argument */
	} devices[] = {
		{ { API(cudaGetDeviceProperties) }, 1 },
		{ { API(cudaDeviceGetPCIBusId) }, 2 },
	};
	static const struct api by_pci = { API(cudaDeviceGetByPCIBusId) };

	for (size_t i = 0; i < MANY(attributes); i++) {
		rows_refused_call_all(&attributes[i]);
		EXPECT(.op = "memory", .api = attributes[i].name, .result = REFUSED,
		       .addr = HEX(A(0)), .attribute = DEC((uint32_t)A(1)));
	}
	rows_refused_call_with(&current, 0, DIRTY(3));
	EXPECT(.op = "memory", .api = current.name, .result = REFUSED, .addr = HEX(A(1)),
	       .device = "3");
	rows_refused_call_with(&trim, 0, DIRTY(3));
	EXPECT(.op = "memory", .api = trim.name, .result = REFUSED, .device = "3");
	for (size_t i = 0; i < MANY(devices); i++) {
		rows_refused_call_with(&devices[i].api, devices[i].device, DIRTY(5));
		EXPECT(.op = "memory", .api = devices[i].api.name, .result = REFUSED,
		       .device = "5");
	}
	rows_refused_call_with(&by_pci, 1, P("0000:01:00.0\0\0\0"));
	EXPECT(.op = "memory", .api = by_pci.name, .result = REFUSED);
}

static void launches(void)
{
	static const struct api rows[] = {
		{ API(cudaGraphLaunch) },
		{ API(cudaGraphLaunch_ptsz) },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i]);
		EXPECT(.op = "launch", .api = rows[i].name, .result = REFUSED, .addr = HEX(A(0)),
		       .stream = HEX(A(1)));
	}
}

void rows_refused_memory(void)
{
	arrays();
	mipmaps();
	copies();
	batches();
	prefetches();
	imports();
	frees();
	calls();
	pointed_to();
	numbers();
	launches();
}
