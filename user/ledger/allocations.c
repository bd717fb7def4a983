// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/allocations.h"

#include <errno.h>
#include <string.h>

#include "ledger/effort.h"
#include "ledger/exports.h"
#include "ledger/graphs.h"
#include "ledger/physical.h"

static enum ms_key key_of(const struct event *event)
{
	return event->probe->spec.key;
}

static struct ledger *ledger_of(struct process *process, const struct event *event)
{
	return &process->ledgers[key_of(event)];
}

static void space_add(struct process *process, const struct allocation *allocation, uint64_t ts_ns)
{
	struct space_total *space = &process->spaces[allocation->space];

	usage_add(process->usage, allocation, ts_ns);
	space->live_bytes += allocation->size_bytes;
	space->live_count++;
	process->counters[COUNTER_UNKNOWN_SIZES] += !allocation->size_known;
	if (space->live_bytes > space->peak_bytes) {
		space->peak_bytes = space->live_bytes;
		space->peak_ts_ns = ts_ns;
	}
}

void allocations_uncount(struct process *process, const struct allocation *allocation)
{
	struct space_total *space = &process->spaces[allocation->space];

	usage_remove(process->usage, allocation);
	space->live_bytes -= allocation->size_bytes;
	space->live_count--;
	process->counters[COUNTER_UNKNOWN_SIZES] -= !allocation->size_known;
	if (allocation->framework)
		tensor_sources_remove(&process->tensors.sources, allocation);
	nccl_memory_ends(&process->nccl, allocation);
}

static void change_allocation(struct change *change, const struct allocation *allocation)
{
	change->allocation = *allocation;
	change->has_allocation = true;
	change->device = allocation->device;
	change->has_live = !change->process->entries_only;
	change->live_bytes = change->process->spaces[allocation->space].live_bytes;
}

static void note(struct change *change, struct amount *amount, uint64_t count, uint64_t bytes)
{
	amount->count += count;
	amount->bytes += bytes;
	change->has_amounts = true;
}

void allocations_note_made(struct change *change, uint8_t space, uint64_t count, uint64_t bytes)
{
	note(change, &change->made[space], count, bytes);
}

