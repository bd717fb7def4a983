// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: copies from and to arrays, batches, prefetches.
 */
#include "rows_driver.h"

#include <string.h>

static const CUresult invalid = CUDA_ERROR_INVALID_VALUE;

static struct place place;
static CUarray arrays[2];
static unsigned char host[PLACE_BYTES];

/* ---- copies from and to arrays --------------------------------------------------------------- */

/* clang-format off */
static const struct copy {
	const char *api;
	char from, to;
	bool async;
	uint64_t size;
} copies[] = {
	{ "cuMemcpyHtoA_v2",           'H', 'A', false, 401 },
	{ "cuMemcpyHtoA_v2_ptds",      'H', 'A', false, 402 },
	{ "cuMemcpyHtoAAsync_v2",      'H', 'A', true,  403 },
	{ "cuMemcpyHtoAAsync_v2_ptsz", 'H', 'A', true,  404 },
	{ "cuMemcpyAtoH_v2",           'A', 'H', false, 405 },
	{ "cuMemcpyAtoH_v2_ptds",      'A', 'H', false, 406 },
	{ "cuMemcpyAtoHAsync_v2",      'A', 'H', true,  407 },
	{ "cuMemcpyAtoHAsync_v2_ptsz", 'A', 'H', true,  408 },
	{ "cuMemcpyDtoA_v2",           'D', 'A', false, 409 },
	{ "cuMemcpyDtoA_v2_ptds",      'D', 'A', false, 410 },
	{ "cuMemcpyAtoD_v2",           'A', 'D', false, 411 },
	{ "cuMemcpyAtoD_v2_ptds",      'A', 'D', false, 412 },
	{ "cuMemcpyAtoA_v2",           'A', 'A', false, 413 },
	{ "cuMemcpyAtoA_v2_ptds",      'A', 'A', false, 414 },
};
/* clang-format on */

/* Appends what stands for one end: an array and the offset in it, or an address. */
static uint64_t put_end(uint64_t *args, unsigned int *n, char kind, unsigned int which,
			uint64_t offset)
{
	uint64_t end = kind == 'A' ? P(arrays[which]) :
		       kind == 'D' ? place.device[which] + offset :
				     P(host) + offset;

	args[(*n)++] = end;
	if (kind == 'A')
		args[(*n)++] = offset;
	return end;
}

static void copy_array(const struct copy *copy, uint64_t size, CUresult wanted)
{
	CUstream stream = copy->async ? rows_driver_stream() : NULL;
	uint64_t args[ROWS_ARGS] = { 0 }, dst, src;
	unsigned int n = 0;

	dst = put_end(args, &n, copy->to, 0, size % 64);
	src = put_end(args, &n, copy->from, 1, size % 32);
	args[n++] = size;
	args[n] = P(stream);
	rows_call(copy->api, rows_driver_symbol(copy->api), wanted, args);
	EXPECT(.op = "copy", .api = copy->api, .result = wanted, .addr = HEX(dst), .src = HEX(src),
	       .size = DEC(size), .stream = copy->async ? HEX(stream) : UNKNOWN,
	       .direction = rows_text("%cto%c", copy->from, copy->to));
}

/* ---- batches --------------------------------------------------------------------------------- */

/* In one read, in several, and more than anybody reads. */
#define BATCH 4097

static CUdeviceptr dsts[BATCH], srcs[BATCH];
static size_t sizes[BATCH];

/* Returns how much it is. The first copy is from the host, all others are between devices. */
static uint64_t fill_batch(size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		sizes[i] = 3 + i % 7;
		dsts[i] = place.device[0] + 8 * i + 1;
		srcs[i] = i ? place.device[1] + 8 * i : P(host) + 8;
		total += sizes[i];
	}
	return total;
}

static void copy_batch(const char *api, bool v2, size_t count, CUresult wanted)
{
	const CUmemcpyAttributes attributes = { .srcAccessOrder =
							CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUstream stream = rows_driver_stream();
	uint64_t total = fill_batch(count);
	size_t first = 0, failed;

	if (wanted != CUDA_SUCCESS) {
		sizes[count - 1] += 1ull << 40;
		total += 1ull << 40;
	}
	CALL(wanted, api, P(dsts), P(srcs), P(sizes), count, P(&attributes), P(&first), 1,
	     v2 ? P(stream) : P(&failed), P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted, .addr = HEX(dsts[0]),
	       .src = HEX(srcs[0]), .size = count < BATCH ? DEC(total) : UNKNOWN,
	       .stream = HEX(stream), .direction = "HtoD");
}

/* Only the first ends are looked at, and of these copies not even those. */
static void copy_boxes(const char *api, bool v2, CUresult wanted)
{
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = P(host) },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = place.device[0] },
		.extent = { 5, wanted == CUDA_SUCCESS ? 4 : 0, 3 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};
	CUstream stream = rows_driver_stream();
	size_t failed;

	if (v2)
		CALL(wanted, api, 1, P(&op), 0, P(stream), P(&failed));
	else
		CALL(wanted, api, 1, P(&op), P(&failed), 0, P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted, .stream = HEX(stream),
	       .direction = "Default");
}

