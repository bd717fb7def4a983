/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a GPU spends its time on copies, by CUPTI's times. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_COPY_BOUND_H
#define MEMSCOPE_ANALYSIS_COPY_BOUND_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* Adds a finding of copy-bound, if so: `*found`. Returns 0 or -ENOMEM. */
int copy_bound_report(const struct process_activity *activity,
		      const struct analysis_options *options, struct findings *findings,
		      bool *found);

#endif /* MEMSCOPE_ANALYSIS_COPY_BOUND_H */
