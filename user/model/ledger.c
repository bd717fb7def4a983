// SPDX-License-Identifier: BSD-2-Clause
#include "model/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"

#define FIRST_SLOTS 32

void ledger_fini(struct ledger *ledger)
{
	free(ledger->entries);
	free(ledger->slots);
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

const struct allocation *ledger_find(const struct ledger *ledger, uint64_t addr)
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

	/* The last entry fills the place. */
	if (position != ledger->count - 1) {
		const struct allocation *last = &ledger->entries[ledger->count - 1];

		*slot_of(ledger, last->addr) = position + 1;
		ledger->entries[position] = *last;
	}
	ledger->count--;
	return true;
}
