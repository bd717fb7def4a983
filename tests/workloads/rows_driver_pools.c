// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: stream-ordered memory, and what the program is told of memory.
 */
#include "rows_driver.h"

/* ---- stream-ordered allocations -------------------------------------------------------------- */

static void free_async(const char *api, const struct block *block)
{
	CUstream stream = rows_driver_stream();

	CALL(CUDA_SUCCESS, api, block->addr, P(stream));
	EXPECT(.op = "free", .api = api, .addr = HEX(block->addr), .size = DEC(block->size),
	       .stream = HEX(stream), .space = block->space);
	stream = rows_driver_stream();
	CALL(CUDA_ERROR_INVALID_VALUE, api, block->addr, P(stream));
	EXPECT(.op = "free", .api = api, .result = CUDA_ERROR_INVALID_VALUE,
	       .addr = HEX(block->addr), .stream = HEX(stream));
}

/* With pool: of cuMemAllocFromPoolAsync. */
static void allocate_async(const char *api, uint64_t size, CUmemoryPool pool, CUresult wanted,
			   const char *free_api)
{
	struct block block = { .size = size, .space = "pool" };
	CUstream stream = rows_driver_stream();
	uint64_t args[ROWS_ARGS] = { P(&block.addr), size, pool ? P(pool) : P(stream), P(stream) };

	rows_call(api, rows_driver_symbol(api), wanted, args);
	EXPECT(.op = "alloc", .api = api, .result = wanted, .size = DEC(size),
	       .addr = wanted == CUDA_SUCCESS ? HEX(block.addr) : UNKNOWN, .stream = HEX(stream),
	       .space = "pool", .backing = pool ? HEX(pool) : UNKNOWN);
	if (free_api)
		free_async(free_api, &block);
}

static void allocate_from(CUmemoryPool pool, uint64_t size, CUdeviceptr *ptr)
{
	CALL(CUDA_SUCCESS, "cuMemAllocFromPoolAsync", P(ptr), size, P(pool), 0);
	EXPECT(.op = "alloc", .api = "cuMemAllocFromPoolAsync", .size = DEC(size),
	       .addr = HEX(*ptr), .stream = "0x0", .space = "pool", .backing = HEX(pool));
}

static void free_to(CUdeviceptr ptr, uint64_t size)
{
	CALL(CUDA_SUCCESS, "cuMemFreeAsync", ptr, 0);
	EXPECT(.op = "free", .api = "cuMemFreeAsync", .addr = HEX(ptr), .size = DEC(size),
	       .stream = "0x0", .space = "pool");
}

static void allocations(CUmemoryPool pool)
{
	static const struct {
		const char *alloc, *from_pool, *free;
		uint64_t size;
	} rows[] = {
		{ "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", 50021 },
		{ "cuMemAllocAsync_ptsz", "cuMemAllocFromPoolAsync_ptsz", "cuMemFreeAsync_ptsz",
		  60013 },
	};

	for (size_t i = 0; i < MANY(rows); i++) {
		uint64_t size = rows[i].size;

		allocate_async(rows[i].alloc, size, NULL, CUDA_SUCCESS, rows[i].free);
		allocate_async(rows[i].alloc, size << 30, NULL, CUDA_ERROR_OUT_OF_MEMORY, NULL);
		allocate_async(rows[i].from_pool, size + 2, pool, CUDA_SUCCESS, rows[i].free);
		allocate_async(rows[i].from_pool, size << 29, pool, CUDA_ERROR_OUT_OF_MEMORY, NULL);
	}
}

/* ---- pools themselves ------------------------------------------------------------------------ */

static CUmemoryPool create_pool(int device, CUresult wanted)
{
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .location = { CU_MEM_LOCATION_TYPE_DEVICE, device } };
	CUmemoryPool pool = NULL;

	CALL(wanted, "cuMemPoolCreate", P(&pool), P(&props));
	EXPECT(.op = "memory", .api = "cuMemPoolCreate", .result = wanted,
	       .addr = wanted == CUDA_SUCCESS ? HEX(pool) : UNKNOWN);
	return pool;
}

CUmemoryPool rows_driver_create_pool(void)
{
	return create_pool(0, CUDA_SUCCESS);
}

static void destroy_pool(CUmemoryPool pool, CUresult wanted)
{
	CALL(wanted, "cuMemPoolDestroy", P(pool));
	EXPECT(.op = "memory", .api = "cuMemPoolDestroy", .result = wanted, .addr = HEX(pool));
}

void rows_driver_destroy_pool(CUmemoryPool pool)
{
	destroy_pool(pool, CUDA_SUCCESS);
}

