// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "ledger/ledger_index.h"

#define FIRST_SLOTS 32

void ledger_fini(struct ledger *ledger)
{
	free(ledger->entries);
	free(ledger->slots);
	ledger_index_free(ledger->index);
	*ledger = (struct ledger){ 0 };
}

size_t ledger_bytes(const struct ledger *ledger)
{
	return ledger->entries_capacity * sizeof(*ledger->entries) +
	       ledger->slots_capacity * sizeof(*ledger->slots) + ledger_index_bytes(ledger->index);
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
	if (!ledger->slots_capacity)
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
	if (ledger->index)
		ledger_index_add(ledger, ledger->count - 1);
	return 0;
}

/* Closes the gap in the probe sequence: each entry that may move up does. */
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
	if (ledger->index)
		ledger_index_remove(ledger, position);
	free_slot(ledger, slot - ledger->slots);

	/* The last entry fills the place. */
	if (position != ledger->count - 1) {
		slot_at(ledger, ledger->count - 1)->position = position + 1;
		ledger->entries[position] = ledger->entries[ledger->count - 1];
		if (ledger->index)
			ledger_index_move(ledger, ledger->count - 1, position);
	}
	ledger->count--;
	return true;
}
