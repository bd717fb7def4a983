// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: copies and memsets.
 */
#include "rows_driver.h"

static struct place place;
static CUarray arrays[2];
static unsigned char host[2][PLACE_BYTES] __attribute__((aligned(4096)));

/* ---- copies of lines ------------------------------------------------------------------------- */

enum form { SYNC, ASYNC, NARROW, NARROW_ASYNC };

/* clang-format off */
static const struct line {
	const char *api;
	const char *direction;
	char from, to; /* what the ends really are */
	enum form form;
	uint64_t size;
} lines[] = {
	{ "cuMemcpy",                  "DtoH",    'D', 'H', SYNC,         101 },
	{ "cuMemcpy_ptds",             "HtoD",    'H', 'D', SYNC,         102 },
	{ "cuMemcpyAsync",             "DtoD",    'D', 'D', ASYNC,        103 },
	{ "cuMemcpyAsync_ptsz",        "HtoD",    'H', 'D', ASYNC,        104 },
	{ "cuMemcpyHtoD",              "HtoD",    'H', 'D', NARROW,       105 },
	{ "cuMemcpyHtoD_v2",           "HtoD",    'H', 'D', SYNC,         106 },
	{ "cuMemcpyHtoD_v2_ptds",      "HtoD",    'H', 'D', SYNC,         107 },
	{ "cuMemcpyHtoDAsync",         "HtoD",    'H', 'D', NARROW_ASYNC, 108 },
	{ "cuMemcpyHtoDAsync_v2",      "HtoD",    'H', 'D', ASYNC,        109 },
	{ "cuMemcpyHtoDAsync_v2_ptsz", "HtoD",    'H', 'D', ASYNC,        110 },
	{ "cuMemcpyDtoH",              "DtoH",    'D', 'H', NARROW,       111 },
	{ "cuMemcpyDtoH_v2",           "DtoH",    'D', 'H', SYNC,         112 },
	{ "cuMemcpyDtoH_v2_ptds",      "DtoH",    'D', 'H', SYNC,         113 },
	{ "cuMemcpyDtoHAsync",         "DtoH",    'D', 'H', NARROW_ASYNC, 114 },
	{ "cuMemcpyDtoHAsync_v2",      "DtoH",    'D', 'H', ASYNC,        115 },
	{ "cuMemcpyDtoHAsync_v2_ptsz", "DtoH",    'D', 'H', ASYNC,        116 },
	{ "cuMemcpyDtoD",              "DtoD",    'D', 'D', NARROW,       117 },
	{ "cuMemcpyDtoD_v2",           "DtoD",    'D', 'D', SYNC,         118 },
	{ "cuMemcpyDtoD_v2_ptds",      "DtoD",    'D', 'D', SYNC,         119 },
	{ "cuMemcpyDtoDAsync",         "DtoD",    'D', 'D', NARROW_ASYNC, 120 },
	{ "cuMemcpyDtoDAsync_v2",      "DtoD",    'D', 'D', ASYNC,        121 },
	{ "cuMemcpyDtoDAsync_v2_ptsz", "DtoD",    'D', 'D', ASYNC,        122 },
};
/* clang-format on */

/* One end of a copy as the function takes it; *seen: as the event shows it. */
static uint64_t line_end(char kind, unsigned int which, uint64_t offset, bool narrow,
			 uint64_t *seen)
{
	uint64_t addr = (kind == 'D' ? place.device[which] : P(host[which])) + offset;

	*seen = narrow && kind == 'D' ? (uint32_t)addr : addr;
	return narrow && kind == 'D' ? DIRTY(addr) : addr;
}

static void copy_line(const struct line *line, uint64_t size, CUresult wanted)
{
	bool narrow = line->form == NARROW || line->form == NARROW_ASYNC;
	bool async = line->form == ASYNC || line->form == NARROW_ASYNC;
	CUstream stream = async ? rows_driver_stream() : NULL;
	uint64_t dst, src, to, from;

	to = line_end(line->to, 0, size % 64, narrow, &dst);
	from = line_end(line->from, 1, size % 32 * 4, narrow, &src);
	CALL(wanted, line->api, to, from, narrow ? DIRTY(size) : size, P(stream));
	EXPECT(.op = "copy", .api = line->api, .result = wanted, .addr = HEX(dst),
	       .size = DEC(size), .src = HEX(src), .stream = async ? HEX(stream) : UNKNOWN,
	       .direction = line->direction);
}

