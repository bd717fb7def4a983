/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the simulated driver: mipmapped arrays, prefetches, batches.
 */
#include <string.h>

#include "selftest-driver.h"

static void test_mipmaps(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 64,
		.Height = 16,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
	};
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	CUDA_TEXTURE_DESC description = { 0 };
	CUmipmappedArray mipmap;
	CUarray level, again;
	CUtexObject texture;
	CUcontext context;
	char bytes[4096];

	start();
	FAILS(INVALID_VALUE, cuMipmappedArrayCreate(NULL, &d, 1));
	FAILS(INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, NULL, 1));
	d.Width = 0;
	FAILS(INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, &d, 1));
	d.Width = 1ul << 30;
	FAILS(OUT_OF_MEMORY, cuMipmappedArrayCreate(&mipmap, &d, 1));
	d.Width = 64;
	OK(cuMipmappedArrayCreate(&mipmap, &d, 100));
	CHECK(used() == 4096 + 1024 + 5 * 512);
	OK(cuMipmappedArrayGetLevel(&level, mipmap, 6));
	FAILS(INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 7));
	FAILS(INVALID_VALUE, cuMipmappedArrayGetLevel(NULL, mipmap, 0));
	OK(cuMipmappedArrayGetLevel(&level, mipmap, 2));
	OK(cuMipmappedArrayGetLevel(&again, mipmap, 2));
	OK(cuArray3DGetDescriptor_v2(&d, level));
	CHECK(again == level && d.Width == 16 && d.Height == 4 && d.Depth == 0);
	memset(bytes, 1, sizeof(bytes));
	OK(cuMemcpyHtoA_v2(level, 0, bytes, 256));
	FAILS(INVALID_VALUE, cuMemcpyHtoA_v2(level, 0, bytes, 257));
	OK(cuMipmappedArrayGetLevel(&again, mipmap, 3));
	OK(cuMemcpyAtoH_v2(bytes, again, 0, 64));
	CHECK(!bytes[0] && !bytes[63] && bytes[64]); /* level 3 is apart from level 2 */
	FAILS(INVALID_HANDLE, cuArrayDestroy(level));
	resource.res.mipmap.hMipmappedArray = mipmap;
	OK(cuTexObjectCreate(&texture, &resource, &description, NULL));
	OK(cuMipmappedArrayDestroy(mipmap));
	FAILS(INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
	FAILS(INVALID_HANDLE, cuMipmappedArrayGetLevel(&again, mipmap, 0));
	FAILS(INVALID_HANDLE, cuArray3DGetDescriptor_v2(&d, level));
	CHECK(used() == 0);

	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMipmappedArrayCreate(&mipmap, &d, 0));
	CHECK(used() == 512); /* at least one level */
	OK(cuCtxDestroy_v2(context));
	start();
	FAILS(INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
	CHECK(used() == 0);
}

static void log_mipmaps(const char *lines)
{
	CHECK(selftest_count(lines, " cuMipmappedArrayCreate result=0 handle=0x[0-9a-f]+ "
				    "addr=0x[0-9a-f]+ size=7680 count=7 ") == 1);
	CHECK(selftest_count(lines, " cuMipmappedArrayGetLevel result=0 handle=0x[0-9a-f]+ "
				    "addr=0x[0-9a-f]+ size=256 mipmap=0x[0-9a-f]+ level=2 ") == 2);
}

