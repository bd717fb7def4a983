// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_runtime: copies and memsets.
 */
#include "rows_runtime.h"

#define DEVICE_CODE(KERNEL12, KERNEL13, VARIABLE) VARIABLE(table, 4096)
SIMCUDART_MODULE(DEVICE_CODE)

static struct place place;
static char host[2][PLACE_BYTES] __attribute__((aligned(4096)));

/* ---- copies ---------------------------------------------------------------------------------- */

#define PITCH 512
#define SLICE_ROWS 8
#define KINDS 5 /* of cudaMemcpyKind */

/* What each kind copies between, and the driver function for a line. */
static const struct kind {
	const char *direction;
	char from, to;
	const char *line, *line_async;
} kinds[KINDS] = {
	[cudaMemcpyHostToHost] = { "HtoH", 'H', 'H', PTDS("cuMemcpy"), PTSZ("cuMemcpyAsync") },
	[cudaMemcpyHostToDevice] = { "HtoD", 'H', 'D', PTDS("cuMemcpyHtoD_v2"),
				     PTSZ("cuMemcpyHtoDAsync_v2") },
	[cudaMemcpyDeviceToHost] = { "DtoH", 'D', 'H', PTDS("cuMemcpyDtoH_v2"),
				     PTSZ("cuMemcpyDtoHAsync_v2") },
	[cudaMemcpyDeviceToDevice] = { "DtoD", 'D', 'D', PTDS("cuMemcpyDtoD_v2"),
				       PTSZ("cuMemcpyDtoDAsync_v2") },
	[cudaMemcpyDefault] = { "DtoH", 'D', 'H', PTDS("cuMemcpy"), PTSZ("cuMemcpyAsync") },
};

struct copy {
	const char *api, *driver_api;
	enum cudaMemcpyKind kind;
	void *dst, *src;
	uint64_t size;
	bool async;
	cudaStream_t stream;
};

/* From where to where, and how much, is different at each call. */
static struct copy new_copy(enum cudaMemcpyKind kind, bool async)
{
	static size_t calls = 100;
	size_t n = calls++;

	return (struct copy){
		.kind = kind,
		.dst = (kinds[kind].to == 'D' ? place.device[0] : host[0]) + n,
		.src = (kinds[kind].from == 'D' ? place.device[1] : host[1]) + 2 * n,
		.size = n,
		.async = async,
		.stream = async ? rows_runtime_stream() : NULL,
	};
}

static void expect_copy(const struct copy *copy, cudaError_t result)
{
	EXPECT(.op = "copy", .api = copy->api, .driver_api = copy->driver_api, .result = result,
	       .addr = HEX(copy->dst), .size = DEC(copy->size), .src = HEX(copy->src),
	       .stream = copy->async ? HEX(copy->stream) : UNKNOWN,
	       .direction = copy->kind < KINDS ? kinds[copy->kind].direction : UNKNOWN);
}

static void copy_line(enum cudaMemcpyKind kind)
{
	struct copy copy = new_copy(kind, false);

	copy.api = NAME(cudaMemcpy);
	copy.driver_api = kinds[kind].line;
	CALL(cudaSuccess, cudaMemcpy, P(copy.dst), P(copy.src), copy.size, DIRTY(kind));
	expect_copy(&copy, cudaSuccess);

	copy = new_copy(kind, true);
	copy.api = NAME(cudaMemcpyAsync);
	copy.driver_api = kinds[kind].line_async;
	CALL(cudaSuccess, cudaMemcpyAsync, P(copy.dst), P(copy.src), copy.size, DIRTY(kind),
	     P(copy.stream));
	expect_copy(&copy, cudaSuccess);
}

static void copy_2d(enum cudaMemcpyKind kind)
{
	struct copy copy = new_copy(kind, false);
	uint64_t width = copy.size;

	copy.api = NAME(cudaMemcpy2D);
	copy.driver_api = PTDS("cuMemcpy2DUnaligned_v2");
	copy.size *= 3;
	CALL(cudaSuccess, cudaMemcpy2D, P(copy.dst), PITCH, P(copy.src), PITCH + 8, width, 3,
	     DIRTY(kind));
	expect_copy(&copy, cudaSuccess);

	copy = new_copy(kind, true);
	width = copy.size;
	copy.api = NAME(cudaMemcpy2DAsync);
	copy.driver_api = PTSZ("cuMemcpy2DAsync_v2");
	copy.size *= 4;
	CALL(cudaSuccess, cudaMemcpy2DAsync, P(copy.dst), PITCH + 16, P(copy.src), PITCH, width, 4,
	     DIRTY(kind), P(copy.stream));
	expect_copy(&copy, cudaSuccess);
}

