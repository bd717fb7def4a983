/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When each thread was in which call, and what was given to each stream: lanes of spans for a
 * picture, in bounded memory, however many events come.
 *
 * A call is a span of its thread's lane, and of the lane of the stream that it names, if any (there
 * it is when the call was made, not when the device did the work). Calls that were only counted
 * (MS_TYPE_CALLS) have no thread and no time of their own: for each process and op there is a lane
 * of them. Its spans say when they were counted: a recorder looks every second and at times in
 * between, so a call that a span counts took place in it or up to a second before.
 *
 * When there is no more room, the resolution of the lanes with most spans doubles: a power of two
 * ns into which time is cut, as model/timeline does it. Spans that are shorter and begin in the
 * same piece are put together; longer ones stay as they are. So nothing is lost but when exactly,
 * and in a lane with little in it not even that.
 *
 * Calls that another call made (MS_CALL_NESTED) lie in its span, and are only put together with
 * others of that kind. What a lane has put together can so overlap its neighbours, by less than two
 * resolutions; in a stream's lane calls of several threads overlap anyway.
 */
#ifndef MEMSCOPE_TIMELINE_SPANS_H
#define MEMSCOPE_TIMELINE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"
#include "ledger/process.h"
#include "ledger/state.h"
#include "timeline/phase.h"
#include "timeline/span.h"
#include "timeline/span_names.h"

#define SPANS_MAX 100000    /* in all lanes together */
#define SPANS_LANES_MAX 512 /* that are left in the end: those with the most time in calls */

/* In the order in which those of a process are shown. */
enum spans_kind {
	SPANS_PHASE,  /* that the program has marked, in a thread; tid 0: ranges, or from outside */
	SPANS_THREAD, /* calls of it */
	SPANS_STREAM, /* that were given to it */
	SPANS_GPU,    /* what ran, by CUPTI's times: on a stream, or copies in a direction */
	SPANS_COUNTED,
};

#define SPANS_COPIES (1ull << 63) /* of SPANS_GPU: in `handle`, with an enum ms_direction */

struct spans_lane {
	enum spans_kind kind;
	uint32_t pid;
	uint32_t tid;      /* 0: of a stream that threads share, or calls that were only counted */
	uint64_t start_ns; /* of the process */
	uint64_t handle;   /* of the stream; SPANS_COUNTED: enum ms_op; SPANS_GPU: CUPTI's number */
	uint64_t context; /* of a default stream, which every context has; 0: unknown, or another */
	int32_t gpu;      /* SPANS_GPU: the device, which makes another lane; else 0 */
	char comm[MS_COMM_BYTES];
	int32_t device;         /* of the stream; -1: unknown */
	uint64_t resolution_ns; /* 0: every call is there */
	uint64_t calls;
	uint64_t busy_ns;    /* in calls, added up */
	size_t first, count; /* after spans_finish(): its spans, by their begin, the longer first */
};

struct spans_dropped {
	uint64_t lanes; /* one that has come back since and was dropped again is two */
	uint64_t calls; /* in them */
};

struct spans;

/* Nothing was counted before `begin_ns`. NULL without memory. */
struct spans *spans_new(uint64_t begin_ns);
void spans_free(struct spans *spans);

/* Takes calls; other events change nothing. Returns 0 or -ENOMEM. */
int spans_event(struct spans *spans, const struct event *event, const struct change *change);

/* The same of an activity of a GPU (MS_TYPE_ACTIVITY), and of a phase that has ended. */
int spans_activity(struct spans *spans, const struct event *event, const struct change *change);
int spans_phase(struct spans *spans, const struct phase *phase, uint32_t tid, uint64_t begin_ns,
		uint64_t end_ns);

/* The state has been replaced by that of an anchor. */
void spans_gap(struct spans *spans);

/*
 * After the last event: leaves at most `max` spans, but two for each lane. May be called again,
 * with less. Returns 0 or -ENOMEM.
 */
int spans_finish(struct spans *spans, size_t max);

/* After that: by process, then threads, streams, and what was counted. */
const struct spans_lane *spans_lanes(const struct spans *spans, size_t *count);
const struct span *spans_of(const struct spans *spans, const struct spans_lane *lane);
struct spans_dropped spans_dropped(const struct spans *spans);

/* Names by number, from 0. */
size_t spans_names_count(const struct spans *spans);
const char *spans_name(const struct spans *spans, size_t number);

/* Returns the number of a function's name, which may be a new one, or -ENOMEM. */
int spans_row_name(struct spans *spans, uint16_t row);

/* ---- parts of it ----------------------------------------------------------------------------- */

/* A lane of a process, of which nothing else is known. */
static inline struct spans_lane spans_lane_of(enum spans_kind kind, const struct ms_event *event,
					      const struct change *change)
{
	struct spans_lane lane = {
		.kind = kind, .pid = event->pid, .start_ns = event->start_ns, .device = -1
	};

	memcpy(lane.comm, change->process->comm, sizeof(lane.comm));
	return lane;
}

/* Only a hostile file says so: nothing can be that late. */
static inline uint64_t spans_until_end_of_time(uint64_t ts_ns)
{
	return ts_ns > INT64_MAX ? INT64_MAX : ts_ns;
}

/*
 * Adds a span to the lane, which it finds by kind, process, thread, handle, context and `gpu`.
 * `busy_ns`: what the lane is judged by if there are too many. Returns 0 or -ENOMEM.
 */
int spans_add(struct spans *spans, const struct spans_lane *lane, const struct span *span,
	      uint64_t busy_ns);

struct span_names *spans_names(struct spans *spans);

/* About how much memory they take: at most 16 MiB. */
size_t spans_bytes(const struct spans *spans);

#endif /* MEMSCOPE_TIMELINE_SPANS_H */
