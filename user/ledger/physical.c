// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/physical.h"

#include <errno.h>

#include "ledger/allocations.h"

static struct ledger *named(struct process *process)
{
	return &process->ledgers[MS_KEY_HANDLE];
}

/* Memory whose handle has been given back, by id. */
static struct ledger *nameless(struct process *process)
{
	return &process->ledgers[LEDGER_RELEASED];
}

static struct allocation *physical_of(struct process *process, uint64_t id)
{
	const uint64_t *handle = map_get(&process->handles, id);

	return handle ? ledger_find(named(process), *handle) : ledger_find(nameless(process), id);
}

/* Whether it moved; if there is no memory for it, everything stays as it was. */
static bool move(struct ledger *from, uint64_t from_addr, struct ledger *to, uint64_t to_addr)
{
	struct allocation moved;

	if (!ledger_remove(from, from_addr, &moved))
		return false;
	moved.addr = to_addr;
	if (!ledger_insert(to, &moved))
		return true;
	moved.addr = from_addr;
	ledger_insert(from, &moved); /* there is room: it has just been there */
	return false;
}

/* Ends it if nothing refers to it any more. */
static bool end_if_unused(struct process *process, uint64_t id, struct allocation *ended)
{
	const struct allocation *physical = ledger_find(nameless(process), id);

	if (!physical || physical->references || physical->mappings)
		return false;
	ledger_remove(nameless(process), id, ended);
	allocations_uncount(process, ended);
	return true;
}

void physical_map(struct process *process, struct allocation *mapping, uint64_t handle)
{
	struct allocation *physical = ledger_find(named(process), handle);

	mapping->owner = 0;
	mapping->device = physical ? physical->device : -1;
	if (!physical)
		return;
	physical->mappings++;
	mapping->owner = physical->id;
}

void physical_unmap(struct process *process, const struct allocation *mapping,
		    struct change *change)
{
	struct allocation *physical = physical_of(process, mapping->owner), ended;

	if (!physical)
		return;
	physical->mappings -= physical->mappings > 0;
	if (!end_if_unused(process, mapping->owner, &ended))
		return;
	process->spaces[ended.space].frees++;
	usage_count_free(process->usage, &ended);
	usage_end(process->usage, &ended);
	process->spaces[ended.space].free_bytes += ended.size_bytes;
	allocations_note_implicit(change, ended.space, 1, ended.size_bytes);
}

int physical_refer(struct process *process, const struct ms_call *call)
{
	const struct allocation *mapping =
		ledger_containing(&process->ledgers[MS_KEY_MAPPING], call->src);
	struct allocation *physical = ledger_find(named(process), call->addr);
	int err;

	if (!event_succeeded(call))
		return 0;
	if (!physical && mapping && ledger_find(nameless(process), mapping->owner)) {
		/* It has a handle again. */
		err = map_set(&process->handles, mapping->owner, call->addr);
		if (err)
			return err;
		if (!move(nameless(process), mapping->owner, named(process), call->addr))
			return -ENOMEM;
		physical = ledger_find(named(process), call->addr);
	}
	if (physical)
		physical->references++;
	return 0;
}

bool physical_displace(struct process *process, uint64_t handle)
{
	struct allocation *physical = ledger_find(named(process), handle);
	uint64_t id;

	if (!physical || !physical->mappings)
		return false;
	id = physical->id;
	physical->references = 0;
	if (!move(named(process), handle, nameless(process), id))
		return false;
	map_remove(&process->handles, id);
	return true;
}

int physical_release_begin(struct process *process, uint64_t handle, struct allocation *released)
{
	struct allocation *physical = ledger_find(named(process), handle);

	if (!physical)
		return 0;
	physical->references--;
	*released = *physical;
	if (released->references)
		return 1;
	if (!move(named(process), handle, nameless(process), released->id))
		return -ENOMEM;
	map_remove(&process->handles, released->id);
	return 1;
}

bool physical_release_end(struct process *process, struct allocation *released)
{
	uint64_t handle = released->addr;

	if (!end_if_unused(process, released->id, released))
		return false;
	released->addr = handle; /* not the id */
	return true;
}

int physical_release_undo(struct process *process, uint64_t handle,
			  const struct allocation *released)
{
	struct allocation *physical = physical_of(process, released->id);
	int err;

	if (physical)
		physical->references++;
	/* Unless it has a handle still, or the handle is another one's by now. */
	if (!physical || map_get(&process->handles, released->id) ||
	    ledger_find(named(process), handle))
		return 0;
	err = map_set(&process->handles, released->id, handle);
	if (!err && !move(nameless(process), released->id, named(process), handle)) {
		map_remove(&process->handles, released->id);
		err = -ENOMEM;
	}
	return err;
}
