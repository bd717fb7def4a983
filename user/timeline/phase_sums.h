/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums over calls. A part of timeline/phases.h.
 */
#ifndef MEMSCOPE_TIMELINE_PHASE_SUMS_H
#define MEMSCOPE_TIMELINE_PHASE_SUMS_H

#include "event/event.h"
#include "ledger/state.h"

/*
 * Successful calls of one thread, or of all threads of a process. Memory: all that usage_is_held()
 * names.
 */
struct phase_sums {
	uint64_t allocs, alloc_bytes;
	uint64_t frees, free_bytes;
	uint64_t copies, copy_bytes;
	uint64_t launches; /* of kernels and graphs */
	uint64_t waits, wait_ns;
};

void phase_sums_call(struct phase_sums *sums, const struct event *event,
		     const struct change *change);

/* Adds the difference between `now` and `before`. */
void phase_sums_add_since(struct phase_sums *sum, const struct phase_sums *now,
			  const struct phase_sums *before);

#endif /* MEMSCOPE_TIMELINE_PHASE_SUMS_H */
