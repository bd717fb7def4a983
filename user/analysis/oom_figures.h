/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who held what when a call failed because memory had run out, as far as that is known. A part of
 * the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_FIGURES_H
#define MEMSCOPE_ANALYSIS_OOM_FIGURES_H

#include "analysis/analysis.h"
#include "analysis/process_activity.h"

/* What there is besides: the activities of all processes. */
struct oom_around {
	const struct state *state;
	struct process_activity **activities;
	size_t tracks_count;
	uint64_t now_ns;
};

/*
 * Fills in what is known of this moment; all that is about the failures stays. Returns 0 or
 * -ENOMEM.
 */
int oom_figures_take(struct analysis_oom *oom, const struct oom_around *around,
		     const struct process *process, const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_OOM_FIGURES_H */