static struct cudaMemcpy3DParms box_of(const struct copy *copy, size_t height, size_t depth)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = { copy->src, PITCH, 1, SLICE_ROWS },
		.dstPtr = { copy->dst, PITCH, 2, SLICE_ROWS },
		.extent = { copy->size, height, depth },
		.kind = copy->kind,
	};
}

static void copy_3d(enum cudaMemcpyKind kind)
{
	struct copy copy = new_copy(kind, false);
	struct cudaMemcpy3DParms box = box_of(&copy, 5, 6);

	copy.api = NAME(cudaMemcpy3D);
	copy.driver_api = PTDS("cuMemcpy3D_v2");
	copy.size *= 5ull * 6;
	CALL(cudaSuccess, cudaMemcpy3D, P(&box));
	expect_copy(&copy, cudaSuccess);

	copy = new_copy(kind, true);
	box = box_of(&copy, 6, 7);
	copy.api = NAME(cudaMemcpy3DAsync);
	copy.driver_api = PTSZ("cuMemcpy3DAsync_v2");
	copy.size *= 6ull * 7;
	CALL(cudaSuccess, cudaMemcpy3DAsync, P(&box), P(copy.stream));
	expect_copy(&copy, cudaSuccess);
}

static void copies(void)
{
	struct copy copy;

	for (enum cudaMemcpyKind kind = 0; kind < KINDS; kind++) {
		copy_line(kind);
		copy_2d(kind);
		copy_3d(kind);
	}
	copy = new_copy(cudaMemcpyHostToDevice, false);
	copy.api = NAME(cudaMemcpy);
	copy.driver_api = PTDS("cuMemcpyHtoD_v2");
	copy.size = 1ull << 33;
	CALL(cudaErrorInvalidValue, cudaMemcpy, P(copy.dst), P(copy.src), copy.size, copy.kind);
	expect_copy(&copy, cudaErrorInvalidValue);
}

/* Kinds that do not exist: the runtime refuses them, and the direction is unknown. */
static void copies_of_no_kind(void)
{
	static const unsigned int numbers[] = { 5, 10, 11, 99, 0x104 };

	for (size_t i = 0; i < MANY(numbers); i++) {
		struct copy copy = new_copy(cudaMemcpyDefault, false);

		copy.api = NAME(cudaMemcpy);
		copy.kind = numbers[i];
		CALL(cudaErrorInvalidMemcpyDirection, cudaMemcpy, P(copy.dst), P(copy.src),
		     copy.size, DIRTY(copy.kind));
		expect_copy(&copy, cudaErrorInvalidMemcpyDirection);
	}
}

/* ---- copies between devices, and of variables ------------------------------------------------ */

static void copies_between_devices(void)
{
	char *there = place.there;
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpyPeer, P(there), DIRTY(1), P(place.device[0]), DIRTY(0), 601);
	EXPECT(.op = "copy", .api = "cudaMemcpyPeer", .driver_api = "cuMemcpyPeer",
	       .addr = HEX(there), .size = "601", .src = HEX(place.device[0]), .direction = "PtoP");
	CALL(cudaSuccess, cudaMemcpyPeerAsync, P(place.device[1]), DIRTY(0), P(there), DIRTY(1),
	     602, P(stream));
	EXPECT(.op = "copy", .api = "cudaMemcpyPeerAsync", .driver_api = "cuMemcpyPeerAsync",
	       .addr = HEX(place.device[1]), .size = "602", .src = HEX(there),
	       .stream = HEX(stream), .direction = "PtoP");
	CALL(cudaErrorInvalidDevice, cudaMemcpyPeer, P(there), DIRTY(7), P(place.device[0]),
	     DIRTY(0), 603);
	EXPECT(.op = "copy", .api = "cudaMemcpyPeer", .result = cudaErrorInvalidDevice,
	       .addr = HEX(there), .size = "603", .src = HEX(place.device[0]), .direction = "PtoP");
}

/* A program names the host's shadow of a variable; what is copied is on the device. */
static void expect_variable(const char *variable)
{
	EXPECT(.op = "memory", .api = "cuLibraryGetGlobal", .addr = HEX(variable), .size = "4096",
	       .nested = true);
}

static void to_variable(char *variable)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpyToSymbol, P(table), P(host[0]), 701, 8,
	     DIRTY(cudaMemcpyHostToDevice));
	expect_variable(variable);
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyToSymbol), .driver_api = PTDS("cuMemcpyHtoD_v2"),
	       .addr = HEX(variable + 8), .size = "701", .src = HEX(host[0]), .direction = "HtoD");
	CALL(cudaSuccess, cudaMemcpyToSymbolAsync, P(table), P(place.device[0]), 702, 16,
	     DIRTY(cudaMemcpyDeviceToDevice), P(stream));
	expect_variable(variable);
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyToSymbolAsync),
	       .driver_api = PTSZ("cuMemcpyDtoDAsync_v2"), .addr = HEX(variable + 16),
	       .size = "702", .src = HEX(place.device[0]), .stream = HEX(stream),
	       .direction = "DtoD");
	CALL(cudaErrorInvalidSymbol, cudaMemcpyToSymbol, P(host[1]), P(host[0]), 703, 0,
	     DIRTY(cudaMemcpyDeviceToDevice));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyToSymbol), .result = cudaErrorInvalidSymbol,
	       .addr = HEX(host[1]), .size = "703", .src = HEX(host[0]), .direction = "DtoD");
}

