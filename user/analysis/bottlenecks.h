/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the host spends its time on, and the rules that name what bounds a process. A part of the
 * analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_BOTTLENECKS_H
#define MEMSCOPE_ANALYSIS_BOTTLENECKS_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* A call of any op, whatever its result; the activity's time is up to its end. */
void bottlenecks_event(struct process_activity *activity, const struct event *event);

/* Whether allocations and frees are what bounds the process. */
bool bottlenecks_is_alloc_bound(const struct process_activity *activity,
				const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_BOTTLENECKS_H */
