// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls every runtime function that bpf/probes.def has a row for while all of them fail before they
 * come to ask the driver (SIMCUDA_FAIL), and prints the events to expect. Elsewhere the driver's
 * values stand in for the runtime's; here the runtime's own arguments are all that can be shown.
 * Nobody looks at them, so they are whatever tells them apart.
 */
#include "rows_refused.h"

#include <string.h>

const char *const rows_refused_directions[KINDS] = { "HtoH", "HtoD", "DtoH", "DtoD", "HtoH" };

void rows_refused_call(const struct api *api, const uint64_t *args)
{
	rows_call(api->name, api->function, REFUSED, args);
}

void rows_refused_call_all(const struct api *api)
{
	rows_refused_call(api, (const uint64_t[ROWS_ARGS]){ ALL });
}

void rows_refused_call_with(const struct api *api, unsigned int n, uint64_t value)
{
	uint64_t args[ROWS_ARGS] = { ALL };

	args[n] = value;
	rows_refused_call(api, args);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void allocations(void)
{
	static const struct {
		struct api api;
		const char *space;
		unsigned int stream, pool;
	} rows[] = {
		{ { API(cudaMalloc) }, "device", NONE, NONE },
		{ { API(cudaMallocManaged) }, "managed", NONE, NONE },
		{ { API(cudaMallocHost) }, "pinned", NONE, NONE },
		{ { API(cudaHostAlloc) }, "pinned", NONE, NONE },
		{ { API(cudaMallocAsync) }, "pool", 2, NONE },
		{ { API(cudaMallocAsync_ptsz) }, "pool", 2, NONE },
		{ { API(cudaMallocFromPoolAsync) }, "pool", 3, 2 },
		{ { API(cudaMallocFromPoolAsync_ptsz) }, "pool", 3, 2 },
	};
	static const struct api host_register = { API(cudaHostRegister) };

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "alloc", .api = rows[i].api.name, .result = REFUSED, .size = DEC(A(1)),
		       .stream = HANDLE(rows[i].stream), .space = rows[i].space,
		       .backing = HANDLE(rows[i].pool));
	}
	rows_refused_call_all(&host_register);
	EXPECT(.op = "alloc", .api = host_register.name, .result = REFUSED, .addr = HEX(A(0)),
	       .size = DEC(A(1)), .space = "registered");
}

static void pitched(void)
{
	static const struct api api = { API(cudaMallocPitch) };

	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), A(1), 5ull << 32, 70003, A(4) });
	EXPECT(.op = "alloc", .api = api.name, .result = REFUSED, .size = DEC((5ull << 32) * 70003),
	       .space = "device");
	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(0), A(1), 70005, 7ull << 32, A(4) });
	EXPECT(.op = "alloc", .api = api.name, .result = REFUSED, .size = DEC((7ull << 32) * 70005),
	       .space = "device");
}

/* An extent by value is passed in another way on every architecture: not through rows_call(). */
static void boxed(void)
{
	static const struct cudaExtent extents[] = { { 3ull << 32, 211, 223 },
						     { 227, 3ull << 32, 229 },
						     { 233, 239, 3ull << 32 } };
	struct cudaPitchedPtr ptr = { (void *)A(0), A(1), A(2), A(3) };

	for (size_t i = 0; i < MANY(extents); i++) {
		rows_check("cudaMalloc3D", REFUSED, cudaMalloc3D(&ptr, extents[i]));
		EXPECT(.op = "alloc", .api = "cudaMalloc3D", .result = REFUSED,
		       .size = DEC(extents[i].width * extents[i].height * extents[i].depth),
		       .space = "device");
	}
}