static void copies(void)
{
	for (size_t i = 0; i < MANY(lines); i++) {
		const struct line *line = &lines[i];

		if (line->form >= NARROW) {
			copy_line(line, line->size, CUDA_ERROR_NOT_SUPPORTED);
			copy_line(line, line->size + 0xfff00000, CUDA_ERROR_NOT_SUPPORTED);
		} else {
			copy_line(line, line->size, CUDA_SUCCESS);
			copy_line(line, line->size << 32, CUDA_ERROR_INVALID_VALUE);
		}
	}
}

static void copy_peer(const char *api, uint64_t size, bool async, CUresult wanted)
{
	CUdeviceptr dst = place.there + size % 32, src = place.device[1] + size % 64;
	CUstream stream = async ? rows_driver_stream() : NULL;

	CALL(wanted, api, dst, P(place.peer), src, P(place.own), size, P(stream));
	EXPECT(.op = "copy", .api = api, .result = wanted, .addr = HEX(dst), .size = DEC(size),
	       .src = HEX(src), .stream = async ? HEX(stream) : UNKNOWN, .direction = "PtoP");
}

static void peers(void)
{
	static const struct {
		const char *api;
		uint64_t size;
		bool async;
	} rows[] = {
		{ "cuMemcpyPeer", 201, false },
		{ "cuMemcpyPeer_ptds", 202, false },
		{ "cuMemcpyPeerAsync", 203, true },
		{ "cuMemcpyPeerAsync_ptsz", 204, true },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		copy_peer(rows[i].api, rows[i].size, rows[i].async, CUDA_SUCCESS);
		copy_peer(rows[i].api, rows[i].size << 32, rows[i].async, CUDA_ERROR_INVALID_VALUE);
	}
}

/* ---- copies of boxes: every kind of source to every kind of destination ---------------------- */

#define PITCH 512
#define SLICE_ROWS 8
#define SLICES 8

enum kind { HOST, DEVICE, ARRAY, UNIFIED, KINDS };

static const char *const directions[KINDS][KINDS] = {
	[HOST] = { "HtoH", "HtoD", "HtoA", "HtoD" },
	[DEVICE] = { "DtoH", "DtoD", "DtoA", "DtoD" },
	[ARRAY] = { "AtoH", "AtoD", "AtoA", "AtoD" },
	[UNIFIED] = { "DtoH", "DtoD", "DtoA", "DtoD" },
};

/* One end of a copy: only one of the three addresses counts, the others are decoys. */
struct end {
	CUmemorytype type;
	void *host;
	CUdeviceptr device;
	CUarray array;
	uint64_t addr; /* the one that counts */
};

static struct end end_of(enum kind kind, unsigned int which)
{
	struct end end = { .host = (void *)0x11111, .device = 0x22222, .array = (CUarray)0x33333 };

	switch (kind) {
	case HOST:
		end.type = CU_MEMORYTYPE_HOST;
		end.host = host[which];
		end.addr = P(end.host);
		break;
	case ARRAY:
		end.type = CU_MEMORYTYPE_ARRAY;
		end.array = arrays[which];
		end.addr = P(end.array);
		break;
	default:
		end.type = kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
		end.device = place.device[which];
		end.addr = end.device;
	}
	return end;
}

struct box {
	const char *api;
	bool async, has_depth, peers;
	enum kind from, to;
	size_t width, height, depth;
};

static void expect_box(const struct box *box, CUstream stream, CUresult wanted)
{
	size_t size = box->width * box->height * (box->has_depth ? box->depth : 1);

	EXPECT(.op = "copy", .api = box->api, .result = wanted,
	       .addr = HEX(end_of(box->to, 0).addr), .size = DEC(size),
	       .src = HEX(end_of(box->from, 1).addr), .stream = box->async ? HEX(stream) : UNKNOWN,
	       .direction = box->peers ? "PtoP" : directions[box->from][box->to]);
}

static void copy_2d(const struct box *box, CUresult wanted)
{
	const struct end src = end_of(box->from, 1), dst = end_of(box->to, 0);
	const CUDA_MEMCPY2D copy = {
		.srcMemoryType = src.type,
		.srcHost = src.host,
		.srcDevice = src.device,
		.srcArray = src.array,
		.srcPitch = PITCH,
		.dstMemoryType = dst.type,
		.dstHost = dst.host,
		.dstDevice = dst.device,
		.dstArray = dst.array,
		.dstPitch = PITCH,
		.WidthInBytes = box->width,
		.Height = box->height,
	};
	CUstream stream = box->async ? rows_driver_stream() : NULL;

	CALL(wanted, box->api, P(&copy), P(stream));
	expect_box(box, stream, wanted);
}

