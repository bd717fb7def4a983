/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See arena.h. Every block, free or not, is a node in one list ordered by address. Nodes that are
 * not live are also in one of three sets of lists: `freed`, by exact size, where free puts them and
 * alloc looks first; `merged`, by size class, blocks that have no free neighbours and get carved
 * up; `parked`, by exact size and pool. When nothing in `merged` is large enough, everything in
 * `freed` is merged with its neighbours and moves there: each freed block at most once, so the
 * cost of an allocation stays the same however full and fragmented the arena is.
 */
#include <pthread.h>
#include <stdlib.h>

#include "../common/env.h"
#include "arena.h"
#include "bitset.h"
#include "reserve.h"
#include "kernel.h"
#include "tenants.h"

#define BUCKETS 4096
#define CLASSES 512
#define CLASS_STEPS 16 /* classes per power of two */

enum node_state { NODE_LIVE, NODE_PARKED, NODE_FREED, NODE_MERGED };

struct node {
	uint32_t start; /* in granules, like count */
	uint32_t count;
	uint32_t before; /* by address; 0 is the head of that list */
	uint32_t after;
	uint32_t previous; /* in the list of its state; 0: first */
	uint32_t next;     /* 0: last */
	enum node_state state;
	struct arena_block block;
};

struct arena {
	pthread_mutex_t lock;
	int fd;          /* of a shared arena */
	uint64_t mapped; /* what the file is mapped to: base, or a little before */
	uint64_t base;
	uint32_t granules;
	uint32_t used; /* live, parked or charged */
	int tenant;    /* physical device; -1: all of the capacity is this process's */
	unsigned int granule_shift;
	uint32_t unused_node; /* a list through next */
	uint32_t node_count;
	uint64_t last_id;
	struct node *nodes;
	uint32_t *node_at;    /* by first granule, for live nodes */
	struct bitset starts; /* first granules of live nodes */
	uint32_t freed[BUCKETS];
	uint32_t parked[BUCKETS];
	uint32_t merged[CLASSES];
	uint64_t freed_mask[BUCKETS / 64]; /* which lists are not empty */
	uint64_t merged_mask[CLASSES / 64];
};

static uint32_t to_granules(const struct arena *arena, uint64_t size_bytes)
{
	uint64_t granules = (size_bytes >> arena->granule_shift) +
			    !!(size_bytes & ((1ull << arena->granule_shift) - 1));

	return granules > arena->granules ? UINT32_MAX : (uint32_t)granules;
}

static uint32_t node_new(struct arena *arena)
{
	uint32_t index = arena->unused_node;

	if (index)
		arena->unused_node = arena->nodes[index].next;
	else
		index = arena->node_count++;
	return index;
}

static void insert_after(struct arena *arena, uint32_t place, uint32_t index)
{
	struct node *nodes = arena->nodes;

	nodes[index].before = place;
	nodes[index].after = nodes[place].after;
	nodes[nodes[place].after].before = index;
	nodes[place].after = index;
}

/* Gives the node after index to it, and its place back. */
static void swallow_next(struct arena *arena, uint32_t index)
{
	struct node *node = &arena->nodes[index];
	uint32_t gone = node->after;

	node->count += arena->nodes[gone].count;
	node->after = arena->nodes[gone].after;
	arena->nodes[node->after].before = index;
	arena->nodes[gone].next = arena->unused_node;
	arena->unused_node = gone;
}

static unsigned int bucket(uint64_t key)
{
	return (unsigned int)(key * 0x9e3779b97f4a7c15ull >> 52);
}

/* Parked blocks are only for the pool that parked them, so the owner is part of the key. */
static unsigned int parked_bucket(uint32_t count, const void *owner)
{
	return bucket(count ^ (uint64_t)(uintptr_t)owner);
}

/* Sizes below CLASS_STEPS have a class each; above, there are CLASS_STEPS to each power of two. */
static unsigned int class_of(uint32_t count)
{
	unsigned int shift;

	if (count < CLASS_STEPS)
		return count;
	shift = 31 - 4 - (unsigned int)__builtin_clz(count);
	return (shift + 1) * CLASS_STEPS + (count >> shift) - CLASS_STEPS;
}

/* The list that a node in this state is in, and the mask that says so; NULL: none does. */
static uint32_t *list_of(struct arena *arena, const struct node *node, uint64_t **mask,
			 unsigned int *number)
{
	switch (node->state) {
	case NODE_FREED:
		*number = bucket(node->count);
		*mask = arena->freed_mask;
		return &arena->freed[*number];
	case NODE_MERGED:
		*number = class_of(node->count);
		*mask = arena->merged_mask;
		return &arena->merged[*number];
	default:
		*mask = NULL;
		return &arena->parked[parked_bucket(node->count, node->block.owner)];
	}
}

