// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_runtime: arrays, and copies to, from and between them.
 */
#include "rows_runtime.h"

/* Bytes of an element: 4. */
static const struct cudaChannelFormatDesc pixel = { 8, 8, 8, 8, cudaChannelFormatKindUnsigned };

#define ROW_BYTES 256 /* of the arrays that are copied */
#define ROWS 64
#define PITCH 300

static char host[64 << 10];

/* ---- life and death -------------------------------------------------------------------------- */

static void expect_array(const char *api, const char *driver_api, const void *array, uint64_t size,
			 cudaError_t result)
{
	EXPECT(.op = "alloc", .api = api, .driver_api = driver_api, .result = result,
	       .addr = result == cudaSuccess ? HEX(array) : UNKNOWN, .size = DEC(size),
	       .space = "array");
}

static void free_array(const char *api, void *function, const char *driver_api, const void *array,
		       uint64_t size)
{
	const cudaError_t gone = cudaErrorInvalidResourceHandle;

	rows_call(api, function, cudaSuccess, (uint64_t[ROWS_ARGS]){ P(array) });
	EXPECT(.op = "free", .api = api, .driver_api = driver_api, .addr = HEX(array),
	       .size = DEC(size), .space = "array");
	rows_call(api, function, gone, (uint64_t[ROWS_ARGS]){ P(array) });
	EXPECT(.op = "free", .api = api, .driver_api = driver_api, .result = gone,
	       .addr = HEX(array));
}

static void free_plain(cudaArray_t array, uint64_t size)
{
	free_array(API(cudaFreeArray), "cuArrayDestroy", array, size);
}

static cudaArray_t allocate(const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
			    uint64_t size, cudaError_t wanted)
{
	cudaArray_t array = NULL;

	CALL(wanted, cudaMallocArray, P(&array), P(desc), width, height, DIRTY(0));
	expect_array("cudaMallocArray",
		     wanted == cudaErrorInvalidChannelDescriptor ? NULL : "cuArray3DCreate_v2",
		     array, size, wanted);
	return array;
}

/* An extent by value is passed differently on every architecture: not through rows_call(). */
static cudaArray_t allocate_3d(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			       uint64_t size, cudaError_t wanted)
{
	cudaArray_t array = NULL;

	rows_check("cudaMalloc3DArray", wanted, cudaMalloc3DArray(&array, desc, extent, 0));
	expect_array("cudaMalloc3DArray", "cuArray3DCreate_v2", array, size, wanted);
	return array;
}

static cudaMipmappedArray_t allocate_levels(struct cudaExtent extent, unsigned int levels,
					    unsigned int flags, uint64_t size, cudaError_t wanted)
{
	cudaMipmappedArray_t array = NULL;

	rows_check("cudaMallocMipmappedArray", wanted,
		   cudaMallocMipmappedArray(&array, &pixel, extent, levels, flags));
	expect_array("cudaMallocMipmappedArray", "cuMipmappedArrayCreate", array, size, wanted);
	return array;
}

static void free_levels(cudaMipmappedArray_t array, uint64_t size)
{
	free_array(API(cudaFreeMipmappedArray), "cuMipmappedArrayDestroy", array, size);
}

