/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unified address space: which block an address belongs to, among the devices' arenas, the
 * arena of host memory (pinned, managed), what is mapped somewhere (mapping.h) and the user memory
 * made known by cuMemHostRegister.
 */
#include "driver.h"

#define HOST_BYTES (64ull << 30) /* address space, not memory */
#define HOST_GRANULE 4096        /* pinned memory comes in pages */

struct registration {
	struct object object;
	struct arena_block block;
};

static struct arena *host;
static struct slab registrations = SLAB(struct registration, 65536);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* two registrations at once */

void space_setup(void)
{
	host = arena_new(HOST_BYTES, HOST_GRANULE, false);
}

struct arena *space_host(void)
{
	return host;
}

struct arena *space_arena(CUdeviceptr addr)
{
	for (unsigned int i = 0; i < device_count(); i++) {
		const struct device *device = device_find((CUdevice)i);

		if (arena_contains(device->memory, addr))
			return device->memory;
		if (arena_contains(device->graph_space, addr))
			return device->graph_space;
	}
	return arena_contains(host, addr) ? host : NULL;
}

static struct registration *registration_at(CUdeviceptr addr)
{
	struct registration *r = NULL;

	while ((r = slab_next(&registrations, r)))
		if (addr - r->block.addr < r->block.size_bytes)
			return r;
	return NULL;
}

bool space_find(CUdeviceptr addr, struct arena_block *block)
{
	struct arena *arena = space_arena(addr);
	struct registration *r;

	if (arena)
		return arena_find(arena, addr, block);
	if (mapping_contains(addr))
		return mapping_find(addr, block);
	pthread_mutex_lock(&lock);
	r = registration_at(addr);
	if (r)
		*block = r->block;
	pthread_mutex_unlock(&lock);
	return r;
}

bool space_valid(CUdeviceptr addr, uint64_t size_bytes)
{
	struct arena_block block;

	if (mapping_contains(addr))
		return mapping_accessible(addr, size_bytes, CU_MEM_ACCESS_FLAGS_PROT_READ);
	return space_find(addr, &block) && size_bytes <= block.size_bytes - (addr - block.addr);
}

bool space_readable(CUdeviceptr addr, uint64_t size_bytes)
{
	bool ours = space_arena(addr) || mapping_contains(addr);

	return ours ? space_valid(addr, size_bytes) : addr;
}

bool space_writable(CUdeviceptr addr, uint64_t size_bytes)
{
	return !mapping_contains(addr) ||
	       mapping_accessible(addr, size_bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

bool space_on_host(const struct arena_block *block)
{
	return block->use & (ARENA_PINNED | ARENA_REGISTERED) ||
	       (block->use == ARENA_MAPPED && !mapping_device(block->addr));
}

char space_letter(CUdeviceptr addr)
{
	struct arena_block block;

	/* Notes are also made of calls that come before cuInit. */
	if (!driver_ready() || !space_find(addr, &block) || space_on_host(&block))
		return 'H';
	return block.use == ARENA_MANAGED ? 'M' : 'D';
}

struct device *space_device(const struct arena_block *block)
{
	for (unsigned int i = 0; i < device_count(); i++) {
		struct device *device = device_find((CUdevice)i);

		if (arena_contains(device->memory, block->addr) ||
		    arena_contains(device->graph_space, block->addr))
			return device;
	}
	if (mapping_contains(block->addr))
		return mapping_device(block->addr);
	return ((CUcontext)block->owner)->device;
}

/* Memory from a pool, of a graph, or that is only mapped, belongs to no context. */
CUcontext space_context(const struct arena_block *block)
{
	return block->use & (ARENA_POOL | ARENA_GRAPH | ARENA_MAPPED) ? NULL : block->owner;
}

static bool overlaps(const struct arena_block *a, const struct arena_block *b)
{
	return a->addr < b->addr + b->size_bytes && b->addr < a->addr + a->size_bytes;
}

bool space_register(const struct arena_block *block)
{
	struct registration new = { .object.owner = block->owner, .block = *block };
	struct registration *r = NULL;
	bool taken, done;

	pthread_mutex_lock(&lock);
	taken = space_arena(block->addr) || mapping_contains(block->addr);
	while (!taken && (r = slab_next(&registrations, r)))
		taken = overlaps(&r->block, block);
	done = !taken && slab_new(&registrations, &new);
	pthread_mutex_unlock(&lock);
	return done;
}

bool space_unregister(CUdeviceptr addr)
{
	struct registration *r;
	bool found;

	pthread_mutex_lock(&lock);
	r = registration_at(addr);
	found = r && r->block.addr == addr;
	if (found)
		slab_delete(&registrations, r);
	pthread_mutex_unlock(&lock);
	return found;
}

void space_free_owned(CUcontext owner)
{
	for (unsigned int i = 0; i < device_count(); i++)
		arena_free_owned(device_find((CUdevice)i)->memory, owner);
	arena_free_owned(host, owner);
	pthread_mutex_lock(&lock);
	slab_delete_owned(&registrations, owner, NULL);
	pthread_mutex_unlock(&lock);
}