static void test_prefetch(void)
{
	CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, locations[] = { device, device };
	CUdeviceptr managed, ordinary, ptrs[3];
	size_t sizes[] = { 10, 20, 30 }, starts[] = { 0, 2 };

	start();
	OK(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	ordinary = allocate(MIB);
	OK(cuMemPrefetchAsync(managed, MIB, 0, NULL));
	OK(cuMemPrefetchAsync_ptsz(managed, MIB, CU_DEVICE_CPU, NULL));
	OK(cuMemPrefetchAsync_v2(managed + 1, MIB - 1, device, 0, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchAsync_v2_ptsz(managed, MIB, device, 1, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchAsync(managed, MIB + 1, 0, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchAsync(ordinary, MIB, 0, NULL));
	FAILS(INVALID_VALUE, cuMemPrefetchAsync(managed, 0, 0, NULL));
	FAILS(INVALID_DEVICE, cuMemPrefetchAsync(managed, MIB, 1, NULL));
	FAILS(INVALID_HANDLE, cuMemPrefetchAsync(managed, MIB, 0, (CUstream)&device));
	OK(cuMemAdvise(managed, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 99));
	OK(cuMemAdvise_v2(managed, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
	FAILS(INVALID_VALUE, cuMemAdvise(managed, MIB, 7, 0));
	FAILS(INVALID_VALUE, cuMemAdvise(ordinary, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	device.id = 1;
	FAILS(INVALID_DEVICE,
	      cuMemAdvise_v2(managed, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	for (int i = 0; i < 3; i++)
		ptrs[i] = managed + 100u * (unsigned int)i;
	FAILS(INVALID_VALUE, cuMemPrefetchBatchAsync(ptrs, sizes, 3, locations, starts, 2, 0, 0));
	OK(cuMemPrefetchBatchAsync_ptsz(ptrs, sizes, 3, locations, starts, 2, 0, NULL));
	OK(cuMemDiscardBatchAsync(ptrs, sizes, 3, 0, CU_STREAM_PER_THREAD));
	OK(cuMemDiscardAndPrefetchBatchAsync_ptsz(ptrs, sizes, 3, locations, starts, 1, 0, NULL));
	starts[0] = 1;
	FAILS(INVALID_VALUE,
	      cuMemPrefetchBatchAsync_ptsz(ptrs, sizes, 3, locations, starts, 2, 0, NULL));
	FAILS(INVALID_VALUE, cuMemDiscardBatchAsync_ptsz(ptrs, sizes, 3, 1, NULL));
	ptrs[2] = ordinary;
	FAILS(INVALID_VALUE, cuMemDiscardBatchAsync_ptsz(ptrs, sizes, 3, 0, NULL));
}

static void log_prefetch(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemPrefetchAsync_ptsz result=0 addr=0x[0-9a-f]+ "
				    "size=1048576 ordinal=-1 stream=0x0 ") == 1);
	CHECK(selftest_count(lines, " cuMemPrefetchAsync_v2 result=0 addr=0x[0-9a-f]+ "
				    "size=1048575 ordinal=0 flags=0 stream=0x0 ") == 1);
	CHECK(selftest_count(lines, " cuMemAdvise_v2 result=0 addr=0x[0-9a-f]+ size=1048576 "
				    "attribute=5 ordinal=0 ") == 1);
	CHECK(selftest_count(lines, " cuMemPrefetchBatchAsync_ptsz result=0 count=3 "
				    "addr=0x[0-9a-f]+ size=60 flags=0 stream=0x0 ordinal=0 ") == 1);
}

static void test_batches(void)
{
	CUmemcpyAttributes attributes[2] = {
		{ .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
		{ .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY },
	};
	size_t sizes[] = { 16, 8, 4 }, starts[] = { 0, 1 }, failed;
	CUdeviceptr ptr, dsts[3], srcs[3];
	char in[16] = "0123456789abcdef", out[8] = { 0 };

	start();
	ptr = allocate(16);
	dsts[0] = ptr;
	srcs[0] = (uintptr_t)in;
	dsts[1] = (uintptr_t)out;
	srcs[1] = ptr + 8;
	dsts[2] = (uintptr_t)in;
	srcs[2] = ptr + 12;
	OK(cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, 3, attributes, starts, 2, NULL));
	CHECK(!memcmp(out, "89abcdef", 8) && !memcmp(in, "cdef4567", 8));
	FAILS(INVALID_VALUE, cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, attributes, starts, 2, 0));
	FAILS(INVALID_VALUE,
	      cuMemcpyBatchAsync(dsts, srcs, sizes, 3, attributes, starts, 2, &failed, NULL));
	CHECK(failed == SIZE_MAX);
	srcs[1] = ptr + 9;
	FAILS(INVALID_VALUE,
	      cuMemcpyBatchAsync_ptsz(dsts, srcs, sizes, 3, attributes, starts, 2, &failed, NULL));
	CHECK(failed == 1);
	srcs[1] = ptr;
	starts[1] = 3;
	FAILS(INVALID_VALUE,
	      cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, 3, attributes, starts, 2, NULL));
	attributes[0].srcAccessOrder = 0;
	FAILS(INVALID_VALUE,
	      cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, 3, attributes, starts, 1, NULL));
	FAILS(INVALID_VALUE,
	      cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, 0, attributes, starts, 1, NULL));
}

static void log_batches(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemcpyBatchAsync_v2_ptsz result=0 count=3 dst=0x[0-9a-f]+ "
				    "src=0x[0-9a-f]+ size=28 stream=0x0 ") == 1);
}

static void test_batches_3d(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 4,
		.Height = 4,
		.Format = CU_AD_FORMAT_UNSIGNED_INT16,
		.NumChannels = 1,
	};
	CUDA_MEMCPY3D_BATCH_OP ops[2] = { {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY },
		.extent = { 2, 2, 1 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	} };
	uint16_t in[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, out[2] = { 0 };
	CUarray array, other;
	size_t failed;

	start();
	OK(cuArray3DCreate_v2(&array, &d));
	ops[0].src.op.ptr.ptr = (uintptr_t)&in[1][1];
	ops[0].src.op.ptr.rowLength = 3;
	ops[0].dst.op.array.array = array;
	ops[0].dst.op.array.offset.x = 1;
	ops[1] = ops[0];
	ops[1].src = ops[0].dst;
	ops[1].src.op.array.offset.y = 1;
	ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	ops[1].dst.op.ptr.ptr = (uintptr_t)out;
	ops[1].dst.op.ptr.rowLength = ops[1].dst.op.ptr.layerHeight = 0;
	ops[1].extent.height = 1;
	OK(cuMemcpy3DBatchAsync_v2_ptsz(2, ops, 0, NULL));
	CHECK(out[0] == 8 && out[1] == 9);
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(2, ops, 0, CU_STREAM_LEGACY));
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync_v2_ptsz(2, ops, 1, NULL));
	ops[1].extent.width = 4; /* one beyond the row */
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync_ptsz(2, ops, &failed, 0, NULL));
	CHECK(failed == 1);
	ops[0].src.op.ptr.rowLength = 1;
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync(2, ops, &failed, 0, CU_STREAM_PER_THREAD));
	CHECK(failed == 0);
	d.NumChannels = 2;
	OK(cuArray3DCreate_v2(&other, &d));
	ops[1].src.op.array.array = other;
	ops[1].dst = ops[1].src;
	ops[1].extent.width = 1;
	OK(cuMemcpy3DBatchAsync_v2(1, &ops[1], 0, CU_STREAM_PER_THREAD));
	ops[1].dst.op.array.array = array; /* whose elements are smaller */
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(1, &ops[1], 0, CU_STREAM_PER_THREAD));
	OK(cuArrayDestroy(array));
	FAILS(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(2, ops, 0, CU_STREAM_PER_THREAD));
}

static void log_batches_3d(const char *lines)
{
	CHECK(selftest_count(lines,
			     " cuMemcpy3DBatchAsync_v2_ptsz result=0 count=2 "
			     "dst=0x[0-9a-f]+ src=0x[0-9a-f]+ size=12 flags=0 stream=0x0 ") == 1);
}

const struct selftest selftests[] = {
	{ "mipmaps", test_mipmaps, { NULL }, log_mipmaps, 0 },
	{ "prefetch", test_prefetch, { NULL }, log_prefetch, 0 },
	{ "batches", test_batches, { NULL }, log_batches, 0 },
	{ "batches-3d", test_batches_3d, { NULL }, log_batches_3d, 0 },
	{ NULL, NULL, { NULL }, NULL, 0 },
};