static void arrays(void)
{
	static const struct {
		struct cudaChannelFormatDesc desc;
		unsigned int bytes;
	} kinds[] = {
		{ { 8, 0, 0, 0, cudaChannelFormatKindSigned }, 1 },
		{ { 16, 16, 0, 0, cudaChannelFormatKindSigned }, 4 },
		{ { 32, 32, 32, 32, cudaChannelFormatKindUnsigned }, 16 },
		{ { 16, 0, 0, 0, cudaChannelFormatKindFloat }, 2 },
		{ { 32, 32, 0, 0, cudaChannelFormatKindFloat }, 8 },
	};
	const struct cudaChannelFormatDesc odd = { 8, 16, 0, 0, cudaChannelFormatKindSigned };

	for (size_t i = 0; i < MANY(kinds); i++) {
		const struct cudaChannelFormatDesc *desc = &kinds[i].desc;
		uint64_t bytes = kinds[i].bytes;

		free_plain(allocate(desc, 61, 0, 61 * bytes, cudaSuccess), 61 * bytes);
		free_plain(allocate(desc, 67, 13, 67 * 13 * bytes, cudaSuccess), 67 * 13 * bytes);
		free_plain(allocate_3d(desc, (struct cudaExtent){ 71, 0, 0 }, 71 * bytes,
				       cudaSuccess),
			   71 * bytes);
		free_plain(allocate_3d(desc, (struct cudaExtent){ 73, 11, 0 }, 73 * 11 * bytes,
				       cudaSuccess),
			   73 * 11 * bytes);
		free_plain(allocate_3d(desc, (struct cudaExtent){ 79, 11, 7 }, 79 * 11 * 7 * bytes,
				       cudaSuccess),
			   79 * 11 * 7 * bytes);
	}
	allocate(&odd, 83, 5, 83 * 5 * 3, cudaErrorInvalidChannelDescriptor);
	allocate(&pixel, 0, 5, 5 * 4, cudaErrorInvalidValue);
	allocate_3d(&pixel, (struct cudaExtent){ 0, 89, 7 }, 89 * 7 * 4, cudaErrorInvalidValue);
}

static void mipmaps(void)
{
	static const struct {
		struct cudaExtent extent;
		unsigned int levels, flags;
		uint64_t elements;
	} rows[] = {
		{ { 67, 0, 0 }, 1, 0, 67 },
		{ { 67, 9, 0 }, 4, 0, 67 * 9 + 33 * 4 + 16 * 2 + 8 },
		{ { 67, 9, 5 }, 3, 0, 67 * 9 * 5 + 33 * 4 * 2 + 16 * 2 },
		{ { 67, 9, 5 }, 3, cudaArrayLayered, (67 * 9 + 33 * 4 + 16 * 2) * 5 },
	};

	for (size_t i = 0; i < MANY(rows); i++)
		free_levels(allocate_levels(rows[i].extent, rows[i].levels, rows[i].flags,
					    rows[i].elements * 4, cudaSuccess),
			    rows[i].elements * 4);
	allocate_levels((struct cudaExtent){ 0, 9, 5 }, 2, 0, (9 * 5 + 4 * 2) * 4,
			cudaErrorInvalidValue);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static struct {
	cudaArray_t array, other;
	char *device;
} at;

struct copy {
	enum cudaMemcpyKind kind;
	char *memory; /* what is not an array */
	const char *direction;
};

static void expect_copy(const char *api, const char *driver_api, const void *dst, const void *src,
			uint64_t size, const cudaStream_t *stream, const char *direction)
{
	EXPECT(.op = "copy", .api = api, .driver_api = driver_api, .addr = HEX(dst),
	       .size = DEC(size), .src = HEX(src), .stream = stream ? HEX(*stream) : UNKNOWN,
	       .direction = direction);
}

/* Rectangles have another size at each call. */
static uint64_t next_height(void)
{
	static uint64_t calls;

	return 3 + calls++ % 29;
}

static void to_rectangle(const struct copy *c)
{
	uint64_t height = next_height();
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpy2DToArray, P(at.array), 4, 5, P(c->memory), PITCH, 103, height,
	     DIRTY(c->kind));
	expect_copy(NAME(cudaMemcpy2DToArray), PTDS("cuMemcpy2DUnaligned_v2"), at.array, c->memory,
		    103 * height, NULL, c->direction);
	height = next_height();
	CALL(cudaSuccess, cudaMemcpy2DToArrayAsync, P(at.other), 8, 6, P(c->memory + 1), PITCH, 107,
	     height, DIRTY(c->kind), P(stream));
	expect_copy(NAME(cudaMemcpy2DToArrayAsync), PTSZ("cuMemcpy2DAsync_v2"), at.other,
		    c->memory + 1, 107 * height, &stream, c->direction);
}