/* CUDA_MEMCPY3D has the same layout, but for the contexts. */
static void copy_3d(const struct box *box, CUresult wanted)
{
	const struct end src = end_of(box->from, 1), dst = end_of(box->to, 0);
	const CUDA_MEMCPY3D_PEER copy = {
		.srcMemoryType = src.type,
		.srcHost = src.host,
		.srcDevice = src.device,
		.srcArray = src.array,
		.srcContext = box->peers ? place.own : NULL,
		.srcPitch = PITCH,
		.srcHeight = SLICE_ROWS,
		.dstMemoryType = dst.type,
		.dstHost = dst.host,
		.dstDevice = dst.device,
		.dstArray = dst.array,
		.dstContext = box->peers ? place.own : NULL,
		.dstPitch = PITCH,
		.dstHeight = SLICE_ROWS,
		.WidthInBytes = box->width,
		.Height = box->height,
		.Depth = box->depth,
	};
	CUstream stream = box->async ? rows_driver_stream() : NULL;

	CALL(wanted, box->api, P(&copy), P(stream));
	expect_box(box, stream, wanted);
}

/* From everything to everything; then with each factor in turn out of all proportion. */
static void copy_boxes(struct box box)
{
	static size_t width = 32;
	size_t *factors[] = { &box.width, &box.height, &box.depth };

	for (box.from = HOST; box.from < KINDS; box.from++) {
		for (box.to = HOST; box.to < KINDS; box.to++) {
			box.width = width++;
			box.height = 2 + width % 5;
			box.depth = 3 + width % 4;
			(box.has_depth ? copy_3d : copy_2d)(&box, CUDA_SUCCESS);
		}
	}
	box.from = box.to = DEVICE;
	for (size_t i = 0; i < (box.has_depth ? 3 : 2); i++) {
		*factors[i] <<= 32;
		(box.has_depth ? copy_3d : copy_2d)(&box, CUDA_ERROR_INVALID_VALUE);
		*factors[i] >>= 32;
	}
}

static void boxes(void)
{
	static const struct box rows[] = {
		{ "cuMemcpy2D_v2", .async = false },
		{ "cuMemcpy2D_v2_ptds", .async = false },
		{ "cuMemcpy2DUnaligned_v2", .async = false },
		{ "cuMemcpy2DUnaligned_v2_ptds", .async = false },
		{ "cuMemcpy2DAsync_v2", .async = true },
		{ "cuMemcpy2DAsync_v2_ptsz", .async = true },
		{ "cuMemcpy3D_v2", .has_depth = true },
		{ "cuMemcpy3D_v2_ptds", .has_depth = true },
		{ "cuMemcpy3DAsync_v2", .async = true, .has_depth = true },
		{ "cuMemcpy3DAsync_v2_ptsz", .async = true, .has_depth = true },
		{ "cuMemcpy3DPeer", .has_depth = true, .peers = true },
		{ "cuMemcpy3DPeer_ptds", .has_depth = true, .peers = true },
		{ "cuMemcpy3DPeerAsync", .async = true, .has_depth = true, .peers = true },
		{ "cuMemcpy3DPeerAsync_ptsz", .async = true, .has_depth = true, .peers = true },
	};

	for (size_t i = 0; i < MANY(rows); i++)
		copy_boxes(rows[i]);
}

/* ---- memsets --------------------------------------------------------------------------------- */