/* ---- single copies with attributes ----------------------------------------------------------- */

static void copy_with_attributes(const char *api, uint64_t size, CUresult wanted)
{
	const CUmemcpyAttributes attributes = {
		.srcAccessOrder = wanted == CUDA_SUCCESS ? CU_MEMCPY_SRC_ACCESS_ORDER_STREAM : 0
	};
	CUstream stream = rows_driver_stream();
	CUdeviceptr dst = place.device[0] + size % 64, src = P(host) + size % 32;

	CALL(wanted, api, dst, src, size, P(&attributes), P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted, .addr = HEX(dst), .src = HEX(src),
	       .size = DEC(size), .stream = HEX(stream), .direction = "HtoD");
}

static void copy_box(const char *api, const CUDA_MEMCPY3D_BATCH_OP *op, uint64_t size,
		     CUresult wanted)
{
	CUstream stream = rows_driver_stream();
	bool to_array = op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;

	CALL(wanted, api, P(op), wanted == CUDA_SUCCESS ? 0 : 1, P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted,
	       .addr = to_array ? HEX(op->dst.op.array.array) : HEX(op->dst.op.ptr.ptr),
	       .src = HEX(op->src.op.ptr.ptr), .size = size ? DEC(size) : UNKNOWN,
	       .stream = HEX(stream), .direction = to_array ? "HtoA" : "HtoD");
}

/* If one end is an array, the width is in its elements, and the size not known. */
static void copy_boxes_with_attributes(const char *api)
{
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = P(host) },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = place.device[0] },
		.extent = { 5, 4, 3 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};

	copy_box(api, &op, 60, CUDA_SUCCESS);
	copy_box(api, &op, 60, invalid);
	op.dst = (CUmemcpy3DOperand){ .type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
				      .op.array.array = arrays[0] };
	op.extent = (CUextent3D){ 5, 1, 1 };
	copy_box(api, &op, 0, CUDA_SUCCESS);
}

/* Several copies, each between pointers or endpoints of a fabric: not looked at. */
static void copy_fabric(const char *api, CUresult wanted)
{
	const CUDA_FABRIC_COPY_BATCH_OP op = {
		.src = { .type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER,
			 .op.ptr.ptr = place.device[1] },
		.dst = { .type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER,
			 .op.ptr.ptr = place.device[0] },
		.size = 77,
	};
	CUstream stream = rows_driver_stream();

	CALL(wanted, api, 1, P(&op), wanted == CUDA_SUCCESS ? 0 : 1, P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted, .stream = HEX(stream),
	       .direction = "Default");
}

static void with_attributes(void)
{
	copy_with_attributes("cuMemcpyWithAttributesAsync", 1009, CUDA_SUCCESS);
	copy_with_attributes("cuMemcpyWithAttributesAsync", 1013, invalid);
	copy_with_attributes("cuMemcpyWithAttributesAsync_ptsz", 1019, CUDA_SUCCESS);
	copy_boxes_with_attributes("cuMemcpy3DWithAttributesAsync");
	copy_boxes_with_attributes("cuMemcpy3DWithAttributesAsync_ptsz");
	copy_fabric("cuFabricCpyBatchAsync", CUDA_SUCCESS);
	copy_fabric("cuFabricCpyBatchAsync", invalid);
	copy_fabric("cuFabricCpyBatchAsync_ptsz", CUDA_SUCCESS);
}

