// SPDX-License-Identifier: BSD-2-Clause
#include "model/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_SLOTS 32

void ledger_fini(struct ledger *ledger)
{
	free(ledger->entries);
	free(ledger->slots);
	map_fini(&ledger->starts);
	*ledger = (struct ledger){ 0 };
}

/* The slot of the address, or the free one where it would go. */
static uint32_t *slot_of(const struct ledger *ledger, uint64_t addr)
{
	size_t mask = ledger->slots_capacity - 1, i = map_hash(addr) & mask;

	while (ledger->slots[i] && ledger->entries[ledger->slots[i] - 1].addr != addr)
		i = (i + 1) & mask;
	return &ledger->slots[i];
}

static int grow_slots(struct ledger *ledger)
{
	size_t capacity = ledger->slots_capacity ? ledger->slots_capacity * 2 : FIRST_SLOTS, i;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(ledger->slots);
	ledger->slots = slots;
	ledger->slots_capacity = capacity;
	for (i = 0; i < ledger->count; i++)
		*slot_of(ledger, ledger->entries[i].addr) = i + 1;
	return 0;
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

static void starts_add(struct ledger *ledger, const struct allocation *allocation)
{
	unsigned int level;

	if (!ledger->has_starts || !allocation->size_bytes)
		return;
	level = level_of(allocation->size_bytes);
	ledger->levels[level]++;
	/* Without memory for it, there is no index. */
	if (map_set(&ledger->starts, start_key(allocation->addr >> level, level), allocation->addr))
		ledger->has_starts = false;
}

static void starts_remove(struct ledger *ledger, const struct allocation *allocation)
{
	unsigned int level;
	uint64_t key, *start;

	if (!ledger->has_starts || !allocation->size_bytes)
		return;
	level = level_of(allocation->size_bytes);
	key = start_key(allocation->addr >> level, level);
	start = map_get(&ledger->starts, key);
	ledger->levels[level]--;
	if (start && *start == allocation->addr)
		map_remove(&ledger->starts, key);
}

static void starts_make(struct ledger *ledger)
{
	size_t i;

	map_fini(&ledger->starts);
	memset(ledger->levels, 0, sizeof(ledger->levels));
	ledger->has_starts = true;
	for (i = 0; i < ledger->count && ledger->has_starts; i++)
		starts_add(ledger, &ledger->entries[i]);
}

static bool contains(const struct allocation *allocation, uint64_t addr)
{
	return allocation && addr - allocation->addr < allocation->size_bytes;
}

static const struct allocation *starts_find(const struct ledger *ledger, uint64_t addr)
{
	unsigned int level, back;

	for (level = 0; level < 64; level++) {
		if (!ledger->levels[level])
			continue;
		for (back = 0; back < 3 && back <= addr >> level; back++) {
			const uint64_t *start =
				map_get(&ledger->starts, start_key((addr >> level) - back, level));
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
	size_t i;

	if (found || !ledger->count)
		return found;
	if (!ledger->has_starts)
		starts_make(ledger);
	if (ledger->has_starts)
		return starts_find(ledger, addr);
	for (i = 0; i < ledger->count; i++)
		if (contains(&ledger->entries[i], addr))
			return &ledger->entries[i];
	return NULL;
}

const struct allocation *ledger_first(const struct ledger *ledger, uint64_t addr, uint64_t end)
{
	const struct allocation *first = ledger_find(ledger, addr);
	size_t i;

	if (first || !ledger->entries)
		return first;
	for (i = 0; i < ledger->count; i++) {
		const struct allocation *entry = &ledger->entries[i];

		if (entry->addr - addr < end - addr && (!first || entry->addr < first->addr))
			first = entry;
	}
	return first;
}

/* ---- by address ------------------------------------------------------------------------------ */

struct allocation *ledger_find(const struct ledger *ledger, uint64_t addr)
{
	uint32_t slot;

	if (!ledger->count)
		return NULL;
	slot = *slot_of(ledger, addr);
	return slot ? &ledger->entries[slot - 1] : NULL;
}

int ledger_insert(struct ledger *ledger, const struct allocation *allocation)
{
	int err = memory_grow(&ledger->entries, &ledger->entries_capacity, ledger->count + 1,
			      sizeof(*ledger->entries));

	if (!err && ledger->count * 4 >= ledger->slots_capacity * 3)
		err = grow_slots(ledger);
	if (err)
		return err;
	ledger->entries[ledger->count++] = *allocation;
	*slot_of(ledger, allocation->addr) = ledger->count;
	starts_add(ledger, allocation);
	return 0;
}

/* Closes the gap in the probe sequence: whoever may move up, does. */
static void free_slot(struct ledger *ledger, size_t hole)
{
	size_t mask = ledger->slots_capacity - 1, i;

	for (i = (hole + 1) & mask; ledger->slots[i]; i = (i + 1) & mask) {
		uint64_t addr = ledger->entries[ledger->slots[i] - 1].addr;
		size_t home = map_hash(addr) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			ledger->slots[hole] = ledger->slots[i];
			hole = i;
		}
	}
	ledger->slots[hole] = 0;
}

bool ledger_remove(struct ledger *ledger, uint64_t addr, struct allocation *removed)
{
	uint32_t *slot, position;

	if (!ledger->count)
		return false;
	slot = slot_of(ledger, addr);
	if (!*slot)
		return false;
	position = *slot - 1;
	*removed = ledger->entries[position];
	free_slot(ledger, slot - ledger->slots);
	starts_remove(ledger, removed);

	/* The last entry fills the place. */
	if (position != ledger->count - 1) {
		const struct allocation *last = &ledger->entries[ledger->count - 1];

		*slot_of(ledger, last->addr) = position + 1;
		ledger->entries[position] = *last;
	}
	ledger->count--;
	return true;
}
