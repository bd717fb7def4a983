/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the host spends its time on, and the rules that name what bounds a process. A part of the
 * analysis.
 */
#ifndef MEMSCOPE_MODEL_BOTTLENECKS_H
#define MEMSCOPE_MODEL_BOTTLENECKS_H

#include "model/findings.h"
#include "model/track.h"

/* A call of any op, whatever its result; the track's time is up to its end. */
void bottlenecks_event(struct track *track, const struct event *event);

/* Returns 0 or -ENOMEM. `*alloc_bound` says whether allocations were named. */
int bottlenecks_report(const struct track *track, const struct analysis_options *options,
		       struct findings *findings, bool *alloc_bound);

#endif /* MEMSCOPE_MODEL_BOTTLENECKS_H */
