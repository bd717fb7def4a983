/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that failed because memory had run out: who held what then, why, and what became of it. A
 * part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_H
#define MEMSCOPE_ANALYSIS_OOM_H

#include "analysis/findings.h"
#include "analysis/oom_figures.h"
#include "analysis/oom_watch.h"

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. */
#define OOM_RESULT MS_CUDA_OUT_OF_MEMORY

struct ooms {
	struct analysis_oom *list; /* by the time of their first failure */
	size_t count;
	uint64_t failures, not_listed;
	uint64_t outcomes[OOM_OUTCOMES_COUNT];
	struct oom_watch watch;

	/* What is looked at one by one for the figures of failures goes with what happened. */
	uint64_t events, walked;
	uint64_t looked_ns; /* when it was done last */

	/* While an event is taken in: */
	const struct oom_around *around;
	const struct analysis_options *options;
	int err;
};

void ooms_fini(struct ooms *ooms);

/* After the event has been applied to the activities. Returns 0 or -ENOMEM. */
int ooms_event(struct ooms *ooms, const struct oom_around *around, const struct event *event,
	       const struct change *change, const struct analysis_options *options);

/* The kernel has said what the process's cgroup may use. Returns 0. */
int ooms_limit(struct ooms *ooms, const struct process *process,
	       const struct analysis_options *options);

/* After the last event. Returns 0 or -ENOMEM. */
int ooms_finish(struct ooms *ooms, const struct analysis_options *options, uint64_t now_ns);

/* Returns 0 or -ENOMEM. */
int ooms_report(const struct ooms *ooms, struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_OOM_H */
