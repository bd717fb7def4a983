/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that graphs allocate. Addresses come from a space of their own, which is larger than
 * the device, because every allocation node has one all the time; memory is counted while a launch
 * has it allocated. What is freed stays reserved for graphs, whichever they are, until
 * cuDeviceGraphMemTrim.
 */
#include "kernel.h"
#include "graph.h"

#define SPACE_BYTES (1ull << 40)
#define SPACE_GRANULE (2ull << 20)

#define USED(device) ((device)->graph_attribute[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT])
#define RESERVED(device) ((device)->graph_attribute[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT])

static struct slab memories = SLAB(struct graph_memory, 1 << 20);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of them and the attributes */

struct arena *graph_memory_space(void)
{
	return arena_new(SPACE_BYTES, SPACE_GRANULE, false);
}

static struct arena_block block_of(struct graph_memory *memory)
{
	return (struct arena_block){
		.size_bytes = memory->size_bytes,
		.owner = memory,
		.use = ARENA_GRAPH,
	};
}

/* A parked block is found by nobody but its owner, so this keeps an address without memory. */
static bool take_address(struct graph_memory *memory)
{
	struct arena_block block = block_of(memory);

	if (!arena_alloc(memory->device->graph_space, &block))
		return false;
	memory->addr = block.addr;
	return arena_park(memory->device->graph_space, block.addr);
}

struct graph_memory *graph_memory_new(struct device *device, uint64_t size_bytes,
				      unsigned long long graph_id)
{
	struct graph_memory new = {
		.device = device,
		.size_bytes = size_bytes,
		.graph_id = graph_id,
		.references = 1,
	};
	struct graph_memory *memory;

	pthread_mutex_lock(&lock);
	memory = slab_new(&memories, &new);
	if (memory && !take_address(memory)) {
		slab_delete(&memories, memory);
		memory = NULL;
	}
	pthread_mutex_unlock(&lock);
	return memory;
}

struct graph_memory *graph_memory_find(CUdeviceptr addr)
{
	struct graph_memory *memory = NULL;

	pthread_mutex_lock(&lock);
	while ((memory = slab_next(&memories, memory)))
		if (memory->addr == addr)
			break;
	if (memory)
		memory->references++;
	pthread_mutex_unlock(&lock);
	return memory;
}

bool graph_memory_planned(CUdeviceptr addr, uint64_t size_bytes)
{
	struct graph_memory *memory = NULL;

	pthread_mutex_lock(&lock);
	while ((memory = slab_next(&memories, memory)))
		if (addr - memory->addr < memory->size_bytes)
			break;
	pthread_mutex_unlock(&lock);
	return memory && size_bytes <= memory->size_bytes - (addr - memory->addr);
}

void graph_memory_get(struct graph_memory *memory)
{
	pthread_mutex_lock(&lock);
	memory->references++;
	pthread_mutex_unlock(&lock);
}

/* Locked. */
static void put(struct graph_memory *memory)
{
	if (--memory->references)
		return;
	arena_trim(memory->device->graph_space, memory, UINT64_MAX);
	slab_delete(&memories, memory);
}

void graph_memory_put(struct graph_memory *memory)
{
	pthread_mutex_lock(&lock);
	put(memory);
	pthread_mutex_unlock(&lock);
}

uint64_t graph_memory_bytes(const struct graph_memory *memory)
{
	return arena_rounded(memory->device->memory, memory->size_bytes);
}

static void keep_high(uint64_t *value)
{
	if (value[0] > value[1])
		value[1] = value[0];
}

/* Makes room for `bytes` more than are used. Locked. */
static bool reserve(struct device *device, uint64_t bytes)
{
	uint64_t missing = USED(device) + bytes - RESERVED(device);

	if (USED(device) + bytes <= RESERVED(device))
		return true;
	if (!arena_charge(device->memory, missing))
		return false;
	RESERVED(device) += missing;
	kernel_hold(device->physical, RESERVED(device));
	return true;
}

