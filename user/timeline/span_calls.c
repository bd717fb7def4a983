// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls as spans: of the lane of their thread, and of the stream that they name. A part of the
 * spans.
 */
#include <errno.h>
#include <string.h>

#include "ledger/process.h"
#include "timeline/span_names.h"
#include "timeline/spans.h"

/* cuda.h: CU_STREAM_LEGACY, which 0 stands for as a rule, and CU_STREAM_PER_THREAD. */
#define STREAM_LEGACY 1
#define STREAM_PER_THREAD 2

static uint64_t bytes_of(const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;

	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return 0;
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		return change->captured ? 0 : call->size;
	case MS_OP_FREE:
		return change->free == FREE_KNOWN ? change->allocation.size_bytes : 0;
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return call->size;
	}
	return 0;
}

static bool is_per_thread(const struct event *event)
{
	const char *suffix = strrchr(event->probe->symbol, '_');

	return suffix && (!strcmp(suffix, "_ptsz") || !strcmp(suffix, "_ptds"));
}

static struct spans_lane stream_of(const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;
	struct spans_lane lane = spans_lane_of(SPANS_STREAM, event->header, change);

	lane.handle = call->stream;
	lane.device = change->device;
	if (call->stream > STREAM_PER_THREAD)
		return lane;
	lane.context = call->known & MS_KNOWN_CONTEXT ? call->context : 0;
	if (call->stream == STREAM_PER_THREAD || (!call->stream && is_per_thread(event))) {
		lane.handle = STREAM_PER_THREAD;
		lane.tid = event->header->tid;
	} else {
		lane.handle = 0;
	}
	return lane;
}

static int add_call(struct spans *spans, const struct event *event, const struct change *change,
		    const struct span *call)
{
	const uint64_t busy_ns = event->call->duration_ns;
	struct spans_lane lane = spans_lane_of(SPANS_THREAD, event->header, change);
	int err;

	lane.tid = event->header->tid;
	err = spans_add(spans, &lane, call, busy_ns);
	if (err || !(event->call->known & MS_KNOWN_STREAM))
		return err;
	lane = stream_of(event, change);
	return spans_add(spans, &lane, call, busy_ns);
}

static int add_counted(struct spans *spans, const struct event *event, const struct change *change,
		       const struct span *call)
{
	struct spans_lane lane = spans_lane_of(SPANS_COUNTED, event->header, change);

	lane.handle = event->probe->spec.op;
	return spans_add(spans, &lane, call, event->call->duration_ns);
}

int spans_event(struct spans *spans, const struct event *event, const struct change *change)
{
	struct span call = { .count = event->count };
	int name;

	if (!event->call)
		return 0;
	name = span_names_of(spans_names(spans), event, change);
	if (name < 0)
		return name;
	call.begin_ns = spans_until_end_of_time(event->header->ts_ns);
	call.end_ns = spans_until_end_of_time(span_add_up(call.begin_ns, event->call->duration_ns));
	call.bytes = bytes_of(event, change);
	call.is_nested = event->call->flags & MS_CALL_NESTED;
	if (event->split) {
		call.runnable_ns = event->split->runnable_ns;
		call.blocked_ns = event->split->blocked_ns;
	}
	call.names[0] = (uint16_t)name;
	/* Those that take no time, as far as is known, count too. */
	call.votes[0] = (float)event->call->duration_ns + (float)event->count;
	if (event->header->type != MS_TYPE_CALLS)
		return add_call(spans, event, change, &call);
	call.end_ns = call.begin_ns;
	call.is_nested = false;
	return add_counted(spans, event, change, &call);
}
