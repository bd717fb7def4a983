// SPDX-License-Identifier: BSD-2-Clause
/*
 * What ends with a context, a program or a process, without a call that frees it.
 */
#include "ledger/allocations.h"

/* The kinds of allocations that belong to a context. */
static const enum ms_key context_keys[] = { MS_KEY_POINTER, MS_KEY_ARRAY, MS_KEY_EXTERNAL };

#define CONTEXT_KEYS (sizeof(context_keys) / sizeof(*context_keys))

bool allocations_any_in(struct process *process, uint64_t context)
{
	size_t key;

	for (key = 0; key < CONTEXT_KEYS; key++)
		if (ledger_in(&process->ledgers[context_keys[key]], context))
			return true;
	return false;
}

static void end_one(struct process *process, struct ledger *ledger, uint64_t addr,
		    struct change *change)
{
	struct allocation allocation;
	struct space_total *space;

	if (!ledger_remove(ledger, addr, &allocation))
		return;
	allocations_uncount(process, &allocation);
	usage_end(process->usage, &allocation);
	space = &process->spaces[allocation.space];
	space->implicit_frees++;
	space->implicit_bytes += allocation.size_bytes;
	allocations_note_implicit(change, allocation.space, 1, allocation.size_bytes);
}

static void end_context(struct process *process, struct ledger *ledger, uint64_t context,
			struct change *change)
{
	const struct allocation *found;

	while ((found = ledger_in(ledger, context)))
		end_one(process, ledger, found->addr, change);
}

static void end_all(struct process *process, struct ledger *ledger, struct change *change)
{
	while (ledger->count)
		end_one(process, ledger, ledger->entries[0].addr, change);
}

void allocations_end(struct process *process, uint64_t context, struct change *change)
{
	size_t i;

	for (i = 0; context && i < CONTEXT_KEYS; i++)
		end_context(process, &process->ledgers[context_keys[i]], context, change);
	for (i = 0; !context && i < LEDGERS_COUNT; i++)
		end_all(process, &process->ledgers[i], change);
}