static void frees(void)
{
	static const struct {
		struct api api;
		unsigned int stream;
	} rows[] = {
		{ { API(cudaFree) }, NONE },           { { API(cudaFreeHost) }, NONE },
		{ { API(cudaHostUnregister) }, NONE }, { { API(cudaFreeAsync) }, 1 },
		{ { API(cudaFreeAsync_ptsz) }, 1 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "free", .api = rows[i].api.name, .result = REFUSED, .addr = HEX(A(0)),
		       .stream = HANDLE(rows[i].stream));
	}
}

/* ---- copies and memsets ---------------------------------------------------------------------- */

static void copies_of_lines(void)
{
	static const struct {
		struct api api;
		unsigned int kind, stream;
	} rows[] = {
		{ { API(cudaMemcpy) }, 3, NONE },
		{ { API(cudaMemcpy_ptds) }, 3, NONE },
		{ { API(cudaMemcpyAsync) }, 3, 4 },
		{ { API(cudaMemcpyAsync_ptsz) }, 3, 4 },
		{ { API(cudaMemcpyToSymbol) }, 4, NONE },
		{ { API(cudaMemcpyToSymbol_ptds) }, 4, NONE },
		{ { API(cudaMemcpyToSymbolAsync) }, 4, 5 },
		{ { API(cudaMemcpyToSymbolAsync_ptsz) }, 4, 5 },
		{ { API(cudaMemcpyFromSymbol) }, 4, NONE },
		{ { API(cudaMemcpyFromSymbol_ptds) }, 4, NONE },
		{ { API(cudaMemcpyFromSymbolAsync) }, 4, 5 },
		{ { API(cudaMemcpyFromSymbolAsync_ptsz) }, 4, 5 },
	};

	for (size_t i = 0; i < MANY(rows) * KINDS; i++) {
		const struct api *api = &rows[i / KINDS].api;

		rows_refused_call_with(api, rows[i / KINDS].kind, DIRTY(i % KINDS));
		EXPECT(.op = "copy", .api = api->name, .result = REFUSED, .addr = HEX(A(0)),
		       .size = DEC(A(2)), .src = HEX(A(1)),
		       .stream = HANDLE(rows[i / KINDS].stream),
		       .direction = rows_refused_directions[i % KINDS]);
	}
}

static void copies_between_devices(void)
{
	static const struct {
		struct api api;
		unsigned int stream;
	} rows[] = {
		{ { API(cudaMemcpyPeer) }, NONE },
		{ { API(cudaMemcpyPeerAsync) }, 5 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "copy", .api = rows[i].api.name, .result = REFUSED, .addr = HEX(A(0)),
		       .size = DEC(A(4)), .src = HEX(A(2)), .stream = HANDLE(rows[i].stream),
		       .direction = "PtoP");
	}
}

/* (dst, dst_pitch, src, src_pitch, width, height, kind[, stream]) */
static void copies_2d(void)
{
	static const struct {
		struct api api;
		unsigned int stream;
	} rows[] = {
		{ { API(cudaMemcpy2D) }, NONE },
		{ { API(cudaMemcpy2D_ptds) }, NONE },
		{ { API(cudaMemcpy2DAsync) }, 7 },
		{ { API(cudaMemcpy2DAsync_ptsz) }, 7 },
	};
	const uint64_t sizes[][2] = { { 3ull << 32, 1013 }, { 1019, 5ull << 32 } };

	for (size_t i = 0; i < MANY(rows) * KINDS; i++) {
		const struct api *api = &rows[i / KINDS].api;
		const uint64_t *size = sizes[i % 2];

		rows_refused_call(api,
				  (const uint64_t[ROWS_ARGS]){ A(0), A(1), A(2), A(3), size[0],
							       size[1], DIRTY(i % KINDS), A(7) });
		EXPECT(.op = "copy", .api = api->name, .result = REFUSED, .addr = HEX(A(0)),
		       .size = DEC(size[0] * size[1]), .src = HEX(A(2)),
		       .stream = HANDLE(rows[i / KINDS].stream),
		       .direction = rows_refused_directions[i % KINDS]);
	}
}

