// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/ledger_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/event.h"

/* So few are walked sooner than they are sorted. */
#define FEW 64

void ledger_index_free(struct ledger_index *index)
{
	if (!index)
		return;
	map_fini(&index->starts);
	sorted_fini(&index->order);
	free(index->links);
	map_fini(&index->contexts);
	free(index);
}

size_t ledger_index_bytes(const struct ledger_index *index)
{
	return index ? sizeof(*index) + map_bytes(&index->starts) + sorted_bytes(&index->order) +
			       index->links_capacity * sizeof(*index->links) +
			       map_bytes(&index->contexts) :
		       0;
}

/* NULL without memory. */
static struct ledger_index *index_of(struct ledger *ledger)
{
	if (!ledger->index)
		ledger->index = calloc(1, sizeof(*ledger->index));
	return ledger->index;
}

/* ---- by any address inside ------------------------------------------------------------------- */

/*
 * An allocation of 2^n to 2^(n+1) - 1 bytes has level n. Of one level at most one can begin in each
 * stretch of 2^n bytes, and it ends no more than two stretches further: three look-ups a level find
 * what an address lies in.
 */
static unsigned int level_of(uint64_t size_bytes)
{
	return 63 - __builtin_clzll(size_bytes);
}

static uint64_t start_key(uint64_t stretch, unsigned int level)
{
	return stretch << 6 | level;
}

static void starts_add(struct ledger_index *index, const struct allocation *allocation)
{
	unsigned int level;

	if (!index->has_starts || !allocation->size_bytes)
		return;
	level = level_of(allocation->size_bytes);
	index->levels[level]++;
	/* Without memory for it, there is no index. */
	if (map_set(&index->starts, start_key(allocation->addr >> level, level), allocation->addr))
		index->has_starts = false;
}

static void starts_remove(struct ledger_index *index, const struct allocation *allocation)
{
	unsigned int level;
	uint64_t key, *start;

	if (!index->has_starts || !allocation->size_bytes)
		return;
	level = level_of(allocation->size_bytes);
	key = start_key(allocation->addr >> level, level);
	start = map_get(&index->starts, key);
	index->levels[level]--;
	if (start && *start == allocation->addr)
		map_remove(&index->starts, key);
}

static void starts_make(const struct ledger *ledger, struct ledger_index *index)
{
	size_t i;

	map_fini(&index->starts);
	memset(index->levels, 0, sizeof(index->levels));
	index->has_starts = true;
	for (i = 0; i < ledger->count && index->has_starts; i++)
		starts_add(index, &ledger->entries[i]);
}

static bool contains(const struct allocation *allocation, uint64_t addr)
{
	return allocation && addr - allocation->addr < allocation->size_bytes;
}

static const struct allocation *starts_find(const struct ledger *ledger, uint64_t addr)
{
	const struct ledger_index *index = ledger->index;
	unsigned int level, back;

	for (level = 0; level < 64; level++) {
		if (!index->levels[level])
			continue;
		for (back = 0; back < 3 && back <= addr >> level; back++) {
			const uint64_t *start =
				map_get(&index->starts, start_key((addr >> level) - back, level));
			const struct allocation *found = start ? ledger_find(ledger, *start) : NULL;

			if (contains(found, addr))
				return found;
		}
	}
	return NULL;
}

const struct allocation *ledger_containing(struct ledger *ledger, uint64_t addr)
{
	const struct allocation *found = ledger_find(ledger, addr);
	struct ledger_index *index;
	size_t i;

	if (found || !ledger->count)
		return found;
	index = index_of(ledger);
	if (index && !index->has_starts)
		starts_make(ledger, index);
	if (index && index->has_starts)
		return starts_find(ledger, addr);
	for (i = 0; i < ledger->count; i++)
		if (contains(&ledger->entries[i], addr))
			return &ledger->entries[i];
	return NULL;
}

/* ---- the next address ------------------------------------------------------------------------ */

static void order_add(struct ledger_index *index, const struct allocation *allocation)
{
	if (index->has_order && sorted_add(&index->order, allocation->addr))
		index->has_order = false;
}

static void order_make(const struct ledger *ledger, struct ledger_index *index)
{
	size_t i;

	sorted_fini(&index->order);
	index->has_order = true;
	for (i = 0; i < ledger->count && index->has_order; i++)
		order_add(index, &ledger->entries[i]);
}

static const struct allocation *walk_to_first(const struct ledger *ledger, uint64_t addr,
					      uint64_t end)
{
	const struct allocation *first = NULL;
	size_t i;

	for (i = 0; i < ledger->count; i++) {
		const struct allocation *entry = &ledger->entries[i];

		if (entry->addr - addr < end - addr && (!first || entry->addr < first->addr))
			first = entry;
	}
	return first;
}

