// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/without_blocks.h"

#include "base/memory.h"

static void set(const struct state *state, bool kept)
{
	size_t i, key;

	for (i = 0; i < state->processes_count; i++)
		for (key = 0; key < LEDGERS_COUNT; key++) {
			const struct ledger *ledger = &state->processes[i]->ledgers[key];

			memory_keep_from_children(
				ledger->entries,
				ledger->entries_capacity * sizeof(*ledger->entries), kept);
			memory_keep_from_children(ledger->slots,
						  ledger->slots_capacity * sizeof(*ledger->slots),
						  kept);
		}
}

void without_blocks_begin(const struct state *state)
{
	set(state, true);
}

void without_blocks_end(const struct state *state)
{
	set(state, false);
}