static void trim(CUmemoryPool pool, uint64_t keep, CUresult wanted)
{
	CALL(wanted, "cuMemPoolTrimTo", P(pool), keep);
	EXPECT(.op = "memory", .api = "cuMemPoolTrimTo", .result = wanted, .addr = HEX(pool),
	       .size = DEC(keep));
}

/* The first three are 32 bits wide. */
static void attribute(CUmemoryPool pool, CUmemPool_attribute which, CUresult wanted)
{
	union {
		uint64_t wide;
		int narrow;
	} value = { 0x5a5a5a5a5a5a5a5a };

	CALL(wanted, "cuMemPoolGetAttribute", P(pool), DIRTY(which), P(&value));
	EXPECT(.op = "memory", .api = "cuMemPoolGetAttribute", .result = wanted, .addr = HEX(pool),
	       .attribute = DEC(which),
	       .size = wanted != CUDA_SUCCESS                    ? UNKNOWN :
		       which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? DEC(value.narrow) :
								   DEC(value.wide));
}

static void set_attribute(CUmemoryPool pool, uint32_t which, uint64_t value, CUresult wanted)
{
	CALL(wanted, "cuMemPoolSetAttribute", P(pool), DIRTY(which), P(&value));
	EXPECT(.op = "memory", .api = "cuMemPoolSetAttribute", .result = wanted, .addr = HEX(pool),
	       .attribute = DEC(which), .size = wanted == CUDA_SUCCESS ? DEC(value) : UNKNOWN);
}

/* What the device gives to whoever names none. */
static void set_current(CUmemoryPool pool, int device, CUresult wanted)
{
	CALL(wanted, "cuDeviceSetMemPool", DIRTY(device), P(pool));
	EXPECT(.op = "memory", .api = "cuDeviceSetMemPool", .result = wanted, .addr = HEX(pool),
	       .device = DEC(device));
}

static void current(CUmemoryPool pool)
{
	CUmemoryPool before;

	NEED(cuDeviceGetMemPool(&before, 0));
	set_current(pool, 0, CUDA_SUCCESS);
	set_current(pool, 1, CUDA_ERROR_INVALID_VALUE);
	set_current(before, 0, CUDA_SUCCESS);
}

static void attributes(CUmemoryPool pool)
{
	CUdeviceptr large, small;

	set_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (5ull << 32) + 7, CUDA_SUCCESS);
	set_attribute(pool, 77, 3, CUDA_ERROR_INVALID_VALUE);
	allocate_from(pool, 1 << 20, &large);
	allocate_from(pool, 1 << 10, &small);
	free_to(large, 1 << 20);
	for (int which = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
	     which <= CU_MEMPOOL_ATTR_USED_MEM_HIGH; which++)
		attribute(pool, which, CUDA_SUCCESS);
	attribute(pool, 0, CUDA_ERROR_INVALID_VALUE);
	attribute((CUmemoryPool)&large, CU_MEMPOOL_ATTR_USED_MEM_HIGH, CUDA_ERROR_INVALID_VALUE);
	trim(pool, 4096, CUDA_SUCCESS);
	attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CUDA_SUCCESS);
	free_to(small, 1 << 10);
}

void rows_driver_pools(void)
{
	const CUresult unsupported = CUDA_ERROR_NOT_SUPPORTED;
	CUmemoryPool pool = rows_driver_create_pool(), untouched;
	size_t free_bytes, total_bytes;

	create_pool(9, CUDA_ERROR_INVALID_DEVICE);
	allocations(pool);
	attributes(pool);
	current(pool);
	trim(pool, 12345ull << 32, CUDA_SUCCESS);
	destroy_pool(pool, CUDA_SUCCESS);
	destroy_pool(pool, CUDA_ERROR_INVALID_VALUE);
	trim(pool, 12347, CUDA_ERROR_INVALID_VALUE);
	rows_driver_make("cuMemPoolImportFromShareableHandle", unsupported, 7, DIRTY(1));
	CALL(unsupported, "cuMemPoolImportPointer", P(&untouched), P(pool), P(&untouched));
	EXPECT(.op = "alloc", .api = "cuMemPoolImportPointer", .result = unsupported,
	       .space = "imported", .live = "0");

	CALL(CUDA_SUCCESS, "cuMemGetInfo_v2", P(&free_bytes), P(&total_bytes));
	EXPECT(.op = "memory", .api = "cuMemGetInfo_v2", .size = DEC(total_bytes),
	       .free_bytes = DEC(free_bytes));
	CALL(CUDA_ERROR_INVALID_VALUE, "cuMemGetInfo_v2", 0, P(&total_bytes));
	EXPECT(.op = "memory", .api = "cuMemGetInfo_v2", .result = CUDA_ERROR_INVALID_VALUE);
}
