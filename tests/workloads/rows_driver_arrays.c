// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: arrays. Their sizes are those of their elements; what the driver takes is more.
 */
#include "rows_driver.h"

static void expect_alloc(const char *api, CUresult wanted, const void *handle, uint64_t size)
{
	EXPECT(.op = "alloc", .api = api, .result = wanted,
	       .addr = wanted == CUDA_SUCCESS ? HEX(handle) : UNKNOWN,
	       .size = size ? DEC(size) : UNKNOWN, .space = "array");
}

static void destroy(const char *api, void *handle, uint64_t size)
{
	CALL(CUDA_SUCCESS, api, P(handle));
	EXPECT(.op = "free", .api = api, .addr = HEX(handle), .size = DEC(size), .space = "array");
	CALL(CUDA_ERROR_INVALID_HANDLE, api, P(handle));
	EXPECT(.op = "free", .api = api, .result = CUDA_ERROR_INVALID_HANDLE, .addr = HEX(handle));
}

static void create_2d(const CUDA_ARRAY_DESCRIPTOR *shape, uint64_t size, CUresult wanted)
{
	CUarray array = NULL;

	CALL(wanted, "cuArrayCreate_v2", P(&array), P(shape));
	expect_alloc("cuArrayCreate_v2", wanted, array, size);
	if (wanted == CUDA_SUCCESS)
		destroy("cuArrayDestroy", array, size);
}

static CUarray create_3d(const CUDA_ARRAY3D_DESCRIPTOR *shape, uint64_t size, CUresult wanted)
{
	CUarray array = NULL;

	CALL(wanted, "cuArray3DCreate_v2", P(&array), P(shape));
	expect_alloc("cuArray3DCreate_v2", wanted, array, size);
	return array;
}

/* Of bytes. */
CUarray rows_driver_create_array(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	return create_3d(shape, shape->Width * shape->Height * shape->Depth, CUDA_SUCCESS);
}

void rows_driver_destroy_array(CUarray array, uint64_t size)
{
	destroy("cuArrayDestroy", array, size);
}

static void create_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int levels, uint64_t size,
			  CUresult wanted)
{
	CUmipmappedArray array = NULL;

	CALL(wanted, "cuMipmappedArrayCreate", P(&array), P(shape), DIRTY(levels));
	expect_alloc("cuMipmappedArrayCreate", wanted, array, size);
	if (wanted == CUDA_SUCCESS)
		destroy("cuMipmappedArrayDestroy", array, size);
}

static void flat(void)
{
	static const struct {
		CUDA_ARRAY_DESCRIPTOR shape;
		uint64_t size;
	} rows[] = {
		{ { 101, 7, CU_AD_FORMAT_UNSIGNED_INT8, 1 }, 101 * 7 },
		{ { 102, 8, CU_AD_FORMAT_UNSIGNED_INT16, 2 }, 102 * 8 * 4 },
		{ { 103, 0, CU_AD_FORMAT_UNSIGNED_INT32, 4 }, 103 * 16 },
		{ { 104, 9, CU_AD_FORMAT_SIGNED_INT8, 2 }, 104 * 9 * 2 },
		{ { 105, 0, CU_AD_FORMAT_SIGNED_INT16, 1 }, 105 * 2 },
		{ { 106, 10, CU_AD_FORMAT_SIGNED_INT32, 1 }, 106 * 10 * 4 },
		{ { 107, 11, CU_AD_FORMAT_HALF, 4 }, 107 * 11 * 8 },
		{ { 108, 12, CU_AD_FORMAT_FLOAT, 2 }, 108 * 12 * 8 },
	};
	const CUDA_ARRAY_DESCRIPTOR huge = { 1 << 20, 1 << 21, CU_AD_FORMAT_FLOAT, 1 };
	const CUDA_ARRAY_DESCRIPTOR odd = { 16, 16, 0x77, 1 };

	for (size_t i = 0; i < MANY(rows); i++)
		create_2d(&rows[i].shape, rows[i].size, CUDA_SUCCESS);
	create_2d(&huge, 1ull << 43, CUDA_ERROR_OUT_OF_MEMORY);
	create_2d(&odd, 0, CUDA_ERROR_INVALID_VALUE);
}

static void deep(void)
{
	static const struct {
		CUDA_ARRAY3D_DESCRIPTOR shape;
		uint64_t size;
	} rows[] = {
		{ { 31, 17, 5, CU_AD_FORMAT_FLOAT, 4, 0 }, 31 * 17 * 5 * 16 },
		{ { 32, 18, 0, CU_AD_FORMAT_HALF, 1, 0 }, 32 * 18 * 2 },
		{ { 33, 0, 0, CU_AD_FORMAT_HALF, 2, 0 }, 33 * 4 },
		{ { 34, 0, 7, CU_AD_FORMAT_HALF, 1, CUDA_ARRAY3D_LAYERED }, 34 * 7 * 2 },
		{ { 35, 19, 3, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED },
		  35 * 19 * 3 * 4 },
		{ { 36, 36, 6, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_CUBEMAP }, 36 * 36 * 6 },
	};
	const CUDA_ARRAY3D_DESCRIPTOR huge = {
		1 << 14, 1 << 13, 1 << 13, CU_AD_FORMAT_FLOAT, 1, 0
	};

	for (size_t i = 0; i < MANY(rows); i++)
		destroy("cuArrayDestroy", create_3d(&rows[i].shape, rows[i].size, CUDA_SUCCESS),
			rows[i].size);
	create_3d(&huge, 1ull << 42, CUDA_ERROR_OUT_OF_MEMORY);
}

