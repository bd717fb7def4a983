/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failed allocations: who held what then, and why it failed, as far as that can be told. A part of
 * the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_H
#define MEMSCOPE_ANALYSIS_OOM_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. */
#define OOM_RESULT 2

struct ooms {
	struct analysis_oom *list;
	size_t count;
	uint64_t failures, not_listed;
};

void ooms_fini(struct ooms *ooms);

/* What there is besides: the activities of all processes. */
struct oom_around {
	const struct state *state;
	struct process_activity **activities;
	size_t tracks_count;
	uint64_t now_ns;
};

/* An allocation that failed for want of memory. Returns 0 or -ENOMEM. */
int ooms_event(struct ooms *ooms, const struct oom_around *around, const struct event *event,
	       const struct change *change, const struct analysis_options *options);

/* Returns 0 or -ENOMEM. */
int ooms_report(const struct ooms *ooms, struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_OOM_H */
