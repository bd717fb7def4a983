/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the work of GPUs with the calls that caused it. CUPTI gives its record of a call the same
 * number as the kernels and copies of this call, but a probe does not see that number. So CUPTI's
 * record of a call is joined with the call that a probe saw if it is in the same thread, between
 * entry and return. A thread's calls do not overlap, so there is at most one. The distances to the
 * entry and to the return also bound how far the two clocks can be apart.
 */
#ifndef MEMSCOPE_LEDGER_GPU_JOINS_H
#define MEMSCOPE_LEDGER_GPU_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"

/* A call that a probe saw, CLOCK_MONOTONIC. */
struct gpu_call {
	uint64_t begin_ns, end_ns;
};

/*
 * CUPTI's record of a call that came before the probe's: CUPTI can deliver a full buffer in the
 * middle of a call.
 */
#define GPU_EARLY 8
struct gpu_early {
	uint64_t begin_ns, end_ns;
	uint32_t correlation; /* 0: there is none */
};

struct gpu_thread {
	struct gpu_call *calls; /* by time; of the newest */
	size_t count, capacity;
	struct gpu_early early[GPU_EARLY]; /* a ring */
	size_t early_next;
};

/* What is known of one number of CUPTI. */
struct gpu_link {
	uint64_t begin_ns, end_ns; /* of the call that a probe saw; 0: none was found */
	uint32_t correlation;
	bool said;        /* CUPTI's record of the call has come */
	uint32_t waiting; /* activities that came before it; of those with times: */
	uint32_t timed;
	uint64_t begins_ns;         /* the sum of when they began */
	uint64_t first_ns, done_ns; /* the first begin, the last end */
	uint64_t last_ns;           /* of those copies that the call waits for */
};

/* The least distance by which something lies inside something else; negative: outside. */
struct gpu_slack {
	int64_t least_ns;
	uint64_t count;   /* that were looked at; 0: nothing is known */
	uint64_t outside; /* how many were outside */
};

struct gpu_joins {
	struct map thread_places; /* tid -> position in `threads` */
	struct gpu_thread *threads;
	size_t threads_count, threads_capacity;
	struct map link_places; /* correlation -> position in `links` */
	struct gpu_link *links; /* a ring */
	size_t links_count, links_capacity;
	size_t next; /* that is replaced, once there are as many as there may be */

	uint32_t contexts, context; /* 0, 1, or more: of which it is not known who waits */
	int32_t device;
	struct gpu_thread waits;   /* calls that waited for all of a context, by any thread */
	uint64_t probed;           /* calls that a probe saw, of the kinds that are joined */
	uint64_t calls, in_probed; /* records of calls; those of which the call is known */
	uint64_t activities;       /* with a number, by calls: not by kernels */
	uint64_t with_call;        /* of them: CUPTI's record of the call has come, */
	uint64_t with_probed;      /* and a probe has seen it */

	/* Of CUPTI's record of a call, behind the entry and before the return that probes saw. */
	struct gpu_slack entry, leave;
	/*
	 * What the GPU did, behind the entry of its call; and before the end of what waited for it,
	 * a synchronous copy or the next call that waited for its context.
	 */
	struct gpu_slack start, end;
	/* Of so many: from the call's entry to the begin on the GPU, added up. */
	uint64_t started, delay_ns;
};

/* Whether a call is of those that make a GPU work: it may be what an activity belongs to. */
bool gpu_joins_wants(const struct event *event);

/* Notes a call that a probe saw, at its end. Returns 0 or -ENOMEM. */
int gpu_joins_call(struct gpu_joins *joins, const struct event *event);

/*
 * Takes CUPTI's record of a call, or of work of the GPU. `*link` becomes what is known of the call
 * (NULL: nothing), valid until the next call of this function. Returns 0 or -ENOMEM.
 */
int gpu_joins_activity(struct gpu_joins *joins, const struct ms_activity_body *activity,
		       const struct gpu_link **link);

/* What is known by now of the call with that number of CUPTI's; NULL: nothing, or not any more. */
const struct gpu_link *gpu_joins_find(const struct gpu_joins *joins, uint32_t correlation);

/*
 * The largest possible error of CUPTI's times, in ns, for calls and for the GPU, as calls and their
 * work bound it; at least `converted_ns`, that of a converted clock: it differs from time to time,
 * and bounds that lie elsewhere say nothing of it. Returns false if it is unknown.
 */
bool gpu_joins_call_error(const struct gpu_joins *joins, uint64_t converted_ns, uint64_t *ns);
bool gpu_joins_gpu_error(const struct gpu_joins *joins, uint64_t converted_ns, uint64_t *ns);

/* Sets the counts to 0. */
void gpu_joins_restart(struct gpu_joins *joins);

/* Adds the counts of one process to those of several. */
void gpu_joins_add(struct gpu_joins *sum, const struct gpu_joins *joins);

size_t gpu_joins_bytes(const struct gpu_joins *joins);
void gpu_joins_fini(struct gpu_joins *joins);

#endif /* MEMSCOPE_LEDGER_GPU_JOINS_H */