static void push(struct arena *arena, uint32_t index, enum node_state state)
{
	struct node *node = &arena->nodes[index];
	unsigned int number;
	uint64_t *mask;
	uint32_t *list;

	node->state = state;
	list = list_of(arena, node, &mask, &number);
	node->previous = 0;
	node->next = *list;
	if (*list)
		arena->nodes[*list].previous = index;
	*list = index;
	if (mask)
		mask[number / 64] |= 1ull << number % 64;
}

static void unlink_node(struct arena *arena, uint32_t index)
{
	struct node *node = &arena->nodes[index];
	unsigned int number;
	uint64_t *mask;
	uint32_t *list = list_of(arena, node, &mask, &number);

	if (node->previous)
		arena->nodes[node->previous].next = node->next;
	else
		*list = node->next;
	if (node->next)
		arena->nodes[node->next].previous = node->previous;
	if (mask && !*list)
		mask[number / 64] &= ~(1ull << number % 64);
}

/* The first list at or after number that is not empty; -1: none. */
static int next_list(const uint64_t *mask, unsigned int number, unsigned int lists)
{
	for (; number < lists; number = (number / 64 + 1) * 64) {
		uint64_t word = mask[number / 64] >> number % 64;

		if (word)
			return (int)number + __builtin_ctzll(word);
	}
	return -1;
}

/* The most recently freed block of exactly count granules, or 0. */
static uint32_t take_freed(struct arena *arena, uint32_t count)
{
	uint32_t index = arena->freed[bucket(count)];

	while (index && arena->nodes[index].count != count)
		index = arena->nodes[index].next;
	if (index)
		unlink_node(arena, index);
	return index;
}

static uint32_t take_parked(struct arena *arena, uint32_t count, const void *owner)
{
	uint32_t index = arena->parked[parked_bucket(count, owner)];

	while (index &&
	       (arena->nodes[index].count != count || arena->nodes[index].block.owner != owner))
		index = arena->nodes[index].next;
	if (index)
		unlink_node(arena, index);
	return index;
}

/* A merged block of at least count granules, or 0. */
static uint32_t take_merged(struct arena *arena, uint32_t count)
{
	unsigned int class = class_of(count);
	int larger = next_list(arena->merged_mask, class + 1, CLASSES);
	uint32_t index = arena->merged[class];

	/* Its own class has smaller blocks as well; in those above, any block will do. */
	while (index && arena->nodes[index].count < count)
		index = arena->nodes[index].next;
	if (!index && larger >= 0)
		index = arena->merged[larger];
	if (index)
		unlink_node(arena, index);
	return index;
}

static uint32_t carve(struct arena *arena, uint32_t count)
{
	uint32_t index = take_merged(arena, count);
	uint32_t rest;

	if (!index || arena->nodes[index].count == count)
		return index;
	rest = node_new(arena);
	arena->nodes[rest].start = arena->nodes[index].start + count;
	arena->nodes[rest].count = arena->nodes[index].count - count;
	arena->nodes[index].count = count;
	insert_after(arena, index, rest);
	push(arena, rest, NODE_MERGED);
	return index;
}

static bool is_merged(const struct arena *arena, uint32_t index)
{
	return index && arena->nodes[index].state == NODE_MERGED;
}

/* index is in no list. */
static void merge(struct arena *arena, uint32_t index)
{
	uint32_t before = arena->nodes[index].before;
	uint32_t after = arena->nodes[index].after;

	if (is_merged(arena, after)) {
		unlink_node(arena, after);
		swallow_next(arena, index);
	}
	if (is_merged(arena, before)) {
		unlink_node(arena, before);
		swallow_next(arena, before);
		index = before;
	}
	push(arena, index, NODE_MERGED);
}

static bool merge_freed(struct arena *arena)
{
	int number = -1;
	bool any = false;

	while ((number = next_list(arena->freed_mask, (unsigned int)number + 1, BUCKETS)) >= 0) {
		while (arena->freed[number]) {
			uint32_t index = arena->freed[number];

			unlink_node(arena, index);
			merge(arena, index);
			any = true;
		}
	}
	return any;
}

/* Granules that other processes use. */
static uint32_t elsewhere(const struct arena *arena)
{
	return arena->tenant < 0 ?
		       0 :
		       (uint32_t)(tenants_elsewhere(arena->tenant) >> arena->granule_shift);
}

