/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The times between the work of a device, in which it had nothing to do for a process, by their
 * lengths, and in which calls of CUDA the process's threads were meanwhile. A part of gpu_times.h.
 */
#ifndef MEMSCOPE_LEDGER_GPU_GAPS_H
#define MEMSCOPE_LEDGER_GPU_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/gpu_joins.h"

/* What a thread did in a gap. */
enum gpu_gap_in {
	GPU_GAP_LAUNCH,
	GPU_GAP_COPY, /* and memsets */
	GPU_GAP_SYNC,
	GPU_GAP_ALLOC, /* and frees */
	GPU_GAP_OTHER_CALL,
	GPU_GAP_NO_CALL,
	GPU_GAP_UNKNOWN, /* the calls of that time are not kept any more */
	GPU_GAP_INS,
};

/* ---- calls ----------------------------------------------------------------------------------- */

struct gpu_host_call {
	uint64_t begin_ns, end_ns;
	uint8_t in; /* enum gpu_gap_in */
};

/* The last calls of all threads of a process. */
struct gpu_host_calls {
	struct gpu_host_call *list;
	size_t count, capacity;
	size_t united;     /* they are disjoint and sorted if that equals `count` */
	uint64_t since_ns; /* earlier ones are not kept any more */
	bool summed;       /* some were only counted: when they were is not known */
};

/* Notes a call at its end. Returns 0 or -ENOMEM. There must be room: gpu_host_calls_full(). */
int gpu_host_calls_add(struct gpu_host_calls *calls, const struct event *event);

/*
 * Whether a quarter or a half of the calls should be forgotten first: those that ended by
 * `*from_ns`, and those that ended by `*until_ns`.
 */
bool gpu_host_calls_full(struct gpu_host_calls *calls, uint64_t *from_ns, uint64_t *until_ns);
void gpu_host_calls_forget(struct gpu_host_calls *calls, uint64_t until_ns);

/* Of times when several threads were in calls, the one that began first counts. */
void gpu_host_calls_unite(struct gpu_host_calls *calls);

/* A copy, to be freed. Returns 0 or -ENOMEM. */
int gpu_host_calls_copy(struct gpu_host_calls *copy, const struct gpu_host_calls *calls);
void gpu_host_calls_fini(struct gpu_host_calls *calls);

/* ---- gaps ------------------------------------------------------------------------------------ */

struct gpu_gap_sum {
	uint64_t count, ns;
	uint64_t in_ns[GPU_GAP_INS]; /* in all: `ns` */
};

struct gpu_gaps {
	struct gpu_gap_sum *by_length; /* buckets of call_times.h; NULL: there is none yet */
	uint64_t longest_ns, longest_begin_ns;
};

/*
 * Takes what lies between `from_ns` (0: nothing was before) and the intervals, which are disjoint
 * and sorted. Returns 0 or -ENOMEM.
 */
int gpu_gaps_take(struct gpu_gaps *gaps, struct gpu_host_calls *calls, uint64_t from_ns,
		  const struct gpu_call *intervals, size_t count);

/*
 * The sum of those up to a length, and of longer ones. Gaps of about the same length count
 * together, so those that differ by less than an eighth from the limit may be in either sum.
 */
void gpu_gaps_sums(const struct gpu_gaps *gaps, uint64_t most_ns, struct gpu_gap_sum *shorter,
		   struct gpu_gap_sum *longer);

/* A copy, to be freed. Returns 0 or -ENOMEM. */
int gpu_gaps_copy(struct gpu_gaps *copy, const struct gpu_gaps *gaps);
void gpu_gaps_fini(struct gpu_gaps *gaps);
size_t gpu_gaps_bytes(const struct gpu_gaps *gaps);

#endif /* MEMSCOPE_LEDGER_GPU_GAPS_H */
