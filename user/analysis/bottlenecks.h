/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules that name what bounds a process, by what its host spends time on (host_time.h). A part
 * of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_BOTTLENECKS_H
#define MEMSCOPE_ANALYSIS_BOTTLENECKS_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* Whether allocations and frees are what bounds the process. */
bool bottlenecks_is_alloc_bound(const struct process_activity *activity,
				const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_BOTTLENECKS_H */
