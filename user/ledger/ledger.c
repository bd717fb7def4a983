// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/ledger.h"

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

size_t ledger_bytes(const struct ledger *ledger)
{
	return ledger->entries_capacity * sizeof(*ledger->entries) +
	       ledger->slots_capacity * sizeof(*ledger->slots) + map_bytes(&ledger->starts);
}

static uint32_t hash_of(const struct ledger *ledger, uint64_t addr)
{
	return map_hash(ledger->secret, addr);
}

/* The slot of the address, or the free one where it would go. */
static struct ledger_slot *slot_of(const struct ledger *ledger, uint64_t addr)
{
	uint32_t hash = hash_of(ledger, addr);
	size_t mask = ledger->slots_capacity - 1, i = hash & mask;

	while (ledger->slots[i].position &&
	       (ledger->slots[i].hash != hash ||
		ledger->entries[ledger->slots[i].position - 1].addr != addr))
		i = (i + 1) & mask;
	return &ledger->slots[i];
}

/* The slot of the entry at that position, which has one. */
static struct ledger_slot *slot_at(const struct ledger *ledger, size_t position)
{
	size_t mask = ledger->slots_capacity - 1;
	size_t i = hash_of(ledger, ledger->entries[position].addr) & mask;

	while (ledger->slots[i].position != position + 1)
		i = (i + 1) & mask;
	return &ledger->slots[i];
}

static int grow_slots(struct ledger *ledger)
{
	size_t capacity = ledger->slots_capacity ? ledger->slots_capacity * 2 : FIRST_SLOTS, i, to;
	struct ledger_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memory_hint(slots, capacity * sizeof(*slots));
	if (!ledger->slots)
		ledger->secret = map_secret();
	for (i = 0; i < ledger->slots_capacity; i++) {
		if (!ledger->slots[i].position)
			continue;
		to = ledger->slots[i].hash & (capacity - 1);
		while (slots[to].position)
			to = (to + 1) & (capacity - 1);
		slots[to] = ledger->slots[i];
	}
	free(ledger->slots);
	ledger->slots = slots;
	ledger->slots_capacity = capacity;
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
	uint32_t position;

	if (!ledger->count)
		return NULL;
	position = slot_of(ledger, addr)->position;
	return position ? &ledger->entries[position - 1] : NULL;
}

int ledger_insert(struct ledger *ledger, const struct allocation *allocation)
{
	int err = memory_grow(&ledger->entries, &ledger->entries_capacity, ledger->count + 1,
			      sizeof(*ledger->entries));

	if (!err && ledger->count * 4 >= ledger->slots_capacity * 3)
		err = grow_slots(ledger);
	if (err)
		return err;
	*slot_of(ledger, allocation->addr) = (struct ledger_slot){
		.hash = hash_of(ledger, allocation->addr),
		.position = ledger->count + 1,
	};
	ledger->entries[ledger->count++] = *allocation;
	starts_add(ledger, allocation);
	return 0;
}

/* Closes the gap in the probe sequence: whoever may move up, does. */
static void free_slot(struct ledger *ledger, size_t hole)
{
	size_t mask = ledger->slots_capacity - 1, i;

	for (i = (hole + 1) & mask; ledger->slots[i].position; i = (i + 1) & mask) {
		size_t home = ledger->slots[i].hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			ledger->slots[hole] = ledger->slots[i];
			hole = i;
		}
	}
	ledger->slots[hole].position = 0;
}

bool ledger_remove(struct ledger *ledger, uint64_t addr, struct allocation *removed)
{
	struct ledger_slot *slot;
	size_t position;

	if (!ledger->count)
		return false;
	slot = slot_of(ledger, addr);
	if (!slot->position)
		return false;
	position = slot->position - 1;
	*removed = ledger->entries[position];
	free_slot(ledger, slot - ledger->slots);
	starts_remove(ledger, removed);

	/* The last entry fills the place. */
	if (position != ledger->count - 1) {
		slot_at(ledger, ledger->count - 1)->position = position + 1;
		ledger->entries[position] = ledger->entries[ledger->count - 1];
	}
	ledger->count--;
	return true;
}