static void from_rectangle(const struct copy *c)
{
	uint64_t height = next_height();
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpy2DFromArray, P(c->memory), PITCH, P(at.array), 4, 5, 109,
	     height, DIRTY(c->kind));
	expect_copy(NAME(cudaMemcpy2DFromArray), PTDS("cuMemcpy2DUnaligned_v2"), c->memory,
		    at.array, 109 * height, NULL, c->direction);
	height = next_height();
	CALL(cudaSuccess, cudaMemcpy2DFromArrayAsync, P(c->memory + 1), PITCH, P(at.other), 8, 6,
	     113, height, DIRTY(c->kind), P(stream));
	expect_copy(NAME(cudaMemcpy2DFromArrayAsync), PTSZ("cuMemcpy2DAsync_v2"), c->memory + 1,
		    at.other, 113 * height, &stream, c->direction);
}

/* Inside a row, which is one copy of the driver's. */
static void to_line(const struct copy *c)
{
	uint64_t size = 20 + next_height();
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpyToArray, P(at.array), 4, 5, P(c->memory), size, DIRTY(c->kind));
	expect_copy(NAME(cudaMemcpyToArray), PTDS("cuMemcpy2DUnaligned_v2"), at.array, c->memory,
		    size, NULL, c->direction);
	size++;
	CALL(cudaSuccess, cudaMemcpyToArrayAsync, P(at.other), 8, 6, P(c->memory + 1), size,
	     DIRTY(c->kind), P(stream));
	expect_copy(NAME(cudaMemcpyToArrayAsync), PTSZ("cuMemcpy2DAsync_v2"), at.other,
		    c->memory + 1, size, &stream, c->direction);
}

static void from_line(const struct copy *c)
{
	uint64_t size = 60 + next_height();
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpyFromArray, P(c->memory), P(at.array), 4, 5, size,
	     DIRTY(c->kind));
	expect_copy(NAME(cudaMemcpyFromArray), PTDS("cuMemcpy2DUnaligned_v2"), c->memory, at.array,
		    size, NULL, c->direction);
	size++;
	CALL(cudaSuccess, cudaMemcpyFromArrayAsync, P(c->memory + 1), P(at.other), 8, 6, size,
	     DIRTY(c->kind), P(stream));
	expect_copy(NAME(cudaMemcpyFromArrayAsync), PTSZ("cuMemcpy2DAsync_v2"), c->memory + 1,
		    at.other, size, &stream, c->direction);
}

/* The end of a row, two rows, the start of a row: three copies of the driver's. */
static void lines_in_pieces(void)
{
	const uint64_t sizes[] = { ROW_BYTES - 100, 2 * ROW_BYTES, 50 };
	const uint64_t size = sizes[0] + sizes[1] + sizes[2];
	uint64_t done = 0;

	CALL(cudaSuccess, cudaMemcpyToArray, P(at.array), 100, 7, P(host), size,
	     DIRTY(cudaMemcpyHostToDevice));
	for (size_t i = 0; i < MANY(sizes); i++) {
		EXPECT(.op = "copy", .api = PTDS("cuMemcpy2DUnaligned_v2"), .addr = HEX(at.array),
		       .size = DEC(sizes[i]), .src = HEX(host + done), .direction = "HtoA",
		       .nested = true);
		done += sizes[i];
	}
	expect_copy(NAME(cudaMemcpyToArray), NULL, at.array, host, size, NULL, "HtoD");
}

static void between_arrays(enum cudaMemcpyKind kind)
{
	uint64_t height = next_height();

	CALL(cudaSuccess, cudaMemcpy2DArrayToArray, P(at.other), 4, 5, P(at.array), 8, 9, 127,
	     height, DIRTY(kind));
	expect_copy(NAME(cudaMemcpy2DArrayToArray), PTDS("cuMemcpy2DUnaligned_v2"), at.other,
		    at.array, 127 * height, NULL, "AtoA");
	CALL(cudaSuccess, cudaMemcpyArrayToArray, P(at.array), 4, 5, P(at.other), 8, 9,
	     700 + height, DIRTY(kind));
	expect_copy(NAME(cudaMemcpyArrayToArray), PTDS("cuMemcpyAtoA_v2"), at.array, at.other,
		    700 + height, NULL, "AtoA");
}

