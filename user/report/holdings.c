// SPDX-License-Identifier: BSD-2-Clause
#include "report/holdings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ledger/process.h"
#include "ledger/usage.h"

#define FIRST_WIDTH_NS (1ull << 20)
#define FEWEST_PIECES 8 /* of less time, no share is worth anything */

void holdings_fini(struct holdings *holdings)
{
	while (holdings->count)
		free(holdings->list[--holdings->count]);
	free(holdings->list);
	map_fini(&holdings->by_identity);
	*holdings = (struct holdings){ 0 };
}

size_t holdings_bytes(const struct holdings *holdings)
{
	return holdings->capacity * sizeof(*holdings->list) + map_bytes(&holdings->by_identity) +
	       holdings->count * sizeof(**holdings->list);
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct holdings_process *find(const struct holdings *holdings, uint64_t key)
{
	const uint64_t *place = map_get(&holdings->by_identity, key);

	return place ? (struct holdings_process *)(uintptr_t)*place : NULL;
}

const struct holdings_process *holdings_find(const struct holdings *holdings, uint32_t pid,
					     uint64_t start_ns)
{
	return find(holdings, event_process_key(pid, start_ns));
}

static struct holdings_process *add(struct holdings *holdings, const struct process *process)
{
	struct holdings_process *holding;

	if (memory_grow(&holdings->list, &holdings->capacity, holdings->count + 1,
			sizeof(*holdings->list)))
		return NULL;
	holding = calloc(1, sizeof(*holding));
	if (!holding)
		return NULL;
	holding->pid = process->pid;
	holding->start_ns = process->start_ns;
	holding->place = holdings->count;
	if (map_set(&holdings->by_identity, event_process_key(holding->pid, holding->start_ns),
		    (uintptr_t)holding)) {
		free(holding);
		return NULL;
	}
	holdings->list[holdings->count++] = holding;
	return holding;
}

static struct holdings_process *holding_of(struct holdings *holdings, const struct process *process)
{
	struct holdings_process *last = holdings->last;

	if (last && last->pid == process->pid && last->start_ns == process->start_ns)
		return last;
	last = find(holdings, event_process_key(process->pid, process->start_ns));
	if (!last)
		last = add(holdings, process);
	holdings->last = last;
	return last;
}

static void drop(struct holdings *holdings, struct holdings_process *holding)
{
	struct holdings_process *moved = holdings->list[--holdings->count];

	map_remove(&holdings->by_identity, event_process_key(holding->pid, holding->start_ns));
	holdings->list[holding->place] = moved;
	moved->place = holding->place;
	free(holding);
}

/* Those that the state does not list any more. */
static void forget(struct holdings *holdings, const struct state *state)
{
	const uint64_t more = state->more_count - holdings->more_count;
	size_t i;

	holdings->more_count = state->more_count;
	holdings->last = NULL;
	for (i = 0; more <= STATE_RETIRED && i < more; i++) {
		struct holdings_process *gone =
			find(holdings, state->retired[(state->more_count - 1 - i) % STATE_RETIRED]);

		if (gone)
			drop(holdings, gone);
	}
	for (i = holdings->count; more > STATE_RETIRED && i; i--) {
		struct holdings_process *holding = holdings->list[i - 1];

		if (!state_find(state, holding->pid, holding->start_ns))
			drop(holdings, holding);
	}
}

/* ---- time ------------------------------------------------------------------------------------ */

static void halve(struct holdings_process *holding)
{
	size_t i;

	for (i = 0; i < HOLDINGS_PIECES / 2; i++)
		holding->ends[i] = holding->ends[2 * i + 1];
	holding->width_ns *= 2;
	holding->piece /= 2;
}

/* What it holds has been the same since the last time. */
static void go_on(struct holdings_process *holding, uint64_t ts_ns)
{
	uint64_t ns =
		holding->first_ns && ts_ns > holding->first_ns ? ts_ns - holding->first_ns : 0;

	if (!holding->first_ns)
		return;
	while (ns / holding->width_ns >= HOLDINGS_PIECES) {
		for (; holding->piece < HOLDINGS_PIECES; holding->piece++)
			holding->ends[holding->piece] = holding->bytes;
		halve(holding);
	}
	while (holding->piece < ns / holding->width_ns)
		holding->ends[holding->piece++] = holding->bytes;
}

static void begin(struct holdings_process *holding, uint64_t ts_ns)
{
	holding->first_ns = ts_ns;
	holding->width_ns = FIRST_WIDTH_NS;
	holding->piece = 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Whether it can change what a process holds. */
static bool is_about_memory(const struct event *event)
{
	if (!event->call)
		return true;
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
	case MS_OP_FREE:
	case MS_OP_CONTEXT:
	case MS_OP_MEMORY:
		return true;
	case MS_OP_LAUNCH:
		return event->probe->spec.action == MS_ACTION_GRAPH_LAUNCH;
	}
	return false;
}

static bool allocates(const struct event *event, const struct change *change)
{
	return event->call && event->probe->spec.op == MS_OP_ALLOC && change->has_allocation &&
	       !change->captured && event_succeeded(event->call) &&
	       usage_is_held(change->allocation.space);
}

static void warm_up(const struct holdings *holdings, struct holdings_process *holding,
		    uint64_t ts_ns)
{
	holding->warm = true;
	holding->warm_ns = holdings->warmup.ns ? holding->first_ns + holdings->warmup.ns : ts_ns;
	holding->warm_bytes = holding->bytes;
}

static bool is_warm(const struct holdings *holdings, const struct holdings_process *holding,
		    uint64_t ts_ns)
{
	return holdings->warmup.ns && holding->first_ns &&
	       ts_ns >= holding->first_ns + holdings->warmup.ns;
}

static void take_bytes(struct holdings_process *holding, uint64_t bytes, uint64_t ts_ns)
{
	holding->bytes = bytes;
	if (bytes <= holding->peak_bytes)
		return;
	holding->peak_bytes = bytes;
	holding->peak_ts_ns = ts_ns;
}

static void take_bytes_on_devices(struct holdings_process *holding, uint64_t bytes, uint64_t ts_ns)
{
	if (bytes <= holding->on_devices_bytes)
		return;
	holding->on_devices_bytes = bytes;
	holding->on_devices_ts_ns = ts_ns;
}

/* ---- the order of calls ---------------------------------------------------------------------- */

static void note_free(struct holdings_process *holding, const struct event *event,
		      const struct change *change)
{
	if (!event->call || event->probe->spec.op != MS_OP_FREE || change->free != FREE_KNOWN ||
	    !usage_is_held(change->allocation.space))
		return;
	holding->frees[holding->frees_count++ % HOLDINGS_FREES] = (struct holdings_free){
		.end_ns = event_end_ns(event),
		.bytes = change->allocation.size_bytes,
		.tid = event->header->tid,
	};
}

/* One for each thread that frees: a recording that has more is made to cost time. */
#define CALLS_LOOKED_AT 256

/* What other threads' frees, which have begun, may still have held when a call began. */
static uint64_t bytes_in_frees(const struct holdings_process *holding,
			       const struct process *process, const struct event *event)
{
	uint64_t bytes = 0, i;
	size_t j;

	for (i = holding->frees_count; i && holding->frees_count - i < HOLDINGS_FREES; i--) {
		const struct holdings_free *ended = &holding->frees[(i - 1) % HOLDINGS_FREES];

		if (ended->end_ns <= event->header->ts_ns)
			break;
		bytes += ended->tid != event->header->tid ? ended->bytes : 0;
	}
	for (j = 0; j < process->pending.calls_count && j < CALLS_LOOKED_AT; j++) {
		const struct pending_call *call = &process->pending.calls[j];

		if (call->tid != event->header->tid && call->count == 1 &&
		    usage_is_held(call->first.space))
			bytes += call->first.size_bytes;
	}
	return bytes;
}

static void note_most(struct holdings_process *holding, const struct event *event,
		      const struct change *change)
{
	const uint64_t bytes = holding->bytes + bytes_in_frees(holding, change->process, event);

	if (bytes > holding->most_bytes)
		holding->most_bytes = bytes;
}

uint64_t holdings_unsure(const struct holdings_process *holding)
{
	return holding && holding->most_bytes > holding->peak_bytes ?
		       holding->most_bytes - holding->peak_bytes :
		       0;
}

static void take_event(struct holdings *holdings, struct holdings_process *holding,
		       const struct event *event, const struct change *change)
{
	const uint64_t ts_ns = event_end_ns(event);

	go_on(holding, ts_ns);
	if (!holding->warm && is_warm(holdings, holding, ts_ns))
		warm_up(holdings, holding, ts_ns);
	/* What it held until its end is what it held last. */
	if (event->header->type == MS_TYPE_EXIT)
		return;
	if (event->header->type == MS_TYPE_EXEC) {
		holding->first_ns = holding->allocs = 0;
		holding->warm = false;
	}
	take_bytes(holding, process_held_bytes(change->process), ts_ns);
	take_bytes_on_devices(holding, process_on_devices_bytes(change->process), ts_ns);
	note_free(holding, event, change);
	if (!allocates(event, change))
		return;
	note_most(holding, event, change);
	if (!holding->first_ns)
		begin(holding, ts_ns);
	if (++holding->allocs == holdings->warmup.allocs && !holding->warm)
		warm_up(holdings, holding, ts_ns);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Not what a runtime calls by itself, at the program's start and end. */
static bool is_work(const struct event *event)
{
	if (!event->call)
		return false;
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
	case MS_OP_FREE:
	case MS_OP_COPY:
	case MS_OP_MEMSET:
	case MS_OP_LAUNCH:
	case MS_OP_SYNC:
		return true;
	}
	return false;
}

static void note_work(struct holdings_process *holding, const struct event *event)
{
	const uint64_t begin_ns = event_begin_ns(event), end_ns = event_end_ns(event);

	if (!holding->work_end_ns || begin_ns < holding->work_begin_ns)
		holding->work_begin_ns = begin_ns;
	if (end_ns > holding->work_end_ns)
		holding->work_end_ns = end_ns;
}

uint64_t holdings_work_ns(const struct holdings_process *holding)
{
	return holding ? holding->work_end_ns - holding->work_begin_ns : 0;
}

int holdings_event(struct holdings *holdings, const struct state *state, const struct event *event,
		   const struct change *change)
{
	struct holdings_process *holding;
	const bool works = is_work(event), counts = is_about_memory(event);

	if (state->more_count != holdings->more_count)
		forget(holdings, state);
	if ((!works && !counts) || (change->process->exited && event->header->type != MS_TYPE_EXIT))
		return 0;
	holding = holding_of(holdings, change->process);
	if (!holding)
		return -ENOMEM;
	if (works)
		note_work(holding, event);
	if (counts)
		take_event(holdings, holding, event, change);
	return 0;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* By a share of the time since the first allocation. */
static bool grew_by_share(const struct holdings_process *holding, uint64_t end_ns, uint64_t share,
			  struct holdings_growth *growth)
{
	const uint64_t length_ns = end_ns > holding->first_ns ? end_ns - holding->first_ns : 0;
	const uint64_t warm_ns = (uint64_t)((unsigned __int128)length_ns * share / 100);
	const size_t piece = warm_ns / holding->width_ns;

	if (length_ns < FEWEST_PIECES * FIRST_WIDTH_NS)
		return false;
	growth->estimated = true;
	growth->warm_ns = holding->first_ns + warm_ns;
	growth->before_bytes = piece < holding->piece ? holding->ends[piece] : holding->bytes;
	return true;
}

bool holdings_grew(const struct holdings *holdings, const struct holdings_process *holding,
		   uint64_t end_ns, uint64_t after_bytes, uint64_t share,
		   struct holdings_growth *growth)
{
	*growth = (struct holdings_growth){ .after_bytes = after_bytes };
	if (!holding || !holding->first_ns)
		return false;
	if (!holdings->warmup.ns && !holdings->warmup.allocs)
		return grew_by_share(holding, end_ns, share, growth);
	growth->warm_ns = holding->warm_ns;
	growth->before_bytes = holding->warm_bytes;
	if (holding->warm)
		return true;
	/* Nothing has happened since. */
	growth->warm_ns = holding->first_ns + holdings->warmup.ns;
	growth->before_bytes = holding->bytes;
	return is_warm(holdings, holding, end_ns);
}