/* `array`: the destination is one, whose elements only the driver can measure. */
static void copy_3d(const struct api *api, unsigned int stream, struct cudaExtent extent,
		    enum cudaMemcpyKind kind, bool array)
{
	struct cudaMemcpy3DParms params;

	memset(&params, 0x5a, sizeof(params)); /* the gaps, too */
	params.srcArray = NULL;
	params.dstArray = array ? (void *)A(7) : NULL;
	params.srcPtr.ptr = (void *)A(5);
	params.dstPtr.ptr = (void *)A(6);
	params.extent = extent;
	params.kind = kind;
	rows_refused_call_with(api, 0, P(&params));
	EXPECT(.op = "copy", .api = api->name, .result = REFUSED, .addr = HEX(A(array ? 7 : 6)),
	       .size = array ? UNKNOWN : DEC(extent.width * extent.height * extent.depth),
	       .src = HEX(A(5)), .stream = HANDLE(stream),
	       .direction = rows_refused_directions[kind]);
}

static void copies_3d(void)
{
	static const struct {
		struct api api;
		unsigned int stream;
	} rows[] = {
		{ { API(cudaMemcpy3D) }, NONE },
		{ { API(cudaMemcpy3D_ptds) }, NONE },
		{ { API(cudaMemcpy3DAsync) }, 1 },
		{ { API(cudaMemcpy3DAsync_ptsz) }, 1 },
	};
	const struct cudaExtent extents[] = { { 3ull << 32, 101, 103 },
					      { 107, 3ull << 32, 109 },
					      { 113, 127, 3ull << 32 } };

	for (size_t i = 0; i < MANY(rows) * KINDS; i++)
		copy_3d(&rows[i / KINDS].api, rows[i / KINDS].stream, extents[i % KINDS % 3],
			i % KINDS, false);
	for (size_t i = 0; i < MANY(rows); i++)
		copy_3d(&rows[i].api, rows[i].stream, extents[0], cudaMemcpyHostToDevice, true);
}

static void memsets(void)
{
	static const struct {
		struct api api;
		unsigned int width; /* and behind it the height */
		unsigned int stream;
	} rows[] = {
		{ { API(cudaMemset) }, NONE, NONE },   { { API(cudaMemset_ptds) }, NONE, NONE },
		{ { API(cudaMemsetAsync) }, NONE, 3 }, { { API(cudaMemsetAsync_ptsz) }, NONE, 3 },
		{ { API(cudaMemset2D) }, 3, NONE },    { { API(cudaMemset2D_ptds) }, 3, NONE },
		{ { API(cudaMemset2DAsync) }, 3, 5 },  { { API(cudaMemset2DAsync_ptsz) }, 3, 5 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		bool line = rows[i].width == NONE;

		rows_refused_call_with(&rows[i].api, 4, 1031);
		EXPECT(.op = "memset", .api = rows[i].api.name, .result = REFUSED,
		       .addr = HEX(A(0)), .size = DEC(line ? A(2) : A(3) * 1031),
		       .stream = HANDLE(rows[i].stream));
		if (line)
			continue;
		rows_refused_call_with(&rows[i].api, 3, 1033);
		EXPECT(.op = "memset", .api = rows[i].api.name, .result = REFUSED,
		       .addr = HEX(A(0)), .size = DEC(A(4) * 1033),
		       .stream = HANDLE(rows[i].stream));
	}
}

/* ---- launches, synchronisation, devices ------------------------------------------------------ */

static const uint32_t grid[] = { 0xfffffff1, 0xfffffff2, 0xfffffff3 };
static const uint32_t block[] = { 0xfffffff4, 0xfffffff5, 0xfffffff6 };

static void expect_launch(const char *api, uint64_t stub, uint64_t stream)
{
	EXPECT(.op = "launch", .api = api, .result = REFUSED, .addr = HEX(stub),
	       .stream = HEX(stream), .grid = DIMS(grid), .block = DIMS(block), .shared = "1039");
}

static void launches(void)
{
	static const struct api rows[] = {
		{ API(cudaLaunchKernel) },
		{ API(cudaLaunchKernel_ptsz) },
		{ API(__cudaLaunchKernel) },
		{ API(__cudaLaunchKernel_ptsz) },
		{ API(cudaLaunchCooperativeKernel) },
		{ API(cudaLaunchCooperativeKernel_ptsz) },
	};

	/* A dim3 by value is two registers, of the second only half. */
	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call(&rows[i],
				  (const uint64_t[ROWS_ARGS]){
					  A(0), (uint64_t)grid[1] << 32 | grid[0], DIRTY(grid[2]),
					  (uint64_t)block[1] << 32 | block[0], DIRTY(block[2]),
					  A(5), 1039, A(7) });
		expect_launch(rows[i].name, A(0), A(7));
	}
}

