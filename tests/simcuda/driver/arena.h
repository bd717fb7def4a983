/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator for one address space of fixed capacity: a device's memory, or the host memory
 * handed out as pinned or managed. The bytes are real (committed when touched), the bookkeeping
 * lies outside them, so a program that writes past its allocation cannot confuse the simulator.
 *
 * A freed block is handed out again, first of all, to the next request of exactly its size (the
 * last freed first): addresses come back at once, as on the real thing. Free blocks are merged
 * when nothing else fits, so the whole capacity stays usable. One thread alone always gets
 * the same addresses relative to the start of the arena. Every function may be called from any
 * thread.
 */
#ifndef SIMCUDA_ARENA_H
#define SIMCUDA_ARENA_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* What a block is used for. Bits, so that a function can take several. */
enum arena_use {
	ARENA_DEVICE = 1,
	ARENA_ARRAY = 2,
	ARENA_GLOBAL = 4,
	ARENA_POOL = 8,
	ARENA_MANAGED = 16,
	ARENA_PINNED = 32,
	ARENA_REGISTERED = 64, /* never in an arena: user memory made known by cuMemHostRegister */
	ARENA_GRAPH = 128,
	ARENA_RESERVED = 256,  /* addresses only, see mapping.h; the following are mapped to some */
	ARENA_MAPPED = 512,    /* by cuMemMap */
	ARENA_IMPORTED = 1024, /* by cuIpcOpenMemHandle */
	ARENA_EXTERNAL = 2048, /* by cuExternalMemoryGetMappedBuffer */
};

struct arena_block {
	uint64_t addr;
	uint64_t size_bytes; /* as asked for, not as rounded */
	uint64_t id;         /* never used again */
	void *owner; /* a context, the pool of ARENA_POOL, the graph_memory of ARENA_GRAPH */
	enum arena_use use;
	unsigned int flags; /* the caller's */
};

/*
 * granule_bytes: a power of two; every block is aligned to it and a multiple of it. shared: the
 * bytes are those of a file.
 */
struct arena *arena_new(uint64_t capacity_bytes, uint64_t granule_bytes, bool shared);

/* Its capacity is that of a physical device, which other processes may use, too (tenants.h). */
void arena_share_capacity(struct arena *arena, int physical);

/* The file of a shared arena, and where in it the byte at addr is. */
int arena_file(const struct arena *arena, uint64_t addr, uint64_t *offset);

/* The fields use, owner, flags and size_bytes are the request; addr and id are filled in. */
bool arena_alloc(struct arena *arena, struct arena_block *block);

/* False when addr is not the start of a block with one of these uses. */
bool arena_free(struct arena *arena, uint64_t addr, unsigned int uses);

/* The block that addr lies in. */
bool arena_find(struct arena *arena, uint64_t addr, struct arena_block *block);

bool arena_contains(const struct arena *arena, uint64_t addr);

/* Frees what a dying owner still has. */
void arena_free_owned(struct arena *arena, const void *owner);

/*
 * Parked blocks (ARENA_POOL, ARENA_GRAPH) belong to an owner that holds on to memory it does not
 * use: they are no longer found by address but still count as used. arena_unpark is arena_alloc
 * from them; arena_trim frees up to max_bytes of them and returns how many bytes it freed.
 */
bool arena_park(struct arena *arena, uint64_t addr);
bool arena_unpark(struct arena *arena, struct arena_block *block);
uint64_t arena_trim(struct arena *arena, const void *owner, uint64_t max_bytes);

/*
 * Takes from the capacity for memory whose addresses are elsewhere; false: not so much is left.
 * Whole granules only.
 */
bool arena_charge(struct arena *arena, uint64_t bytes);
void arena_uncharge(struct arena *arena, uint64_t bytes);

/* What a block of size_bytes takes from the capacity. */
uint64_t arena_rounded(const struct arena *arena, uint64_t size_bytes);
uint64_t arena_base(const struct arena *arena);
uint64_t arena_capacity(const struct arena *arena);
uint64_t arena_used(struct arena *arena); /* by this process and by others */

#endif