static uint32_t left_of(const struct arena *arena)
{
	const uint64_t used = (uint64_t)arena->used + elsewhere(arena);

	return used < arena->granules ? (uint32_t)(arena->granules - used) : 0;
}

static void use_more(struct arena *arena, int64_t count)
{
	arena->used = (uint32_t)(arena->used + count);
	if (arena->tenant < 0)
		return;
	tenants_publish(arena->tenant, (uint64_t)arena->used << arena->granule_shift);
}

/* So is a node, or it is not any more. */
static void use_node(struct arena *arena, uint32_t index, bool used)
{
	const struct node *node = &arena->nodes[index];
	const uint64_t addr = arena->base + ((uint64_t)node->start << arena->granule_shift);
	const uint64_t bytes = (uint64_t)node->count << arena->granule_shift;

	use_more(arena, used ? node->count : -(int64_t)node->count);
	if (arena->tenant < 0)
		return;
	if (used)
		kernel_take((unsigned int)arena->tenant, arena->base, addr, bytes);
	else
		kernel_give((unsigned int)arena->tenant, arena->base, addr, bytes);
}

static uint32_t take(struct arena *arena, uint32_t count)
{
	uint32_t index = take_freed(arena, count);

	if (!index)
		index = carve(arena, count);
	if (!index && merge_freed(arena))
		index = carve(arena, count);
	return index;
}

static void make_live(struct arena *arena, uint32_t index, struct arena_block *block)
{
	struct node *node = &arena->nodes[index];

	block->addr = arena->base + ((uint64_t)node->start << arena->granule_shift);
	block->id = ++arena->last_id;
	node->block = *block;
	node->state = NODE_LIVE;
	arena->node_at[node->start] = index;
	bitset_add(&arena->starts, node->start);
}

/* No longer live; the caller decides what instead. */
static void forget(struct arena *arena, uint32_t index)
{
	bitset_remove(&arena->starts, arena->nodes[index].start);
}

static void release(struct arena *arena, uint32_t index)
{
	use_node(arena, index, false);
	push(arena, index, NODE_FREED);
}

/* The live node that addr lies in, or 0. */
static uint32_t lookup(struct arena *arena, uint64_t addr)
{
	int64_t start;
	uint32_t index;

	if (!arena_contains(arena, addr))
		return 0;
	start = bitset_find_at_or_below(&arena->starts,
					(addr - arena->base) >> arena->granule_shift);
	if (start < 0)
		return 0;
	index = arena->node_at[start];
	if (addr - arena->nodes[index].block.addr >= arena->nodes[index].block.size_bytes)
		return 0;
	return index;
}

struct arena *arena_new(uint64_t capacity_bytes, uint64_t granule_bytes, bool shared)
{
	struct arena *arena = calloc(1, sizeof(*arena));
	uint64_t granules = capacity_bytes / granule_bytes;
	uint64_t space_bytes;
	uint32_t all;
	void *space;

	if (!arena || granules >= UINT32_MAX)
		env_fatal("SIMCUDA_MEMORY", "(capacity)", "too much for one arena");
	pthread_mutex_init(&arena->lock, NULL);
	arena->tenant = -1;
	arena->granules = (uint32_t)granules;
	arena->granule_shift = (unsigned int)__builtin_ctzll(granule_bytes);
	/* One granule more, for the alignment, and so that there are no zero-sized corner cases. */
	space_bytes = (granules + 1) * granule_bytes;
	space = shared ? reserve_shared(space_bytes, &arena->fd) : reserve_space(space_bytes);
	arena->mapped = (uint64_t)(uintptr_t)space;
	arena->base = (arena->mapped + granule_bytes - 1) & ~(granule_bytes - 1);
	arena->nodes = reserve_space((granules + 2) * sizeof(*arena->nodes));
	arena->node_at = reserve_space((granules + 1) * sizeof(*arena->node_at));
	bitset_init(&arena->starts, granules + 1);
	arena->node_count = 1;
	if (granules) {
		all = node_new(arena);
		arena->nodes[all].count = arena->granules;
		insert_after(arena, 0, all);
		push(arena, all, NODE_MERGED);
	}
	return arena;
}

void arena_share_capacity(struct arena *arena, int physical)
{
	arena->tenant = physical;
}

int arena_file(const struct arena *arena, uint64_t addr, uint64_t *offset)
{
	*offset = addr - arena->mapped;
	return arena->fd;
}

