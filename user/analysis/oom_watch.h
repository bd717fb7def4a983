/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that fail because memory has run out, and what becomes of them: which failures of a thread
 * belong together, what was freed and told meanwhile, and how it ended. The analysis and the flight
 * recorder go by it. Pure; its memory is fixed.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_WATCH_H
#define MEMSCOPE_ANALYSIS_OOM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/oom_outcome.h"
#include "analysis/oom_sites.h"
#include "event/event.h"
#include "ledger/state.h"

/* Failures of one thread that belong together. Times are CLOCK_MONOTONIC. */
struct oom_request {
	uint32_t pid, tid; /* tid 0: calls that were only counted */
	uint64_t start_ns;
	uint16_t row;       /* the last call that failed */
	uint16_t inner_row; /* the call inside of it that failed, if that is another; MS_NO_ROW */
	uint8_t op, space;  /* of that row */
	uint32_t stack;     /* id of where that was called from, of ledger/stacks.h; 0: unknown */
	bool nested;        /* it was made by another call, which may fail, too */
	int32_t device;     /* -1: unknown */
	uint64_t first_ts_ns, last_ts_ns;
	uint64_t failures;

	/* What was asked for: by the first failure, the last one, and at most. */
	bool size_known;
	uint64_t first_bytes, last_bytes, most_bytes;
	/*
	 * Physical memory is made in pieces of one size, which are given back if one fails: then
	 * they are one request, for at least as much as all of them.
	 */
	bool at_least;
	uint64_t piece_bytes, pieces;

	/* By the process, of the same kind of memory and on the same device. */
	uint64_t freed_bytes, freed_count; /* since the first failure */
	uint64_t freed_since_bytes;        /* since the last one */

	/* What cuMemGetInfo said first after the last failure. */
	bool told;
	uint64_t told_ts_ns, told_free_bytes, told_total_bytes;
	uint64_t told_freed_bytes; /* freed between the two */
	uint64_t told_held_bytes;  /* in pieces that were given back after it */

	enum oom_outcome outcome;
	uint64_t end_ts_ns;     /* when that was known; 0: it is not */
	uint64_t granted_bytes; /* recovered, backed off: 0 if it is no size */
	/* The process ended, with this status as wait(2) has it, or MS_EXIT_UNKNOWN. */
	bool exited;
	uint32_t exit_status;

	/* Of the process since the last failure, that succeeded: what says that it went on. */
	uint64_t allocs_since; /* allocations of any kind */
	uint64_t work_since;   /* these, launches, copies and memsets */

	/*
	 * Calls from elsewhere, by their stacks, which asked for other sizes: how many were granted
	 * memory of the same sort since the first failure, the most that one got, and whether one
	 * of them is what was granted in the end.
	 */
	uint64_t elsewhere, elsewhere_bytes;
	bool granted_elsewhere;
	bool granted_at_once; /* less, and the thread had done nothing else since */
	uint64_t
		thread_work; /* launches, copies and memsets of the thread since the last failure */
	/* From the same place, without ever being granted: failures before, and after the end. */
	uint64_t refused_before, refused_later;
	uint64_t stack_failures; /* these failures that were from there */
	uint64_t refused_again;  /* the last one, if there were some before */
	uint64_t site;           /* oom_refused_site.number: of there, when it ended; 0: none */

	size_t place; /* the caller's, to find its own by */

	/* The pieces that were there when one failed: which, and how many still are. */
	uint64_t piece_first_id, piece_last_id, pieces_left;
	uint64_t pieces_told; /* how many were when cuMemGetInfo was called */
};

/* It has ended, or is traced no more, as one that is denied: nothing says which. */
static inline bool oom_end_is_unseen(const struct oom_request *request)
{
	return request->exited && request->exit_status == MS_EXIT_UNKNOWN;
}

enum oom_step {
	OOM_BEGAN,
	OOM_FAILED_AGAIN,
	OOM_GAVE_BACK, /* the pieces of a request: what is held now is what was held before it */
	OOM_ENDED,     /* request->outcome is known; it is forgotten after this */
};

typedef void oom_step_fn(void *context, struct oom_request *request, enum oom_step step,
			 const struct event *event, const struct change *change);

/* Physical memory that a thread makes in pieces of one size, one after the other. */
struct oom_run {
	uint32_t pid, tid;
	uint64_t start_ns;
	uint64_t piece_bytes, count;
	uint64_t first_id, last_id;
	uint64_t last_ts_ns;
};

#define OOM_WATCHED 64 /* requests at a time: of more, how the oldest ended stays open */
#define OOM_RUNS 16

struct oom_watch {
	size_t count, runs_count; /* looked at for each event: side by side */
	uint64_t retry_ns;        /* what comes later has nothing to do with it */
	oom_step_fn *step;
	void *context;
	struct oom_request requests[OOM_WATCHED];
	struct oom_run runs[OOM_RUNS];
	struct oom_sites sites; /* of requests that ended as elsewhere something was granted */
};

/* Whether the event is a call that failed because memory had run out, and no part of another. */
bool oom_watch_is_failure(const struct event *event);

/* Whether an event may say anything of failures: else it need not be looked at. */
static inline bool oom_watch_may_matter(const struct oom_watch *watch, const struct event *event)
{
	if (watch->sites.count && (!event->call || event->probe->spec.op == MS_OP_ALLOC))
		return true;
	return (watch->count | watch->runs_count) ||
	       (event->call && (event->call->result == MS_CUDA_OUT_OF_MEMORY ||
				event->probe->spec.space == MS_SPACE_PHYSICAL));
}

void oom_watch_event(struct oom_watch *watch, const struct event *event,
		     const struct change *change);

/* Nothing more is known after this: those that wait for their outcome end. */
void oom_watch_finish(struct oom_watch *watch, uint64_t now_ns);

#endif /* MEMSCOPE_ANALYSIS_OOM_WATCH_H */