static void batches(void)
{
	static const struct {
		const char *api;
		bool v2;
	} lines[] = { { "cuMemcpyBatchAsync", false },
		      { "cuMemcpyBatchAsync_ptsz", false },
		      { "cuMemcpyBatchAsync_v2", true },
		      { "cuMemcpyBatchAsync_v2_ptsz", true } },
	  boxes[] = { { "cuMemcpy3DBatchAsync", false },
		      { "cuMemcpy3DBatchAsync_ptsz", false },
		      { "cuMemcpy3DBatchAsync_v2", true },
		      { "cuMemcpy3DBatchAsync_v2_ptsz", true } };
	static const size_t counts[] = { 1, 31, 32, 33, 100, 4096, BATCH };

	for (size_t i = 0; i < MANY(lines); i++) {
		for (size_t j = 0; j < MANY(counts); j++)
			copy_batch(lines[i].api, lines[i].v2, counts[j], CUDA_SUCCESS);
		copy_batch(lines[i].api, lines[i].v2, 3, invalid);
	}
	for (size_t i = 0; i < MANY(boxes); i++) {
		copy_boxes(boxes[i].api, boxes[i].v2, CUDA_SUCCESS);
		copy_boxes(boxes[i].api, boxes[i].v2, invalid);
	}
}

/* ---- prefetches ------------------------------------------------------------------------------ */

static void expect_prefetch(const char *api, CUresult wanted, CUdeviceptr addr, uint64_t size,
			    CUstream stream)
{
	EXPECT(.op = "copy", .api = api, .result = wanted, .addr = HEX(addr), .size = DEC(size),
	       .stream = HEX(stream), .direction = "migrate");
}

static void prefetch(const char *api, bool v2, CUdeviceptr addr, uint64_t size, CUresult wanted)
{
	CUstream stream = rows_driver_stream();
	const CUmemLocation there = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	uint64_t location;

	memcpy(&location, &there, sizeof(location));
	if (v2)
		CALL(wanted, api, addr, size, location, DIRTY(0), P(stream));
	else
		CALL(wanted, api, addr, size, DIRTY(1), P(stream));
	expect_prefetch(api, wanted, addr, size, stream);
}

static void prefetch_batch(const char *api, CUdeviceptr addr, uint64_t first, CUresult wanted)
{
	CUmemLocation there = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	CUdeviceptr addrs[] = { addr + 5, addr + 1000, addr + 2000 };
	size_t bytes[] = { first, 17, 19 }, start = 0;
	CUstream stream = rows_driver_stream();

	CALL(wanted, api, P(addrs), P(bytes), 3, P(&there), P(&start), 1, 0, P(stream));
	expect_prefetch(api, wanted, addr + 5, first + 17 + 19, stream);
}

static void prefetches(void)
{
	static const char *const forms[] = { "cuMemPrefetchAsync", "cuMemPrefetchAsync_ptsz",
					     "cuMemPrefetchAsync_v2",
					     "cuMemPrefetchAsync_v2_ptsz" };
	static const char *const lists[] = { "cuMemPrefetchBatchAsync",
					     "cuMemPrefetchBatchAsync_ptsz",
					     "cuMemDiscardAndPrefetchBatchAsync",
					     "cuMemDiscardAndPrefetchBatchAsync_ptsz" };
	struct block managed = rows_driver_allocate("cuMemAllocManaged", "managed", PLACE_BYTES,
						    DIRTY(CU_MEM_ATTACH_GLOBAL));

	for (size_t i = 0; i < MANY(forms); i++) {
		prefetch(forms[i], i > 1, managed.addr + i, 501 + i, CUDA_SUCCESS);
		prefetch(forms[i], i > 1, managed.addr + i, (505 + i) << 32, invalid);
	}
	for (size_t i = 0; i < MANY(lists); i++) {
		prefetch_batch(lists[i], managed.addr, 511 + i, CUDA_SUCCESS);
		prefetch_batch(lists[i], managed.addr, (517 + i) << 32, invalid);
	}
	rows_driver_free("cuMemFree_v2", &managed);
}

/* ---- everything ------------------------------------------------------------------------------ */

void rows_driver_batches(const struct place *given)
{
	const CUDA_ARRAY3D_DESCRIPTOR line = {
		PLACE_BYTES, 1, 1, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0
	};

	place = *given;
	for (size_t i = 0; i < MANY(arrays); i++)
		arrays[i] = rows_driver_create_array(&line);
	for (size_t i = 0; i < MANY(copies); i++) {
		copy_array(&copies[i], copies[i].size, CUDA_SUCCESS);
		copy_array(&copies[i], copies[i].size << 32, invalid);
	}
	with_attributes();
	for (size_t i = 0; i < MANY(arrays); i++)
		rows_driver_destroy_array(arrays[i], PLACE_BYTES);
	batches();
	prefetches();
}
