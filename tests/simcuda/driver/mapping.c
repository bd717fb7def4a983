/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See mapping.h.
 */
#include <sys/mman.h>

#include "mapping.h"
#include "physical.h"
#include "reserve.h"

#define SPACE_BYTES (1ull << 40) /* addresses, not memory */
#define PAGE 4096ull

static struct arena *space;
static struct mapping **table; /* by granule */
static struct slab mappings = SLAB(struct mapping, SPACE_BYTES / MAPPING_GRANULE);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id;

void mapping_setup(void)
{
	space = arena_new(SPACE_BYTES, MAPPING_GRANULE, false);
	table = reserve_space(SPACE_BYTES / MAPPING_GRANULE * sizeof(*table));
}

void mapping_lock(void)
{
	pthread_mutex_lock(&lock);
}

void mapping_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void *pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static struct mapping **entry(CUdeviceptr addr)
{
	return &table[(addr - arena_base(space)) / MAPPING_GRANULE];
}

bool mapping_contains(CUdeviceptr addr)
{
	return arena_contains(space, addr);
}

/* What has nothing mapped to it cannot be touched, not even by the program itself. */
static void hide(uint64_t addr, uint64_t size_bytes)
{
	mmap(pointer(addr), size_bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

CUdeviceptr mapping_reserve(uint64_t size_bytes, unsigned int flags)
{
	struct arena_block block = {
		.size_bytes = size_bytes,
		.use = ARENA_RESERVED,
		.flags = flags,
	};

	if (!arena_alloc(space, &block))
		return 0;
	hide(block.addr, arena_rounded(space, size_bytes));
	return block.addr;
}

void mapping_unreserve(CUdeviceptr addr)
{
	arena_free(space, addr, ARENA_RESERVED);
}

bool mapping_reserved(CUdeviceptr addr, struct arena_block *block)
{
	return arena_find(space, addr, block);
}

struct mapping *mapping_in_granule(CUdeviceptr addr)
{
	return mapping_contains(addr) ? *entry(addr) : NULL;
}

struct mapping *mapping_at(CUdeviceptr addr)
{
	struct mapping *m = mapping_in_granule(addr);

	return m && addr - m->block.addr < m->block.size_bytes ? m : NULL;
}

static void enter(const struct mapping *m, struct mapping *value)
{
	struct mapping **last = entry(m->block.addr + m->block.size_bytes - 1);

	for (struct mapping **e = entry(m->block.addr); e <= last; e++)
		*e = value;
}

struct mapping *mapping_new(const struct mapping *initial, int fd, uint64_t offset)
{
	uint64_t in_page = offset % PAGE;
	uint64_t start = initial->block.addr - in_page;
	struct mapping *m = slab_new(&mappings, initial);

	if (!m)
		return NULL;
	if (mmap(pointer(start), initial->block.size_bytes + in_page, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, (off_t)(offset - in_page)) == MAP_FAILED) {
		slab_delete(&mappings, m);
		return NULL;
	}
	m->block.id = ++last_id;
	enter(m, m);
	return m;
}

void mapping_delete(struct mapping *m)
{
	uint64_t start = m->block.addr & ~(PAGE - 1);

	enter(m, NULL);
	hide(start, m->block.addr + m->block.size_bytes - start);
	if (m->physical)
		physical_unmapped(m->physical);
	slab_delete(&mappings, m);
}

struct mapping *mapping_import(const struct mapping *initial, int fd, uint64_t offset)
{
	struct mapping placed = *initial;
	CUdeviceptr place = mapping_reserve(offset % PAGE + initial->block.size_bytes, 0);
	struct mapping *m;

	if (!place)
		return NULL;
	placed.block.addr = place + offset % PAGE;
	m = mapping_new(&placed, fd, offset);
	if (!m)
		mapping_unreserve(place);
	return m;
}

void mapping_close(struct mapping *m)
{
	CUdeviceptr place = m->block.addr & ~(PAGE - 1);

	mapping_delete(m);
	mapping_unreserve(place);
}

struct mapping *mapping_next(struct mapping *m)
{
	return slab_next(&mappings, m);
}

bool mapping_find(CUdeviceptr addr, struct arena_block *block)
{
	struct mapping *m;

	mapping_lock();
	m = mapping_at(addr);
	if (m)
		*block = m->block;
	mapping_unlock();
	return m;
}

struct device *mapping_device(CUdeviceptr addr)
{
	struct device *device;
	struct mapping *m;

	mapping_lock();
	m = mapping_at(addr);
	device = m ? m->device : NULL;
	mapping_unlock();
	return device;
}

/* Some location may do it: copies do not say which engine is going to. */
static bool permits(const struct mapping *m, unsigned int access)
{
	for (unsigned int i = 0; i < MAPPING_LOCATIONS; i++)
		if ((m->access[i] & access) == access)
			return true;
	return false;
}

bool mapping_accessible(CUdeviceptr addr, uint64_t size_bytes, unsigned int access)
{
	bool accessible = false;

	mapping_lock();
	for (struct mapping *m = mapping_at(addr); m && permits(m, access); m = mapping_at(addr)) {
		uint64_t rest = m->block.size_bytes - (addr - m->block.addr);

		accessible = size_bytes <= rest;
		if (accessible)
			break;
		size_bytes -= rest;
		addr += rest;
	}
	mapping_unlock();
	return accessible;
}

void mapping_free_owned(CUcontext owner)
{
	struct mapping *m = NULL;

	mapping_lock();
	while ((m = mapping_next(m)))
		if (m->object.owner == owner)
			mapping_close(m);
	mapping_unlock();
}