/* Extents are in elements then: only the driver tells bytes. */
static void boxes(const struct copy *c)
{
	struct cudaMemcpy3DParms box = {
		.srcArray = at.array,
		.srcPos = { 1, 2, 0 },
		.dstPtr = { c->memory, PITCH, 41, 7 },
		.extent = { 41, 7, 1 },
		.kind = c->kind,
	};
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpy3D, P(&box));
	expect_copy(NAME(cudaMemcpy3D), PTDS("cuMemcpy3D_v2"), c->memory, at.array, 41 * 4 * 7,
		    NULL, c->direction);
	box.extent.width = 43;
	CALL(cudaSuccess, cudaMemcpy3DAsync, P(&box), P(stream));
	expect_copy(NAME(cudaMemcpy3DAsync), PTSZ("cuMemcpy3DAsync_v2"), c->memory, at.array,
		    43 * 4 * 7, &stream, c->direction);
}

static void copies_in_vain(void)
{
	CALL(cudaErrorInvalidMemcpyDirection, cudaMemcpyToArray, P(at.array), 0, 0, P(host), 131,
	     DIRTY(cudaMemcpyDeviceToHost));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyToArray),
	       .result = cudaErrorInvalidMemcpyDirection, .addr = HEX(at.array), .size = "131",
	       .src = HEX(host), .direction = "DtoH");
	CALL(cudaErrorInvalidValue, cudaMemcpy2DFromArray, P(host), PITCH, P(at.array), 0, 0,
	     ROW_BYTES + 4, 3, DIRTY(cudaMemcpyDeviceToHost));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpy2DFromArray),
	       .driver_api = PTDS("cuMemcpy2DUnaligned_v2"), .result = cudaErrorInvalidValue,
	       .addr = HEX(host), .size = DEC((ROW_BYTES + 4) * 3), .src = HEX(at.array),
	       .direction = "AtoH");
}

static void copies(void)
{
	const struct copy to[] = {
		{ cudaMemcpyHostToDevice, host, "HtoA" },
		{ cudaMemcpyDeviceToDevice, at.device, "DtoA" },
		{ cudaMemcpyDefault, host + 512, "HtoA" },
		{ cudaMemcpyDefault, at.device + 512, "DtoA" },
	};
	const struct copy from[] = {
		{ cudaMemcpyDeviceToHost, host, "AtoH" },
		{ cudaMemcpyDeviceToDevice, at.device, "AtoD" },
		{ cudaMemcpyDefault, host + 512, "AtoH" },
		{ cudaMemcpyDefault, at.device + 512, "AtoD" },
	};

	for (size_t i = 0; i < MANY(to); i++) {
		to_rectangle(&to[i]);
		to_line(&to[i]);
	}
	for (size_t i = 0; i < MANY(from); i++) {
		from_rectangle(&from[i]);
		from_line(&from[i]);
		boxes(&from[i]);
	}
	between_arrays(cudaMemcpyDeviceToDevice);
	between_arrays(cudaMemcpyDefault);
	lines_in_pieces();
	copies_in_vain();
}

void rows_runtime_arrays(void)
{
	const size_t width = ROW_BYTES / 4;

	arrays();
	mipmaps();
	at.device = rows_runtime_allocate(PLACE_BYTES);
	at.array = allocate(&pixel, width, ROWS, ROW_BYTES * ROWS, cudaSuccess);
	at.other = allocate(&pixel, width, ROWS, ROW_BYTES * ROWS, cudaSuccess);
	copies();
	free_plain(at.array, ROW_BYTES * ROWS);
	free_plain(at.other, ROW_BYTES * ROWS);
	rows_runtime_free(at.device, PLACE_BYTES, "device");
}
