// SPDX-License-Identifier: BSD-2-Clause
#include "model/blocks.h"

#include <errno.h>

#include "base/memory.h"

#define MAX_NESTED 8 /* calls of one thread in one another; the BPF side follows no more */

static void space_add(struct process *process, const struct allocation *allocation, uint64_t ts_ns)
{
	struct space_total *space = &process->spaces[allocation->space];

	space->live_bytes += allocation->size_bytes;
	space->live_count++;
	process->unknown_sizes += !allocation->size_known;
	if (space->live_bytes > space->peak_bytes) {
		space->peak_bytes = space->live_bytes;
		space->peak_ts_ns = ts_ns;
	}
}

static void space_remove(struct process *process, const struct allocation *allocation)
{
	struct space_total *space = &process->spaces[allocation->space];

	space->live_bytes -= allocation->size_bytes;
	space->live_count--;
	process->unknown_sizes -= !allocation->size_known;
}

static void change_allocation(struct change *change, const struct allocation *allocation)
{
	change->allocation = *allocation;
	change->has_allocation = true;
	change->device = allocation->device;
	change->has_live = !change->process->entries_only;
	change->live_bytes = change->process->spaces[allocation->space].live_bytes;
}

/* Whether the allocation was made inside this call, by a part of it that has an event of its own. */
static bool is_part_of(const struct allocation *allocation, const struct event *event)
{
	return allocation->tid == event->header->tid && allocation->ts_ns >= event->header->ts_ns;
}

/* The whole takes the place of the part. */
static void part_forget(struct state *state, struct process *process, const struct allocation *part)
{
	process->spaces[part->space].allocs--;
	process->spaces[part->space].alloc_bytes -= part->size_bytes;
	state->allocations -= part->id == state->allocations;
}

/* Of no known address: it counts, but cannot be followed. */
static void alloc_unknown(struct process *process, const struct allocation *allocation)
{
	if (!process->entries_only) {
		process->unknown_allocs++;
		return;
	}
	process->spaces[allocation->space].allocs++;
	process->spaces[allocation->space].alloc_bytes += allocation->size_bytes;
}

int blocks_alloc(struct state *state, struct process *process, const struct event *event,
		 struct change *change)
{
	const struct ms_call *call = event->call;
	struct allocation allocation = {
		.addr = call->addr,
		.size_bytes = call->size,
		.size_known = call->known & MS_KNOWN_SIZE,
		.ts_ns = event->header->ts_ns + call->duration_ns,
		.context = call->context,
		.device = change->device,
		.tid = event->header->tid,
		.row = call->row,
		.driver_row = call->driver_row,
		.space = event->probe->spec.space,
	};
	struct allocation stale;
	int err;

	process->entries_only |= !(call->known & (MS_KNOWN_RESULT | MS_KNOWN_ADDR));
	change->has_live = !process->entries_only;
	change->live_bytes = process->spaces[allocation.space].live_bytes;
	if (!event_succeeded(call))
		return 0;
	if (!(call->known & MS_KNOWN_ADDR)) {
		alloc_unknown(process, &allocation);
		return 0;
	}
	if (!call->addr)
		return 0; /* a successful allocation of no bytes */
	if (ledger_remove(&process->ledger, call->addr, &stale)) {
		space_remove(process, &stale);
		if (is_part_of(&stale, event))
			part_forget(state, process, &stale);
		else
			process->missed_frees++;
	}
	allocation.id = ++state->allocations;
	err = ledger_insert(&process->ledger, &allocation);
	if (err)
		return err;
	process->spaces[allocation.space].allocs++;
	process->spaces[allocation.space].alloc_bytes += allocation.size_bytes;
	space_add(process, &allocation, allocation.ts_ns);
	change_allocation(change, &allocation);
	return 0;
}

static void free_count(struct process *process, const struct allocation *allocation)
{
	process->spaces[allocation->space].frees++;
	process->spaces[allocation->space].free_bytes += allocation->size_bytes;
}

static struct allocation pending_remove(struct process *process, size_t place)
{
	struct allocation allocation = process->pending[place].allocation;

	process->pending[place] = process->pending[--process->pending_count];
	return allocation;
}

/*
 * A thread that frees an address anew, or has more frees pending than calls can be nested, has long
 * returned from the earlier ones: their ends were lost. They are taken to have succeeded.
 */
static void pending_expire(struct process *process, uint32_t tid, uint64_t addr)
{
	size_t i = 0, own = 0;

	while (i < process->pending_count) {
		const struct pending_free *pending = &process->pending[i];
		struct allocation expired;

		own += pending->tid == tid;
		if (pending->tid != tid || (pending->allocation.addr != addr && own < MAX_NESTED)) {
			i++;
			continue;
		}
		expired = pending_remove(process, i);
		free_count(process, &expired);
	}
}

