// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/transfers.h"

#include "ledger/graphs.h"

enum side { SIDE_HOST, SIDE_DEVICE, SIDE_ARRAY, SIDE_UNKNOWN };

/*
 * Where an address lies. One that no allocation contains is pageable host memory, unless there may
 * be allocations that were not seen.
 */
static enum side side_of(struct process *process, uint64_t addr)
{
	const struct allocation *found = state_containing(process, addr);

	if (found && found->addr == addr &&
	    found == ledger_find(&process->ledgers[MS_KEY_ARRAY], addr))
		return SIDE_ARRAY; /* its handle */
	if (found)
		return found->space == MS_SPACE_PINNED || found->space == MS_SPACE_REGISTERED ?
			       SIDE_HOST :
			       SIDE_DEVICE;
	return process->was_running || process->entries_only || process->has_globals ||
			       process->counters[COUNTER_UNKNOWN_ALLOCS] ||
			       process->counters[COUNTER_UNKNOWN_SIZES] ||
			       process->counters[COUNTER_OTHER_ALLOCATIONS] ?
		       SIDE_UNKNOWN :
		       SIDE_HOST;
}

/* What the driver finds out by itself if the program does not say, from what is live. */
static enum ms_direction direction_of(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	static const enum ms_direction directions[3][3] = {
		{ MS_DIRECTION_HTOH, MS_DIRECTION_HTOD, MS_DIRECTION_HTOA },
		{ MS_DIRECTION_DTOH, MS_DIRECTION_DTOD, MS_DIRECTION_DTOA },
		{ MS_DIRECTION_ATOH, MS_DIRECTION_ATOD, MS_DIRECTION_ATOA },
	};
	enum side from, to;

	if (call->direction != MS_DIRECTION_DEFAULT || !(call->known & MS_KNOWN_ADDR) ||
	    !(call->known & MS_KNOWN_SRC) ||
	    /* Memory of the graph-to-be is not there yet. */
	    graphs_captures(process, event->probe, call->stream))
		return call->direction;
	from = side_of(process, call->src);
	to = side_of(process, call->addr);
	return from == SIDE_UNKNOWN || to == SIDE_UNKNOWN ? MS_DIRECTION_DEFAULT :
							    directions[from][to];
}

static void call_add(struct call_total *total, const struct event *event)
{
	const struct ms_call *call = event->call;

	total->count += event->count;
	total->duration_ns += call->duration_ns;
	if (call->known & MS_KNOWN_SIZE)
		total->bytes += call->size;
	else
		total->unknown_bytes += event->count;
}

void transfers_apply(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;

	change->direction = direction_of(process, event);
	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return;
	if (event->probe->spec.op == MS_OP_MEMSET)
		call_add(&process->memsets, event);
	else if (event->probe->spec.op == MS_OP_SYNC)
		call_add(&process->syncs, event);
	else if (call->known & MS_KNOWN_DIRECTION)
		call_add(&process->copies[change->direction], event);
	else
		call_add(&process->copies[MS_DIRECTIONS_COUNT], event);
}