static void mipmapped(void)
{
	const CUDA_ARRAY3D_DESCRIPTOR plane = { 64, 16, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
	const CUDA_ARRAY3D_DESCRIPTOR box = { 13, 5, 3, CU_AD_FORMAT_HALF, 2, 0 };
	const CUDA_ARRAY3D_DESCRIPTOR line = { 9, 0, 0, CU_AD_FORMAT_HALF, 1, 0 };
	const CUDA_ARRAY3D_DESCRIPTOR huge = { 1 << 21, 1 << 20, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
	const CUDA_ARRAY3D_DESCRIPTOR layers = { 16, 8,
						 5,  CU_AD_FORMAT_HALF,
						 1,  CUDA_ARRAY3D_LAYERED };
	const CUDA_ARRAY3D_DESCRIPTOR faces = {
		8, 8, 6, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_CUBEMAP
	};
	const uint64_t sides = 64 * 16 + 32 * 8 + 16 * 4;

	create_mipmap(&plane, 1, 64 * 16 * 4, CUDA_SUCCESS);
	create_mipmap(&plane, 3, sides * 4, CUDA_SUCCESS);
	create_mipmap(&plane, 7, (sides + 8 * 2 + 4 + 2 + 1) * 4, CUDA_SUCCESS);
	create_mipmap(&plane, 100, (sides + 8 * 2 + 4 + 2 + 1) * 4, CUDA_SUCCESS);
	create_mipmap(&plane, 0, 64 * 16 * 4, CUDA_SUCCESS);
	create_mipmap(&box, 3, (13 * 5 * 3 + 6 * 2 + 3) * 4, CUDA_SUCCESS);
	create_mipmap(&line, 9, (9 + 4 + 2 + 1) * 2, CUDA_SUCCESS);
	create_mipmap(&layers, 3, (16 * 8 + 8 * 4 + 4 * 2) * 5 * 2, CUDA_SUCCESS);
	create_mipmap(&faces, 9, (64 + 16 + 4 + 1) * 6 * 8, CUDA_SUCCESS);
	create_mipmap(&huge, 1, 1ull << 43, CUDA_ERROR_OUT_OF_MEMORY);
}

/* ---- what describes them --------------------------------------------------------------------- */

static void described(void)
{
	const CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 41,
						.Height = 3,
						.Depth = 2,
						.Format = CU_AD_FORMAT_UNSIGNED_INT8,
						.NumChannels = 1 };
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
	const CUDA_TEXTURE_DESC texture = { .flags = 0 };
	CUarray array = rows_driver_create_array(&shape);
	void *handle;

	resource.res.array.hArray = array;
	handle = rows_driver_make("cuTexObjectCreate", CUDA_SUCCESS, P(&resource), P(&texture));
	rows_driver_end("cuTexObjectDestroy", handle, CUDA_SUCCESS);
	rows_driver_end("cuTexObjectDestroy", handle, CUDA_ERROR_INVALID_VALUE);
	rows_driver_make("cuTexObjectCreate", CUDA_ERROR_INVALID_VALUE, 0, P(&texture));
	handle = rows_driver_make("cuSurfObjectCreate", CUDA_SUCCESS, P(&resource), 0);
	rows_driver_end("cuSurfObjectDestroy", handle, CUDA_SUCCESS);
	rows_driver_end("cuSurfObjectDestroy", handle, CUDA_ERROR_INVALID_VALUE);
	rows_driver_make("cuSurfObjectCreate", CUDA_ERROR_INVALID_VALUE, 0, 0);
	rows_driver_destroy_array(array, 41 * 3 * 2);
}

/* CUarrayMapInfo: the array is its second word. */
static void mapped(const char *api)
{
	const uint64_t info[24] = { 0, 0xa55a };
	CUstream stream = rows_driver_stream();

	CALL(CUDA_ERROR_NOT_SUPPORTED, api, P(info), DIRTY(1), P(stream));
	EXPECT(.op = "memory", .api = api, .result = CUDA_ERROR_NOT_SUPPORTED, .addr = HEX(0xa55a),
	       .stream = HEX(stream));
}

void rows_driver_arrays(void)
{
	flat();
	deep();
	mipmapped();
	described();
	mapped("cuMemMapArrayAsync");
	mapped("cuMemMapArrayAsync_ptsz");
}