/* clang-format off */
static const struct memset {
	const char *api;
	unsigned int element_bytes;
	enum form form;
	uint64_t width, height; /* height 0: a line */
} memsets[] = {
	{ "cuMemsetD8",              1, NARROW, 301,  0 },
	{ "cuMemsetD8_v2",           1, SYNC,   302,  0 },
	{ "cuMemsetD8_v2_ptds",      1, SYNC,   303,  0 },
	{ "cuMemsetD8Async",         1, ASYNC,  304,  0 },
	{ "cuMemsetD8Async_ptsz",    1, ASYNC,  305,  0 },
	{ "cuMemsetD16",             2, NARROW, 306,  0 },
	{ "cuMemsetD16_v2",          2, SYNC,   307,  0 },
	{ "cuMemsetD16_v2_ptds",     2, SYNC,   308,  0 },
	{ "cuMemsetD16Async",        2, ASYNC,  309,  0 },
	{ "cuMemsetD16Async_ptsz",   2, ASYNC,  310,  0 },
	{ "cuMemsetD32",             4, NARROW, 311,  0 },
	{ "cuMemsetD32_v2",          4, SYNC,   312,  0 },
	{ "cuMemsetD32_v2_ptds",     4, SYNC,   313,  0 },
	{ "cuMemsetD32Async",        4, ASYNC,  314,  0 },
	{ "cuMemsetD32Async_ptsz",   4, ASYNC,  315,  0 },
	{ "cuMemsetD2D8",            1, NARROW,  16,  3 },
	{ "cuMemsetD2D8_v2",         1, SYNC,    17,  4 },
	{ "cuMemsetD2D8_v2_ptds",    1, SYNC,    18,  5 },
	{ "cuMemsetD2D8Async",       1, ASYNC,   19,  6 },
	{ "cuMemsetD2D8Async_ptsz",  1, ASYNC,   20,  7 },
	{ "cuMemsetD2D16",           2, NARROW,  21,  8 },
	{ "cuMemsetD2D16_v2",        2, SYNC,    22,  9 },
	{ "cuMemsetD2D16_v2_ptds",   2, SYNC,    23, 10 },
	{ "cuMemsetD2D16Async",      2, ASYNC,   24, 11 },
	{ "cuMemsetD2D16Async_ptsz", 2, ASYNC,   25, 12 },
	{ "cuMemsetD2D32",           4, NARROW,  26, 13 },
	{ "cuMemsetD2D32_v2",        4, SYNC,    27, 14 },
	{ "cuMemsetD2D32_v2_ptds",   4, SYNC,    28, 15 },
	{ "cuMemsetD2D32Async",      4, ASYNC,   29, 16 },
	{ "cuMemsetD2D32Async_ptsz", 4, ASYNC,   30, 17 },
};
/* clang-format on */

/* (address, [pitch,] value, width, [height,] [stream]) */
static void set(const struct memset *m, CUdeviceptr addr, CUresult wanted)
{
	bool narrow = m->form == NARROW;
	CUstream stream = m->form == ASYNC ? rows_driver_stream() : NULL;
	uint64_t args[ROWS_ARGS] = { narrow ? DIRTY(addr) : addr };
	unsigned int n = 1;

	if (m->height)
		args[n++] = narrow ? DIRTY(PITCH) : PITCH;
	args[n++] = DIRTY(0xa5);
	args[n++] = narrow ? DIRTY(m->width) : m->width;
	if (m->height)
		args[n++] = narrow ? DIRTY(m->height) : m->height;
	args[n++] = P(stream);
	rows_call(m->api, rows_driver_symbol(m->api), wanted, args);
	EXPECT(.op = "memset", .api = m->api, .result = wanted,
	       .addr = HEX(narrow ? (uint32_t)addr : addr),
	       .size = DEC(m->element_bytes * m->width * (m->height ? m->height : 1)),
	       .stream = m->form == ASYNC ? HEX(stream) : UNKNOWN);
}

/* Out of all proportion, in each direction. */
static void set_in_vain(struct memset m, CUdeviceptr addr)
{
	m.width <<= 32;
	set(&m, addr, CUDA_ERROR_INVALID_VALUE);
	if (!m.height)
		return;
	m.width >>= 32;
	m.height <<= 32;
	set(&m, addr, CUDA_ERROR_INVALID_VALUE);
}

static void set_all(void)
{
	for (size_t i = 0; i < MANY(memsets); i++) {
		CUdeviceptr addr = place.device[i % 2] + 16 * i;

		if (memsets[i].form == NARROW) {
			set(&memsets[i], addr, CUDA_ERROR_NOT_SUPPORTED);
			continue;
		}
		set(&memsets[i], addr, CUDA_SUCCESS);
		set_in_vain(memsets[i], addr);
	}
}

/* ---- everything ------------------------------------------------------------------------------ */

static void create_arrays(void)
{
	const CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = PITCH,
		.Height = SLICE_ROWS,
		.Depth = SLICES,
		.Format = CU_AD_FORMAT_UNSIGNED_INT8,
		.NumChannels = 1,
	};

	for (size_t i = 0; i < MANY(arrays); i++)
		arrays[i] = rows_driver_create_array(&shape);
}

void rows_driver_copies(const struct place *given)
{
	place = *given;
	create_arrays();
	copies();
	peers();
	boxes();
	set_all();
	for (size_t i = 0; i < MANY(arrays); i++)
		rows_driver_destroy_array(arrays[i], PITCH * SLICE_ROWS * SLICES);
}
