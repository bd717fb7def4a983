// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocations of an anchor: those that live, are being freed, or were the largest.
 */
#include "ledger/checkpoint_load.h"

#include <errno.h>

#include "ledger/allocations.h"

static bool is_known(const struct ms_checkpoint_allocation *saved)
{
	return saved->space < MS_SPACES_COUNT && saved->role < MS_CHECKPOINT_ROLES &&
	       saved->key < MS_KEYS_COUNT;
}

/* Rows are this program's; ids are found only once, and the next allocation's is a new one. */
static bool is_valid(const struct checkpoint *anchor, const struct ms_checkpoint_allocation *saved)
{
	return saved->row < probe_count() &&
	       (saved->driver_row == MS_NO_ROW || saved->driver_row < probe_count()) &&
	       saved->id <= anchor->state->allocations;
}

/* Memory with a handle is found by its id, and kept by it when the handle has been given back. */
static bool may_live(const struct process *process, size_t key, const struct allocation *allocation)
{
	const struct ledger *nameless = &process->ledgers[LEDGER_RELEASED];

	if (ledger_find(&process->ledgers[key], allocation->addr))
		return false;
	if (key == LEDGER_RELEASED)
		return allocation->addr == allocation->id &&
		       !map_get(&process->handles, allocation->id);
	return key != MS_KEY_HANDLE ||
	       (allocation->references && !map_get(&process->handles, allocation->id) &&
		!ledger_find(nameless, allocation->id));
}

static int load_live(struct process *process, size_t key, const struct allocation *allocation)
{
	struct space_total *space = &process->spaces[allocation->space];
	int err;

	if (!may_live(process, key, allocation))
		return -EINVAL;
	err = ledger_insert(&process->ledgers[key], allocation);
	if (!err && key == MS_KEY_HANDLE)
		err = map_set(&process->handles, allocation->id, allocation->addr);
	if (err)
		return err;
	usage_load(process->usage, allocation);
	space->live_bytes += allocation->size_bytes;
	space->live_count++;
	process->counters[COUNTER_UNKNOWN_SIZES] += !allocation->size_known;
	return 0;
}

int checkpoint_load_allocation(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_allocation *saved = record;
	struct process *process = anchor->process;
	const struct pending_free freed = {
		.tid = saved->freed_by,
		.key = saved->key,
		.addr = saved->freed_addr,
		.allocation = { .addr = saved->addr,
				.size_bytes = saved->size_bytes,
				.ts_ns = saved->ts_ns,
				.id = saved->id,
				.context = saved->context,
				.device = saved->device,
				.tid = saved->tid,
				.row = saved->row,
				.driver_row = saved->driver_row,
				.space = saved->space,
				.size_known = saved->size_known,
				.stack = saved->stack,
				.owner = saved->owner },
	};

	if (!is_known(saved))
		return 1;
	if (!is_valid(anchor, saved))
		return -EINVAL;
	switch ((enum ms_checkpoint_role)saved->role) {
	case MS_CHECKPOINT_LIVE:
		return load_live(process, saved->key, &freed.allocation);
	case MS_CHECKPOINT_RELEASED:
		return load_live(process, LEDGER_RELEASED, &freed.allocation);
	case MS_CHECKPOINT_PENDING:
		return blocks_pend(process, &freed);
	case MS_CHECKPOINT_PART:
		process->part = freed;
		return 0;
	case MS_CHECKPOINT_LARGEST:
		if (process->exit_largest_count >= PROCESS_LARGEST)
			return -EINVAL;
		process->exit_largest[process->exit_largest_count++] = freed.allocation;
		return 0;
	case MS_CHECKPOINT_ROLES:
		break;
	}
	return -EINVAL;
}