static void from_variable(char *variable)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(cudaSuccess, cudaMemcpyFromSymbol, P(host[1]), P(table), 704, 24,
	     DIRTY(cudaMemcpyDeviceToHost));
	expect_variable(variable);
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyFromSymbol),
	       .driver_api = PTDS("cuMemcpyDtoH_v2"), .addr = HEX(host[1]), .size = "704",
	       .src = HEX(variable + 24), .direction = "DtoH");
	CALL(cudaSuccess, cudaMemcpyFromSymbolAsync, P(host[0]), P(table), 705, 32,
	     DIRTY(cudaMemcpyDefault), P(stream));
	expect_variable(variable);
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyFromSymbolAsync),
	       .driver_api = PTSZ("cuMemcpyAsync"), .addr = HEX(host[0]), .size = "705",
	       .src = HEX(variable + 32), .stream = HEX(stream), .direction = "Default");
	stream = rows_runtime_stream();
	CALL(cudaErrorInvalidSymbol, cudaMemcpyFromSymbolAsync, P(host[0]), P(host[1]), 706, 0,
	     DIRTY(cudaMemcpyDeviceToHost), P(stream));
	EXPECT(.op = "copy", .api = NAME(cudaMemcpyFromSymbolAsync),
	       .result = cudaErrorInvalidSymbol, .addr = HEX(host[0]), .size = "706",
	       .src = HEX(host[1]), .stream = HEX(stream), .direction = "DtoH");
}

/* ---- memsets --------------------------------------------------------------------------------- */

static void set_lines(char *addr, cudaError_t wanted)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMemset, P(addr), DIRTY(0x5a), 801);
	EXPECT(.op = "memset", .api = NAME(cudaMemset), .driver_api = PTDS("cuMemsetD8_v2"),
	       .result = wanted, .addr = HEX(addr), .size = "801");
	CALL(wanted, cudaMemsetAsync, P(addr + 1), DIRTY(0x5b), 802, P(stream));
	EXPECT(.op = "memset", .api = NAME(cudaMemsetAsync), .driver_api = PTSZ("cuMemsetD8Async"),
	       .result = wanted, .addr = HEX(addr + 1), .size = "802", .stream = HEX(stream));
}

static void set_boxes(char *addr, cudaError_t wanted)
{
	cudaStream_t stream = rows_runtime_stream();

	CALL(wanted, cudaMemset2D, P(addr), PITCH, DIRTY(0x5c), 83, 5);
	EXPECT(.op = "memset", .api = NAME(cudaMemset2D), .driver_api = PTDS("cuMemsetD2D8_v2"),
	       .result = wanted, .addr = HEX(addr), .size = DEC(83 * 5));
	CALL(wanted, cudaMemset2DAsync, P(addr + 1), PITCH, DIRTY(0x5d), 84, 6, P(stream));
	EXPECT(.op = "memset", .api = NAME(cudaMemset2DAsync),
	       .driver_api = PTSZ("cuMemsetD2D8Async"), .result = wanted, .addr = HEX(addr + 1),
	       .size = DEC(84 * 6), .stream = HEX(stream));
}

/* ---- everything ------------------------------------------------------------------------------ */

void rows_runtime_copies(const struct place *given)
{
	void *variable = NULL;

	place = *given;
	copies();
	copies_of_no_kind();
	copies_between_devices();
	CALL(cudaErrorInvalidSymbol, cudaGetSymbolAddress, P(&variable), P(host[1]));
	EXPECT(.op = "memory", .api = "cudaGetSymbolAddress", .result = cudaErrorInvalidSymbol);
	CALL(cudaSuccess, cudaGetSymbolAddress, P(&variable), P(table));
	EXPECT(.op = "memory", .api = "cudaGetSymbolAddress", .driver_api = "cuLibraryGetGlobal",
	       .addr = HEX(variable), .size = "4096");
	to_variable(variable);
	from_variable(variable);
	set_lines(place.device[0] + 3, cudaSuccess);
	set_boxes(place.device[1] + 5, cudaSuccess);
	set_lines(host[0], cudaErrorInvalidValue);
	set_boxes(host[1], cudaErrorInvalidValue);
}
