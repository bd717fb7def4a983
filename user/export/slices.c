// SPDX-License-Identifier: BSD-2-Clause
#include "export/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "analysis/oom.h"
#include "export/gpu_lanes.h"

/* Calls within one; the kernel side keeps track of fewer. The first of more are early. */
#define INNER_MAX 64
/*
 * In all threads together. What more there is stands beside the call that it is in, not below it.
 */
#define KEPT_MAX 4096
#define LANES_MAX 16

struct traces_inner {
	struct event event;
	struct change change;
	struct ms_launch record; /* or only its call: what `event` points to */
	uint64_t begin_ns, end_ns;
};

/* ---- one call -------------------------------------------------------------------------------- */

static struct traces_slice slice_of(struct traces *traces, const struct traces_thread *thread,
				    const struct event *event, const struct change *change)
{
	struct traces_slice slice = {
		.source = { .event = event, .change = change, .scratch = &traces->scratch },
		.begin_ns = event_begin_ns(event),
		.end_ns = event_end_ns(event)
	};
	const struct allocation *allocation = &change->allocation;

	if (slice.end_ns < slice.begin_ns)
		slice.end_ns = slice.begin_ns;
	if (thread->process->has_gpu && gpu_joins_wants(event))
		slice.gpu_flow = gpu_lanes_flow(thread->process, slice.begin_ns);
	/* What was live when this began, and what graphs allocate, has no beginning here. */
	if (!change->has_allocation || allocation->space == MS_SPACE_GRAPH ||
	    allocation->id <= traces->flows_from)
		return slice;
	if (event->probe->spec.op == MS_OP_ALLOC || change->free == FREE_KNOWN)
		slice.flow = (uint64_t)traces->recordings << 48 ^ allocation->id;
	slice.ends_flow = change->free == FREE_KNOWN;
	return slice;
}

static void tell_failure(struct traces *traces, const struct traces_thread *thread,
			 const struct traces_slice *slice)
{
	const struct event *event = slice->source.event;
	struct traces_instant instant = { .ts_ns = slice->end_ns,
					  .process = thread->process,
					  .thread = thread,
					  .name = "call failed",
					  .slice = slice };

	if (event_succeeded(event->call))
		return;
	if (event->probe->spec.op == MS_OP_ALLOC && event->call->result == OOM_RESULT)
		instant.name = "out of memory";
	traces->format->instant(traces, &instant);
}

static void end_slice(struct traces *traces, struct traces_thread *lane, uint64_t end_ns)
{
	if (lane->end_ns < end_ns)
		lane->end_ns = end_ns;
	traces->format->slice_end(traces, lane, end_ns);
}

static void begin_slice(struct traces *traces, const struct traces_thread *thread,
			const struct event *event, const struct change *change, uint64_t end_ns)
{
	struct traces_slice slice = slice_of(traces, thread, event, change);

	slice.end_ns = end_ns;
	traces->format->slice_begin(traces, thread, &slice);
	tell_failure(traces, thread, &slice);
}

/* ---- those that were kept -------------------------------------------------------------------- */

/* The later it came, the further out, if times do not tell. */
static void sort(struct traces_inner *inner, size_t count)
{
	size_t i, j;

	for (i = 1; i < count; i++) {
		const struct traces_inner moved = inner[i];

		for (j = i; j && (inner[j - 1].begin_ns > moved.begin_ns ||
				  (inner[j - 1].begin_ns == moved.begin_ns &&
				   inner[j - 1].end_ns <= moved.end_ns));
		     j--)
			inner[j] = inner[j - 1];
		inner[j] = moved;
	}
}

static void point_to_own(struct traces_inner *inner)
{
	inner->event.header = &inner->record.call.event;
	inner->event.call = &inner->record.call;
	if (inner->event.launch)
		inner->event.launch = &inner->record;
}

struct traces_thread *slices_lane(struct traces *traces, struct traces_thread *thread,
				  uint64_t begin_ns)
{
	while (thread->end_ns > begin_ns && thread->lane < LANES_MAX) {
		struct traces_thread *next = thread->overlapping;

		if (!next) {
			next = calloc(1, sizeof(*next));
			if (!next) {
				traces->err = -ENOMEM;
				return thread;
			}
			*next = (struct traces_thread){ .id = traces->next_id++,
							.process = thread->process,
							.tid = thread->tid,
							.lane = thread->lane + 1 };
			memcpy(next->name, thread->name, sizeof(next->name));
			thread->overlapping = next;
			traces->format->thread(traces, next);
		}
		thread = next;
	}
	return thread;
}

void slices_free(struct traces *traces, struct traces_thread *thread)
{
	struct traces_thread *next;

	traces->kept -= thread->inner_count;
	free(thread->inner);
	for (; thread; thread = next) {
		next = thread->overlapping;
		free(thread);
	}
}