const struct allocation *ledger_first(struct ledger *ledger, uint64_t addr, uint64_t end)
{
	const struct allocation *first = ledger_find(ledger, addr);
	struct ledger_index *index;
	uint64_t next;

	if (first || !ledger->count)
		return first;
	index = ledger->count > FEW ? index_of(ledger) : ledger->index;
	if (index && !index->has_order && ledger->count > FEW)
		order_make(ledger, index);
	if (!index || !index->has_order)
		return walk_to_first(ledger, addr, end);
	return sorted_next(&index->order, addr, &next) && next < end ? ledger_find(ledger, next) :
								       NULL;
}

/* ---- by context ------------------------------------------------------------------------------ */

#define NO_CONTEXT 1 /* none is at that address */

/*
 * With which it ends. What pools and graphs have allocated is their device's: it stays without the
 * context in which it was allocated, also when that is reset (docs/real-hardware.md).
 */
static uint64_t context_of(const struct allocation *allocation)
{
	const bool outlives =
		allocation->space == MS_SPACE_POOL || allocation->space == MS_SPACE_GRAPH;

	return outlives ? NO_CONTEXT : allocation->context;
}

/* Without memory for it, there is no index. */
static void link_add(const struct ledger *ledger, struct ledger_index *index, size_t position)
{
	const uint64_t context = context_of(&ledger->entries[position]);
	uint64_t *head;

	if (!index->has_contexts)
		return;
	index->has_contexts = !memory_grow(&index->links, &index->links_capacity, position + 1,
					   sizeof(*index->links));
	if (!index->has_contexts)
		return;
	head = map_get(&index->contexts, context);
	index->links[position] = (struct ledger_link){ .next = head ? *head : 0 };
	if (head)
		index->links[*head - 1].before = position + 1;
	index->has_contexts = !map_set(&index->contexts, context, position + 1);
}

static void link_remove(const struct ledger *ledger, struct ledger_index *index, size_t position)
{
	const uint64_t context = context_of(&ledger->entries[position]);
	struct ledger_link link;

	if (!index->has_contexts)
		return;
	link = index->links[position];
	if (link.next)
		index->links[link.next - 1].before = link.before;
	if (link.before)
		index->links[link.before - 1].next = link.next;
	else if (link.next)
		*map_get(&index->contexts, context) = link.next;
	else
		map_remove(&index->contexts, context);
}

static void link_move(const struct ledger *ledger, struct ledger_index *index, size_t from,
		      size_t to)
{
	struct ledger_link link;

	if (!index->has_contexts)
		return;
	link = index->links[to] = index->links[from];
	if (link.next)
		index->links[link.next - 1].before = to + 1;
	if (link.before)
		index->links[link.before - 1].next = to + 1;
	else
		*map_get(&index->contexts, context_of(&ledger->entries[to])) = to + 1;
}

static void links_make(const struct ledger *ledger, struct ledger_index *index)
{
	size_t i;

	map_fini(&index->contexts);
	index->has_contexts = true;
	for (i = 0; i < ledger->count && index->has_contexts; i++)
		link_add(ledger, index, i);
}

const struct allocation *ledger_in(struct ledger *ledger, uint64_t context)
{
	struct ledger_index *index = ledger->count > FEW ? index_of(ledger) : ledger->index;
	const uint64_t *head;
	size_t i;

	if (index && !index->has_contexts && ledger->count > FEW)
		links_make(ledger, index);
	if (index && index->has_contexts) {
		head = map_get(&index->contexts, context);
		return head ? &ledger->entries[*head - 1] : NULL;
	}
	for (i = 0; i < ledger->count; i++)
		if (context_of(&ledger->entries[i]) == context)
			return &ledger->entries[i];
	return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void ledger_index_add(struct ledger *ledger, size_t position)
{
	starts_add(ledger->index, &ledger->entries[position]);
	order_add(ledger->index, &ledger->entries[position]);
	link_add(ledger, ledger->index, position);
}

void ledger_index_remove(struct ledger *ledger, size_t position)
{
	starts_remove(ledger->index, &ledger->entries[position]);
	if (ledger->index->has_order)
		sorted_remove(&ledger->index->order, ledger->entries[position].addr);
	link_remove(ledger, ledger->index, position);
}

void ledger_index_move(struct ledger *ledger, size_t from, size_t to)
{
	link_move(ledger, ledger->index, from, to);
}