bool arena_alloc(struct arena *arena, struct arena_block *block)
{
	uint32_t count = to_granules(arena, block->size_bytes);
	uint32_t index = 0;

	pthread_mutex_lock(&arena->lock);
	if (count <= left_of(arena))
		index = take(arena, count);
	if (index) {
		use_node(arena, index, true);
		make_live(arena, index, block);
	}
	pthread_mutex_unlock(&arena->lock);
	return index;
}

/* The live node that starts at addr and has one of these uses, or 0. */
static uint32_t lookup_start(struct arena *arena, uint64_t addr, unsigned int uses)
{
	uint32_t index = lookup(arena, addr);

	if (arena->nodes[index].block.addr != addr || !(arena->nodes[index].block.use & uses))
		return 0;
	return index;
}

bool arena_free(struct arena *arena, uint64_t addr, unsigned int uses)
{
	uint32_t index;

	pthread_mutex_lock(&arena->lock);
	index = lookup_start(arena, addr, uses);
	if (index) {
		forget(arena, index);
		release(arena, index);
	}
	pthread_mutex_unlock(&arena->lock);
	return index;
}

bool arena_find(struct arena *arena, uint64_t addr, struct arena_block *block)
{
	uint32_t index;

	pthread_mutex_lock(&arena->lock);
	index = lookup(arena, addr);
	if (index)
		*block = arena->nodes[index].block;
	pthread_mutex_unlock(&arena->lock);
	return index;
}

bool arena_contains(const struct arena *arena, uint64_t addr)
{
	return addr - arena->base < (uint64_t)arena->granules << arena->granule_shift;
}

void arena_free_owned(struct arena *arena, const void *owner)
{
	struct node *nodes = arena->nodes;

	pthread_mutex_lock(&arena->lock);
	for (uint32_t i = nodes[0].after; i; i = nodes[i].after) {
		if (nodes[i].state != NODE_LIVE || nodes[i].block.owner != owner)
			continue;
		forget(arena, i);
		release(arena, i);
	}
	pthread_mutex_unlock(&arena->lock);
}

bool arena_park(struct arena *arena, uint64_t addr)
{
	uint32_t index;

	pthread_mutex_lock(&arena->lock);
	index = lookup_start(arena, addr, ARENA_POOL | ARENA_GRAPH);
	if (index) {
		forget(arena, index);
		push(arena, index, NODE_PARKED);
	}
	pthread_mutex_unlock(&arena->lock);
	return index;
}

bool arena_unpark(struct arena *arena, struct arena_block *block)
{
	uint32_t index;

	pthread_mutex_lock(&arena->lock);
	index = take_parked(arena, to_granules(arena, block->size_bytes), block->owner);
	if (index)
		make_live(arena, index, block);
	pthread_mutex_unlock(&arena->lock);
	return index;
}

uint64_t arena_trim(struct arena *arena, const void *owner, uint64_t max_bytes)
{
	struct node *nodes = arena->nodes;
	uint64_t trimmed = 0;

	pthread_mutex_lock(&arena->lock);
	for (uint32_t i = nodes[0].after; i; i = nodes[i].after) {
		uint64_t bytes = (uint64_t)nodes[i].count << arena->granule_shift;

		if (nodes[i].state != NODE_PARKED || nodes[i].block.owner != owner)
			continue;
		if (bytes > max_bytes - trimmed)
			continue;
		unlink_node(arena, i);
		release(arena, i);
		trimmed += bytes;
	}
	pthread_mutex_unlock(&arena->lock);
	return trimmed;
}

bool arena_charge(struct arena *arena, uint64_t bytes)
{
	uint32_t count = to_granules(arena, bytes);
	bool fits;

	pthread_mutex_lock(&arena->lock);
	fits = count <= left_of(arena);
	if (fits)
		use_more(arena, count);
	pthread_mutex_unlock(&arena->lock);
	return fits;
}

void arena_uncharge(struct arena *arena, uint64_t bytes)
{
	pthread_mutex_lock(&arena->lock);
	use_more(arena, -(int64_t)to_granules(arena, bytes));
	pthread_mutex_unlock(&arena->lock);
}

uint64_t arena_rounded(const struct arena *arena, uint64_t size_bytes)
{
	return (uint64_t)to_granules(arena, size_bytes) << arena->granule_shift;
}

uint64_t arena_base(const struct arena *arena)
{
	return arena->base;
}

uint64_t arena_capacity(const struct arena *arena)
{
	return (uint64_t)arena->granules << arena->granule_shift;
}

uint64_t arena_used(struct arena *arena)
{
	uint64_t used;

	pthread_mutex_lock(&arena->lock);
	used = (uint64_t)(arena->granules - left_of(arena)) << arena->granule_shift;
	pthread_mutex_unlock(&arena->lock);
	return used;
}