int blocks_free_begin(struct process *process, const struct event *event)
{
	struct allocation allocation;
	int err;

	pending_expire(process, event->header->tid, event->free->addr);
	err = memory_grow(&process->pending, &process->pending_capacity, process->pending_count + 1,
			  sizeof(*process->pending));
	if (err || !ledger_remove(&process->ledger, event->free->addr, &allocation))
		return err; /* unknown: the end of the call says so */
	space_remove(process, &allocation);
	process->pending[process->pending_count++] =
		(struct pending_free){ .tid = event->header->tid, .allocation = allocation };
	return 0;
}

/* What the thread's free of `addr` has taken out of the ledger when it began. */
static bool pending_take(struct process *process, uint32_t tid, uint64_t addr,
			 struct allocation *allocation)
{
	size_t i;

	for (i = 0; i < process->pending_count; i++) {
		if (process->pending[i].tid != tid || process->pending[i].allocation.addr != addr)
			continue;
		*allocation = pending_remove(process, i);
		return true;
	}
	return false;
}

/* Its beginning was lost or not reported: the block, unless it is a younger one at that address. */
static bool ledger_take(struct process *process, const struct event *event,
			struct allocation *allocation)
{
	const struct allocation *found = ledger_find(&process->ledger, event->call->addr);

	if (!found || found->ts_ns > event->header->ts_ns)
		return false;
	ledger_remove(&process->ledger, event->call->addr, allocation);
	space_remove(process, allocation);
	return true;
}

/* A free that failed after all: the block is back, as if nothing had happened. */
static int restore(struct process *process, const struct allocation *allocation, uint64_t ts_ns)
{
	int err;

	if (ledger_find(&process->ledger, allocation->addr)) {
		process->missed_frees++; /* somebody else did free it, or nobody could have it now */
		return 0;
	}
	err = ledger_insert(&process->ledger, allocation);
	if (!err)
		space_add(process, allocation, ts_ns);
	return err;
}

static enum free_kind free_unmatched(struct process *process, const struct ms_call *call)
{
	if (call->known & MS_KNOWN_ADDR && !call->addr) {
		process->null_frees++;
		return FREE_NULL;
	}
	if (process->entries_only) {
		process->unwatched_frees++;
		return FREE_UNWATCHED;
	}
	if (process->was_running) {
		process->pre_attach_frees++;
		return FREE_PRE_ATTACH;
	}
	process->unknown_frees++;
	return FREE_UNKNOWN;
}

/* What a part of this free has freed already. */
static bool part_take(const struct process *process, const struct event *event,
		      struct allocation *allocation)
{
	*allocation = process->part.allocation;
	return process->part.tid == event->header->tid && allocation->addr == event->call->addr &&
	       process->part_ts_ns >= event->header->ts_ns;
}

int blocks_free(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	struct allocation allocation;
	bool found = pending_take(process, event->header->tid, call->addr, &allocation);

	if (!event_succeeded(call))
		return found ? restore(process, &allocation, event->header->ts_ns) : 0;
	if (!found)
		found = ledger_take(process, event, &allocation);
	if (!found && part_take(process, event, &allocation)) {
		change->free = FREE_KNOWN;
		change_allocation(change, &allocation);
		return 0;
	}
	if (!found) {
		change->free = free_unmatched(process, call);
		return 0;
	}
	free_count(process, &allocation);
	if (call->flags & MS_CALL_PART) {
		process->part.tid = event->header->tid;
		process->part.allocation = allocation;
		process->part_ts_ns = event->header->ts_ns;
	}
	change->free = FREE_KNOWN;
	change_allocation(change, &allocation);
	return 0;
}

bool blocks_any_in(const struct process *process, uint64_t context)
{
	size_t i;

	for (i = 0; i < process->ledger.count; i++)
		if (process->ledger.entries[i].context == context)
			return true;
	return false;
}

void blocks_end(struct process *process, uint64_t context, struct change *change)
{
	size_t i = 0;

	while (i < process->ledger.count) {
		struct allocation allocation = process->ledger.entries[i];
		struct space_total *space = &process->spaces[allocation.space];

		if (context && allocation.context != context) {
			i++;
			continue;
		}
		/* The last entry moves into this place: look at it again. */
		ledger_remove(&process->ledger, allocation.addr, &allocation);
		space_remove(process, &allocation);
		space->implicit_frees++;
		space->implicit_bytes += allocation.size_bytes;
		change->implicit[allocation.space].count++;
		change->implicit[allocation.space].bytes += allocation.size_bytes;
	}
}