/* What one lacks of the time of the slice that it is in was lost: no slice is longer than that. */
void slices_end(struct traces *traces, struct traces_thread *thread)
{
	struct traces_inner *inner = thread->inner;
	struct traces_thread *lane;
	uint64_t open[INNER_MAX + 1];
	size_t depth = 0, i;

	if (!thread->inner_count)
		return;
	sort(inner, thread->inner_count);
	lane = slices_lane(traces, thread, inner[0].begin_ns);
	for (i = 0; i < thread->inner_count; i++) {
		point_to_own(&inner[i]);
		while (depth && open[depth - 1] <= inner[i].begin_ns)
			end_slice(traces, lane, open[--depth]);
		open[depth] = inner[i].end_ns;
		if (depth && open[depth] > open[depth - 1])
			open[depth] = open[depth - 1];
		begin_slice(traces, lane, &inner[i].event, &inner[i].change, open[depth]);
		depth++;
	}
	while (depth)
		end_slice(traces, lane, open[--depth]);
	traces->kept -= thread->inner_count;
	free(thread->inner);
	thread->inner = NULL;
	thread->inner_count = thread->inner_capacity = 0;
}

static void keep(struct traces *traces, struct traces_thread *thread, const struct event *event,
		 const struct change *change)
{
	struct traces_inner *inner;
	size_t length = event->launch ? sizeof(*event->launch) : sizeof(*event->call);

	if (memory_grow(&thread->inner, &thread->inner_capacity, thread->inner_count + 1,
			sizeof(*thread->inner))) {
		traces->err = -ENOMEM;
		return;
	}
	traces->kept++;
	inner = &thread->inner[thread->inner_count++];
	inner->event = *event;
	inner->change = *change;
	inner->change.process = NULL; /* may be gone by then */
	inner->begin_ns = event_begin_ns(event);
	inner->end_ns = event_end_ns(event);
	if (inner->end_ns < inner->begin_ns)
		inner->end_ns = inner->begin_ns;
	memcpy(&inner->record, event->header, length);
}

/* ---- taking ---------------------------------------------------------------------------------- */

void slices_take(struct traces *traces, struct traces_thread *thread, const struct event *event,
		 const struct change *change)
{
	const bool is_inner = event->call->flags & MS_CALL_NESTED && traces->kept < KEPT_MAX;
	struct traces_thread *lane;
	struct traces_slice slice;

	/* How long it took is not known: its end was not watched. */
	if (!(event->call->known & MS_KNOWN_RESULT)) {
		struct traces_instant instant = { .ts_ns = event_begin_ns(event),
						  .process = thread->process,
						  .thread = thread,
						  .name = event->probe->symbol,
						  .slice = &slice };

		slice = slice_of(traces, thread, event, change);
		traces->format->instant(traces, &instant);
		return;
	}
	if (!is_inner && !thread->inner_count) {
		lane = slices_lane(traces, thread, event_begin_ns(event));
		slice = slice_of(traces, thread, event, change);
		begin_slice(traces, lane, event, change, slice.end_ns);
		end_slice(traces, lane, slice.end_ns);
		return;
	}
	if (thread->inner_count >= INNER_MAX)
		slices_end(traces, thread);
	keep(traces, thread, event, change);
	if (!is_inner)
		slices_end(traces, thread);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* What a slice shows anyway, or its process. */
static bool is_shown_otherwise(const char *name)
{
	static const char *const others[] = { "ts_ns", "pid", "tid",        "comm",
					      "op",    "api", "duration_ns" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i], name))
			return true;
	return false;
}

void slices_choose_fields(struct traces *traces)
{
	size_t i;

	for (i = 0; i < fields_count && i < TRACES_FIELDS_MAX; i++) {
		traces->wanted[i] = is_shown_otherwise(fields[i].name) ? 0 : fields[i].ops;
		if (!strcmp(fields[i].name, "result_name"))
			traces->result_name = i;
	}
}

static bool has_amounts(const struct amount amounts[MS_SPACES_COUNT])
{
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (amounts[i].count)
			return true;
	return false;
}

/* What is not known, not so or goes without saying is left out. */
static bool says_something(const struct event *event, enum field_kind kind,
			   struct field_value value)
{
	switch (kind) {
	case FIELD_FLAG:
		return value.known && value.number;
	case FIELD_AMOUNTS:
		return value.known && has_amounts(value.amounts);
	case FIELD_TEXT:
		return value.known && value.text != event->probe->symbol;
	default:
		return value.known;
	}
}

void traces_fields(struct traces *traces, const struct traces_slice *slice,
		   void (*put)(void *context, size_t field, struct field_value value),
		   void *context)
{
	const struct event *event = slice->source.event;
	const uint32_t op = event->probe->spec.op;
	size_t i;

	string_restart(&traces->scratch, &traces->err);
	for (i = 0; i < fields_count && i < TRACES_FIELDS_MAX; i++) {
		struct field_value value;

		if (!(traces->wanted[i] >> op & 1))
			continue;
		if (i == traces->result_name && event_succeeded(event->call))
			continue;
		value = fields[i].get(&slice->source);
		if (says_something(event, fields[i].kind, value))
			put(context, i, value);
	}
}