/* A kernel called by_X has its name from function X alone. */
static void launch_registered(void)
{
	static const struct api api = { API(cudaLaunchKernel) };
	char device_function[] = "not this one";

	__cudaRegisterFunction(NULL, (const char *)A(9), device_function,
			       "by___cudaRegisterFunction", -1, NULL, NULL, NULL, NULL, NULL);
	rows_refused_call(&api, (const uint64_t[ROWS_ARGS]){ A(9), 2ull << 32 | 1, DIRTY(3),
							     5ull << 32 | 4, DIRTY(6), A(5), 1041,
							     A(7) });
	EXPECT(.op = "launch", .api = api.name, .result = REFUSED, .addr = HEX(A(9)),
	       .stream = HEX(A(7)), .kernel = "by___cudaRegisterFunction", .grid = "1,2,3",
	       .block = "4,5,6", .shared = "1041");
}

static void launches_ex(void)
{
	static const struct api rows[] = { { API(cudaLaunchKernelExC) },
					   { API(cudaLaunchKernelExC_ptsz) } };
	const cudaLaunchConfig_t config = {
		.gridDim = { grid[0], grid[1], grid[2] },
		.blockDim = { block[0], block[1], block[2] },
		.dynamicSmemBytes = 1039,
		.stream = (cudaStream_t)A(5),
		.attrs = (cudaLaunchAttribute *)A(6),
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_with(&rows[i], 0, P(&config));
		expect_launch(rows[i].name, A(1), A(5));
	}
}

static void syncs(void)
{
	static const struct {
		struct api api;
		unsigned int handle, stream;
	} rows[] = {
		{ { API(cudaDeviceSynchronize) }, NONE, NONE },
		{ { API(cudaStreamSynchronize) }, NONE, 0 },
		{ { API(cudaStreamSynchronize_ptsz) }, NONE, 0 },
		{ { API(cudaEventSynchronize) }, 0, NONE },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "sync", .api = rows[i].api.name, .result = REFUSED,
		       .addr = HANDLE(rows[i].handle), .stream = HANDLE(rows[i].stream));
	}
}

static void devices(void)
{
	static const struct {
		struct api api;
		unsigned int device;
	} rows[] = {
		{ { API(cudaSetDevice) }, 0 },
		{ { API(cudaInitDevice) }, 0 },
		{ { API(cudaDeviceReset) }, NONE },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		rows_refused_call_all(&rows[i].api);
		EXPECT(.op = "context", .api = rows[i].api.name, .result = REFUSED,
		       .device = rows[i].device == NONE ? UNKNOWN : DEC((uint32_t)A(0)));
	}
}

int main(void)
{
	allocations();
	pitched();
	boxed();
	frees();
	copies_of_lines();
	copies_between_devices();
	copies_2d();
	copies_3d();
	memsets();
	launches();
	launches_ex();
	launch_registered();
	syncs();
	devices();
	rows_refused_memory();
	return 0;
}
