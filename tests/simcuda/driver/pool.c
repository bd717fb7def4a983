/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stream-ordered memory. A pool reserves memory from its device and uses some of it; what is freed
 * stays reserved ("parked" in the arena) for allocations of the same size, until a synchronization
 * finds more reserved than the release threshold, or until the device is full. Everything happens
 * when it is called: our streams have nothing outstanding.
 */
#include "graph.h"

#define ATTRIBUTE_COUNT 9

struct CUmemPoolHandle_st {
	struct object object;
	struct device *device;
	bool is_default;
	bool destroyed;                      /* but allocations are outstanding */
	uint64_t max_bytes;                  /* 0: no limit of its own */
	uint64_t attribute[ATTRIBUTE_COUNT]; /* by CUmemPool_attribute */
};

#define RESERVED(pool) ((pool)->attribute[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT])
#define USED(pool) ((pool)->attribute[CU_MEMPOOL_ATTR_USED_MEM_CURRENT])

static struct slab pools = SLAB(struct CUmemPoolHandle_st, 4096);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all pools */

static CUmemoryPool pool_new(struct device *device, uint64_t max_bytes, bool is_default)
{
	struct CUmemPoolHandle_st new = {
		.device = device,
		.is_default = is_default,
		.max_bytes = max_bytes,
		.attribute[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1,
		.attribute[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1,
		.attribute[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1,
	};
	CUmemoryPool pool;

	pthread_mutex_lock(&lock);
	pool = slab_new(&pools, &new);
	pthread_mutex_unlock(&lock);
	return pool;
}

CUmemoryPool pool_new_default(struct device *device)
{
	return pool_new(device, 0, true);
}

static bool pool_valid(CUmemoryPool pool)
{
	return slab_has(&pools, pool) && !__atomic_load_n(&pool->destroyed, __ATOMIC_ACQUIRE);
}

/* current is changed by bytes, the high-water mark that follows it in the array keeps up. */
static void account(CUmemoryPool pool, CUmemPool_attribute current, uint64_t bytes)
{
	uint64_t *value = &pool->attribute[current];

	value[0] += bytes;
	if (value[0] > value[1])
		value[1] = value[0];
}

/* Gives back parked memory until only keep_bytes are reserved. Locked. */
static void trim(CUmemoryPool pool, uint64_t keep_bytes)
{
	if (RESERVED(pool) > keep_bytes && RESERVED(pool) > USED(pool))
		RESERVED(pool) -=
			arena_trim(pool->device->memory, pool, RESERVED(pool) - keep_bytes);
}

/* New memory from the device. Locked. */
static bool reserve(CUmemoryPool pool, struct arena_block *block, uint64_t bytes)
{
	uint64_t limit = pool->max_bytes ? pool->max_bytes : UINT64_MAX;

	if (bytes > limit)
		return false;
	if (RESERVED(pool) > limit - bytes)
		trim(pool, 0);
	if (RESERVED(pool) > limit - bytes)
		return false;
	if (!arena_alloc(pool->device->memory, block)) {
		trim(pool, 0);
		if (!arena_alloc(pool->device->memory, block))
			return false;
	}
	account(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, bytes);
	return true;
}

static CUresult pool_alloc(CUmemoryPool pool, size_t size, CUdeviceptr *ptr)
{
	struct arena_block block = { .size_bytes = size, .owner = pool, .use = ARENA_POOL };
	uint64_t bytes = arena_rounded(pool->device->memory, size);
	bool done;

	if (!ptr || !size)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	done = arena_unpark(pool->device->memory, &block) || reserve(pool, &block, bytes);
	if (done) {
		account(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, bytes);
		*ptr = block.addr;
	}
	pthread_mutex_unlock(&lock);
	return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What cuMemPoolDestroy put off while allocations were outstanding. Locked. */
static void delete_if_done(CUmemoryPool pool)
{
	if (!pool->destroyed || USED(pool))
		return;
	trim(pool, 0);
	slab_delete(&pools, pool);
}

bool pool_free(CUdeviceptr addr)
{
	struct arena_block block;
	CUmemoryPool pool;
	bool freed;

	pthread_mutex_lock(&lock);
	freed = space_find(addr, &block) && block.use == ARENA_POOL;
	if (freed) {
		pool = block.owner;
		freed = arena_park(pool->device->memory, addr);
	}
	if (freed) {
		USED(pool) -= arena_rounded(pool->device->memory, block.size_bytes);
		delete_if_done(pool);
	}
	pthread_mutex_unlock(&lock);
	return freed;
}

void pool_synchronize(struct device *device)
{
	CUmemoryPool pool = NULL;

	pthread_mutex_lock(&lock);
	while ((pool = slab_next(&pools, pool)))
		if (pool->device == device)
			trim(pool, pool->attribute[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
	pthread_mutex_unlock(&lock);
}

/* The current pool of the stream's device; NULL when there is no saying which that is. */
static CUmemoryPool pool_of_stream(CUstream stream)
{
	CUcontext context = stream_context(stream);

	return context ? __atomic_load_n(&context->device->pool, __ATOMIC_ACQUIRE) : NULL;
}

static CUresult alloc_async(CUdeviceptr *ptr, size_t size, CUmemoryPool pool, CUstream stream)
{
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream_context(stream))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!pool_valid(pool))
		return CUDA_ERROR_INVALID_VALUE;
	/* The graph's then, not the pool's. */
	if (capture_active(stream))
		return capture_alloc(stream, pool->device, size, ptr);
	return pool_alloc(pool, size, ptr);
}

CU_DEFINE_PTSZ(INIT, cuMemAllocAsync, (CUdeviceptr *ptr, size_t size, CUstream stream),
	       (ptr, size, stream), OUT_HEX(addr, ptr), DEC(size, size), HEX(stream, stream),
	       HEX(pool, pool_of_stream(stream)), NOTE_CAPTURE(stream))
{
	return alloc_async(ptr, size, pool_of_stream(stream), stream);
}

CU_DEFINE_PTSZ(INIT, cuMemAllocFromPoolAsync,
	       (CUdeviceptr *ptr, size_t size, CUmemoryPool pool, CUstream stream),
	       (ptr, size, pool, stream), OUT_HEX(addr, ptr), DEC(size, size), HEX(stream, stream),
	       HEX(pool, pool), NOTE_CAPTURE(stream))
{
	return alloc_async(ptr, size, pool, stream);
}

CU_DEFINE_PTSZ(INIT, cuMemFreeAsync, (CUdeviceptr ptr, CUstream stream), (ptr, stream),
	       HEX(addr, ptr), HEX(stream, stream), NOTE_CAPTURE(stream))
{
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream_context(stream))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (capture_active(stream))
		return capture_free(stream, ptr);
	return pool_free(ptr) || graph_memory_free(ptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(INIT, cuMemPoolCreate, (CUmemoryPool *pool, const CUmemPoolProps *props), (pool, props),
	  OUT_HEX(handle, pool))
{
	struct device *device;

	if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	device = device_find(props->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = pool_new(device, props->maxSize, false);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(INIT, cuMemPoolDestroy, (CUmemoryPool pool), (pool), HEX(handle, pool))
{
	struct device *device;

	if (!pool_valid(pool) || pool->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	device = pool->device;
	if (device->pool == pool)
		__atomic_store_n(&device->pool, device->default_pool, __ATOMIC_RELEASE);
	__atomic_store_n(&pool->destroyed, true, __ATOMIC_RELEASE);
	trim(pool, 0);
	delete_if_done(pool);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep_bytes), (pool, keep_bytes),
	  HEX(handle, pool), DEC(size, keep_bytes))
{
	if (!pool_valid(pool))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	trim(pool, keep_bytes);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* The first three attributes are an int, the others 64 bits. */
static bool is_int(CUmemPool_attribute attribute)
{
	return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
}

static uint64_t attribute_value(CUmemPool_attribute attribute, const void *value)
{
	return is_int(attribute) ? (uint64_t) * (const int *)value : *(const uint64_t *)value;
}

static bool settable(CUmemPool_attribute attribute, uint64_t value)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return !value;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return false;
	default:
		return true;
	}
}

static bool attribute_valid(CUmemoryPool pool, CUmemPool_attribute attribute, const void *value)
{
	return pool_valid(pool) && value && attribute > 0 && attribute < ATTRIBUTE_COUNT;
}

CU_DEFINE(INIT, cuMemPoolSetAttribute,
	  (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
	  (pool, attribute, value), HEX(handle, pool), DEC(attribute, attribute),
	  result ? (void)0 : DEC(value, attribute_value(attribute, value)))
{
	uint64_t number;

	if (!attribute_valid(pool, attribute, value))
		return CUDA_ERROR_INVALID_VALUE;
	number = attribute_value(attribute, value);
	if (!settable(attribute, number))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	/* A high-water mark starts again from where things are now. */
	if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
	    attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		number = pool->attribute[attribute - 1];
	pool->attribute[attribute] = number;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuMemPoolGetAttribute,
	  (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
	  (pool, attribute, value), HEX(handle, pool), DEC(attribute, attribute),
	  result ? (void)0 : DEC(value, attribute_value(attribute, value)))
{
	uint64_t number;

	if (!attribute_valid(pool, attribute, value))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	number = pool->attribute[attribute];
	pthread_mutex_unlock(&lock);
	if (is_int(attribute))
		*(int *)value = (int)number;
	else
		*(uint64_t *)value = number;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device), (pool, device),
	  DEC(ordinal, device), OUT_HEX(handle, pool))
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = device_find(device)->default_pool;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device), (pool, device),
	  DEC(ordinal, device), OUT_HEX(handle, pool))
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = __atomic_load_n(&device_find(device)->pool, __ATOMIC_ACQUIRE);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), (device, pool),
	  DEC(ordinal, device), HEX(handle, pool))
{
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool_valid(pool) || pool->device != device_find(device))
		return CUDA_ERROR_INVALID_VALUE;
	__atomic_store_n(&device_find(device)->pool, pool, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}