void allocations_note_implicit(struct change *change, uint8_t space, uint64_t count, uint64_t bytes)
{
	note(change, &change->implicit[space], count, bytes);
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* Whether it was made inside this call, by a part of it that has an event of its own. */
static bool is_part_of(const struct allocation *allocation, const struct event *event)
{
	return allocation->tid == event->header->tid && allocation->ts_ns >= event->header->ts_ns;
}

/* The whole takes the place of the part. */
static void part_forget(struct state *state, struct process *process, const struct allocation *part)
{
	if (part->space == MS_SPACE_IMPORTED && !part->size_known)
		process->counters[COUNTER_UNSIZED_IMPORTS] -=
			process->counters[COUNTER_UNSIZED_IMPORTS] > 0;
	process->spaces[part->space].allocs--;
	process->spaces[part->space].alloc_bytes -= part->size_bytes;
	usage_count_alloc(process->usage, part, -1);
	state->allocations -= part->id == state->allocations;
}

/* Its address is not known: it counts, but cannot be followed. */
static void alloc_unknown(struct process *process, const struct allocation *allocation)
{
	if (!process->entries_only) {
		process->counters[COUNTER_UNKNOWN_ALLOCS]++;
		return;
	}
	process->spaces[allocation->space].allocs++;
	process->spaces[allocation->space].alloc_bytes += allocation->size_bytes;
}

/* What is in the ledger at the address of a new allocation cannot be there any more. */
static void alloc_displace(struct state *state, struct process *process, const struct event *event,
			   struct change *change)
{
	struct allocation stale;

	if (key_of(event) == MS_KEY_HANDLE && physical_displace(process, event->call->addr)) {
		process->counters[COUNTER_MISSED_FREES]++;
		return;
	}
	if (!ledger_remove(ledger_of(process, event), event->call->addr, &stale))
		return;
	allocations_uncount(process, &stale);
	if (is_part_of(&stale, event))
		part_forget(state, process, &stale);
	else
		process->counters[COUNTER_MISSED_FREES]++;
	if (key_of(event) == MS_KEY_HANDLE)
		map_remove(&process->handles, stale.id);
	if (key_of(event) == MS_KEY_MAPPING)
		physical_unmap(process, &stale, change);
}

bool blocks_are_many(struct process *process, enum ms_key key, const struct allocation *more)
{
	const struct ledger *ledger = &process->ledgers[key];

	/* One that takes the place of another is not one more. */
	if (ledger->count < LIMIT_ALLOCATIONS || ledger_find(ledger, more->addr))
		return false;
	process->counters[COUNTER_OTHER_ALLOCATIONS]++;
	process->spaces[more->space].allocs++;
	process->spaces[more->space].alloc_bytes += more->size_bytes;
	return true;
}

int allocations_add(struct state *state, struct process *process, enum ms_key key,
		    struct allocation *allocation)
{
	struct space_total *space = &process->spaces[allocation->space];
	int err;

	allocation->id = state->allocations + 1;
	if (key == MS_KEY_HANDLE) {
		err = map_set(&process->handles, allocation->id, allocation->addr);
		if (err)
			return err;
	}
	err = ledger_insert(&process->ledgers[key], allocation);
	if (err)
		return err;
	state->allocations++;
	space->allocs++;
	space->alloc_bytes += allocation->size_bytes;
	usage_count_alloc(process->usage, allocation, 1);
	space_add(process, allocation, allocation->ts_ns);
	process->nccl.newest_ns = allocation->ts_ns;
	return 0;
}

/* Opened by a handle, it is as large as what was exported, if that was seen. */
static void size_of_import(const struct state *state, const struct event *event,
			   struct allocation *allocation)
{
	if (allocation->space == MS_SPACE_IMPORTED && !allocation->size_known && event->call->src)
		allocation->size_known =
			exports_find(&state->exports, event->call->src, &allocation->size_bytes);
}

/* Memory of another process may be opened several times, and is one. */
static bool alloc_refer(struct process *process, const struct event *event, struct change *change)
{
	struct allocation *imported;

	if (event->probe->spec.space != MS_SPACE_IMPORTED || key_of(event) != MS_KEY_POINTER)
		return false;
	imported = ledger_find(ledger_of(process, event), event->call->addr);
	if (!imported || imported->space != MS_SPACE_IMPORTED || is_part_of(imported, event))
		return false;
	imported->references++;
	change_allocation(change, imported);
	return true;
}

struct allocation allocations_made_by(const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;

	return (struct allocation){
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
		.stack = event_stack_id(call),
		.owner = event->probe->spec.space == MS_SPACE_POOL ? call->src : 0,
	};
}

int allocations_alloc(struct state *state, struct process *process, const struct event *event,
		      struct change *change)
{
	const struct ms_call *call = event->call;
	struct allocation allocation = allocations_made_by(event, change);
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
	if (!call->addr && key_of(event) == MS_KEY_POINTER)
		return 0; /* a successful allocation of no bytes */
	if (graphs_captures(process, event->probe, call->stream)) {
		change->captured = true;
		return graphs_note(process, call->stream, call->addr, call->size);
	}
	size_of_import(state, event, &allocation);
	if (alloc_refer(process, event, change) ||
	    blocks_are_many(process, key_of(event), &allocation))
		return 0;
	alloc_displace(state, process, event, change);
	if (allocation.space == MS_SPACE_PHYSICAL || allocation.space == MS_SPACE_IMPORTED)
		allocation.references = 1;
	if (key_of(event) == MS_KEY_MAPPING)
		physical_map(process, &allocation, call->src);
	err = allocations_add(state, process, key_of(event), &allocation);
	if (err)
		return err;
	/* Recordings of before 1.4 do not say which handle was opened. */
	process->counters[COUNTER_UNSIZED_IMPORTS] += allocation.space == MS_SPACE_IMPORTED &&
						      !allocation.size_known &&
						      call->known & MS_KNOWN_SRC;
	change_allocation(change, &allocation);
	return 0;
}

/* ---- frees that have been entered ------------------------------------------------------------ */

static void free_count(struct process *process, const struct allocation *allocation)
{
	process->spaces[allocation->space].frees++;
	process->spaces[allocation->space].free_bytes += allocation->size_bytes;
	usage_count_free(process->usage, allocation);
}

/* The end of a free for which memory is live no more, whatever it was. */
static void free_finish(struct process *process, enum ms_key key, struct allocation *allocation,
			struct change *change)
{
	if (key == MS_KEY_HANDLE) {
		change->free = physical_release_end(process, allocation) ? FREE_KNOWN : FREE_KEPT;
		if (change->free == FREE_KEPT)
			return;
	}
	free_count(process, allocation);
	if (key == MS_KEY_MAPPING)
		physical_unmap(process, allocation, change);
}

/* One of what a free has taken, of which no end was seen. */
static void finish_unseen(struct process *process, struct pending_free *freed)
{
	struct change unused;

	memset(&unused, 0, sizeof(unused));
	free_finish(process, freed->key, &freed->allocation, &unused);
	if (unused.free != FREE_KEPT)
		usage_end(process->usage, &freed->allocation);
}

void allocations_returned(struct process *process, uint32_t tid)
{
	struct pending_free freed;

	while (pending_take_any(&process->pending, tid, &freed))
		finish_unseen(process, &freed);
}

int blocks_pend(struct process *process, const struct pending_free *freed)
{
	struct pending_free before;

	while (process->pending.calls_count >= LIMIT_FREES &&
	       pending_take_first(&process->pending, &before)) {
		process->counters[COUNTER_OTHER_FREES]++;
		finish_unseen(process, &before);
	}
	return pending_add(&process->pending, freed);
}

static int pend(struct process *process, const struct event *event, uint64_t addr,
		const struct allocation *allocation)
{
	return blocks_pend(process, &(struct pending_free){ .tid = event->header->tid,
							    .key = key_of(event),
							    .addr = addr,
							    .allocation = *allocation });
}

/*
 * A thread that frees an address anew, or has more frees pending than calls can be nested, has long
 * returned from the earlier ones, too.
 */
static void expire(struct process *process, uint32_t tid, enum ms_key key, uint64_t addr)
{
	struct pending_free freed = { .key = key };

	while (pending_take(&process->pending, tid, key, addr, &freed.allocation))
		finish_unseen(process, &freed);
	while (pending_take_outermost(&process->pending, tid, &freed))
		finish_unseen(process, &freed);
}

/* Where a range ends. One that claims to go beyond the last address ends there. */
static uint64_t end_of(uint64_t addr, uint64_t size)
{
	uint64_t end;

	return __builtin_add_overflow(addr, size, &end) ? UINT64_MAX : end;
}

/* All mappings in the range are taken away, except younger ones. */
static int unmap_begin(struct process *process, const struct event *event, uint64_t addr,
		       uint64_t size)
{
	struct ledger *ledger = ledger_of(process, event);
	uint64_t end = end_of(addr, size), next = addr;
	const struct allocation *first;
	int err = 0;

	effort_advance(process, event->header->ts_ns);
	while (!err && (first = ledger_first(ledger, next, end))) {
		struct allocation mapping = *first;

		/* It may have to be put back. */
		if (!effort_pay(process, 2)) {
			process->counters[COUNTER_OTHER_UNMAPS]++;
			break;
		}
		next = end_of(mapping.addr, mapping.size_bytes ? mapping.size_bytes : 1);
		if (mapping.ts_ns <= event->header->ts_ns) {
			ledger_remove(ledger, mapping.addr, &mapping);
			allocations_uncount(process, &mapping);
			err = pend(process, event, addr, &mapping);
		}
		if (next >= end)
			break;
	}
	return err;
}

int allocations_free_begin(struct process *process, const struct event *event)
{
	const struct ms_free *begun = event->free;
	struct ledger *ledger = ledger_of(process, event);
	struct allocation allocation, *found;

	expire(process, event->header->tid, key_of(event), begun->addr);
	if (graphs_captures(process, event->probe, begun->stream))
		return 0;
	if (key_of(event) == MS_KEY_MAPPING)
		return unmap_begin(process, event, begun->addr, begun->size);
	if (key_of(event) == MS_KEY_HANDLE) {
		int known = physical_release_begin(process, begun->addr, &allocation);

		return known > 0 ? pend(process, event, begun->addr, &allocation) : known;
	}
	found = ledger_find(ledger, begun->addr);
	if (!found || (found->space == MS_SPACE_IMPORTED && found->references > 1))
		return 0; /* unknown, or it stays: the end of the call says so */
	ledger_remove(ledger, begun->addr, &allocation);
	allocations_uncount(process, &allocation);
	return pend(process, event, begun->addr, &allocation);
}

/* What the thread's free has taken out of the ledger when it began. */
static bool take_begun(struct process *process, const struct event *event,
		       struct allocation *allocation)
{
	return pending_take(&process->pending, event->header->tid, key_of(event), event->call->addr,
			    allocation);
}

/* ---- frees that are over --------------------------------------------------------------------- */

/* Its beginning was lost or not reported: the block, unless it is a younger one at that address. */
static bool ledger_take(struct process *process, const struct event *event,
			struct allocation *allocation)
{
	const struct allocation *found = ledger_find(ledger_of(process, event), event->call->addr);

	if (!found || found->ts_ns > event->header->ts_ns)
		return false;
	if (key_of(event) == MS_KEY_HANDLE)
		return physical_release_begin(process, event->call->addr, allocation) > 0;
	ledger_remove(ledger_of(process, event), event->call->addr, allocation);
	allocations_uncount(process, allocation);
	return true;
}

/* A free that failed after all, or has not come to its end: the block is back. */
static int restore(struct process *process, const struct pending_free *pending, uint64_t ts_ns,
		   struct change *change)
{
	struct ledger *ledger = &process->ledgers[pending->key];
	const struct allocation *allocation = &pending->allocation;
	int err;

	if (pending->key == MS_KEY_HANDLE)
		return physical_release_undo(process, pending->addr, allocation);
	if (ledger_find(ledger, allocation->addr)) {
		/* Another call freed it, or the address could not have been handed out again. */
		process->counters[COUNTER_MISSED_FREES]++;
		usage_end(process->usage, allocation);
		if (pending->key == MS_KEY_MAPPING)
			physical_unmap(process, allocation, change);
		return 0;
	}
	err = ledger_insert(ledger, allocation);
	if (err)
		return err;
	space_add(process, allocation, ts_ns);
	if (allocation->framework)
		tensor_sources_restore(&process->tensors.sources, allocation);
	nccl_memory_stays(&process->nccl, allocation);
	return 0;
}

static int restore_all(struct process *process, const struct event *event, struct change *change)
{
	struct pending_free pending = { .tid = event->header->tid,
					.key = key_of(event),
					.addr = event->call->addr };
	int err = 0;

	while (!err && take_begun(process, event, &pending.allocation))
		err = restore(process, &pending, event->header->ts_ns, change);
	return err;
}

int allocations_settle(struct process *process, uint64_t ts_ns, struct change *change)
{
	struct pending_free freed;
	int err = 0;

	while (!err && pending_take_last(&process->pending, &freed))
		err = restore(process, &freed, ts_ns, change);
	return err;
}

static enum free_kind free_unmatched(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;

	if (call->known & MS_KNOWN_ADDR && !call->addr && key_of(event) == MS_KEY_POINTER) {
		process->counters[COUNTER_NULL_FREES]++;
		return FREE_NULL;
	}
	if (process->entries_only) {
		process->counters[COUNTER_UNWATCHED_FREES]++;
		return FREE_UNWATCHED;
	}
	if (process->was_running) {
		process->counters[COUNTER_PRE_ATTACH_FREES]++;
		return FREE_PRE_ATTACH;
	}
	process->counters[COUNTER_UNKNOWN_FREES]++;
	return FREE_UNKNOWN;
}

/* What a part of this free has freed already. */
static bool part_take(const struct process *process, const struct event *event,
		      struct allocation *allocation)
{
	*allocation = process->part.allocation;
	return process->part.tid == event->header->tid && allocation->addr == event->call->addr &&
	       process->part.key == key_of(event) && process->part_ts_ns >= event->header->ts_ns;
}

/* One of several times that imported memory was opened. */
static bool release_import(struct process *process, const struct event *event,
			   struct change *change)
{
	struct allocation *imported = ledger_find(ledger_of(process, event), event->call->addr);

	if (!imported || imported->space != MS_SPACE_IMPORTED || imported->references < 2 ||
	    key_of(event) != MS_KEY_POINTER)
		return false;
	imported->references--;
	change->free = FREE_KEPT;
	change_allocation(change, imported);
	return true;
}

/* The other mappings of a range: the event shows them all as one. */
static void free_rest(struct process *process, const struct event *event, struct allocation *shown,
		      struct change *change)
{
	struct allocation allocation;

	while (key_of(event) == MS_KEY_MAPPING && take_begun(process, event, &allocation)) {
		shown->size_bytes += allocation.size_bytes;
		free_finish(process, MS_KEY_MAPPING, &allocation, change);
		usage_end(process->usage, &allocation);
	}
}

int allocations_free(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	struct allocation allocation;
	bool found;

	if (!event_succeeded(call))
		return restore_all(process, event, change);
	if (graphs_captures(process, event->probe, call->stream)) {
		change->free = FREE_CAPTURED;
		return graphs_note(process, call->stream, call->addr, 0);
	}
	found = take_begun(process, event, &allocation);
	if (!found && key_of(event) == MS_KEY_MAPPING) {
		int err = unmap_begin(process, event, call->addr, call->size);

		if (err)
			return err;
		found = take_begun(process, event, &allocation);
	}
	if (!found && release_import(process, event, change))
		return 0;
	if (!found)
		found = ledger_take(process, event, &allocation);
	if (!found && part_take(process, event, &allocation)) {
		change->free = FREE_KNOWN;
		change_allocation(change, &allocation);
		return 0;
	}
	if (!found) {
		change->free = free_unmatched(process, event);
		return 0;
	}
	change->free = FREE_KNOWN;
	free_finish(process, key_of(event), &allocation, change);
	free_rest(process, event, &allocation, change);
	if (call->flags & MS_CALL_PART) {
		process->part = (struct pending_free){ .tid = event->header->tid,
						       .key = key_of(event),
						       .allocation = allocation };
		process->part_ts_ns = event->header->ts_ns;
	}
	change_allocation(change, &allocation);
	return 0;
}