/* Locked. */
static void trim(struct device *device)
{
	arena_uncharge(device->memory, RESERVED(device) - USED(device));
	RESERVED(device) = USED(device);
	kernel_hold(device->physical, RESERVED(device));
}

bool graph_memory_reserve(const uint64_t *bytes)
{
	uint64_t before[DEVICE_MAX];
	bool fits = true;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < device_count(); i++) {
		before[i] = RESERVED(device_find((CUdevice)i));
		fits = fits && reserve(device_find((CUdevice)i), bytes[i]);
	}
	for (unsigned int i = 0; i < device_count() && !fits; i++) {
		struct device *device = device_find((CUdevice)i);

		arena_uncharge(device->memory, RESERVED(device) - before[i]);
		RESERVED(device) = before[i];
		kernel_hold(device->physical, RESERVED(device));
	}
	for (unsigned int i = 0; i < device_count(); i++)
		keep_high(&RESERVED(device_find((CUdevice)i)));
	pthread_mutex_unlock(&lock);
	return fits;
}

bool graph_memory_alloc(struct graph_memory *memory)
{
	struct arena_block block = block_of(memory);
	struct device *device = memory->device;
	bool done;

	pthread_mutex_lock(&lock);
	/* Reserved before, unless another thread trimmed in between. */
	done = !memory->live && reserve(device, graph_memory_bytes(memory)) &&
	       arena_unpark(device->graph_space, &block);
	if (done) {
		memory->live = true;
		memory->references++;
		USED(device) += graph_memory_bytes(memory);
		keep_high(&USED(device));
		keep_high(&RESERVED(device));
	}
	pthread_mutex_unlock(&lock);
	return done;
}

/* Locked. */
static bool release(struct graph_memory *memory)
{
	if (!memory->live)
		return false;
	memory->live = false;
	arena_park(memory->device->graph_space, memory->addr);
	USED(memory->device) -= graph_memory_bytes(memory);
	put(memory);
	return true;
}

bool graph_memory_release(struct graph_memory *memory)
{
	bool released;

	pthread_mutex_lock(&lock);
	released = release(memory);
	pthread_mutex_unlock(&lock);
	return released;
}

bool graph_memory_free(CUdeviceptr addr)
{
	struct arena_block block;
	bool freed;

	pthread_mutex_lock(&lock);
	freed = space_find(addr, &block) && block.use == ARENA_GRAPH && block.addr == addr &&
		!((struct graph_memory *)block.owner)->freed_by_owner && release(block.owner);
	pthread_mutex_unlock(&lock);
	return freed;
}

CU_DEFINE(INIT, cuDeviceGraphMemTrim, (CUdevice device), (device), DEC(ordinal, device))
{
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	trim(device_find(device));
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult check(CUdevice device, CUgraphMem_attribute attribute, const void *value)
{
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return value && (unsigned int)attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(INIT, cuDeviceGetGraphMemAttribute,
	  (CUdevice device, CUgraphMem_attribute attribute, void *value),
	  (device, attribute, value), DEC(ordinal, device), DEC(attribute, attribute),
	  OUT_DEC(value, (uint64_t *)value))
{
	CUresult result = check(device, attribute, value);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&lock);
	*(uint64_t *)value = device_find(device)->graph_attribute[attribute];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* A high-water mark starts again from where things are now; nothing else can be set. */
CU_DEFINE(INIT, cuDeviceSetGraphMemAttribute,
	  (CUdevice device, CUgraphMem_attribute attribute, void *value),
	  (device, attribute, value), DEC(ordinal, device), DEC(attribute, attribute),
	  OUT_DEC(value, (uint64_t *)value))
{
	CUresult result = check(device, attribute, value);
	uint64_t *values;

	if (result != CUDA_SUCCESS)
		return result;
	if (*(uint64_t *)value || (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
				   attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	values = device_find(device)->graph_attribute;
	pthread_mutex_lock(&lock);
	values[attribute] = values[attribute - 1];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
