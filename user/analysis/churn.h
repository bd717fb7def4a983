/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules about allocating too often: blocks that are freed before the thread has allocated
 * anything else, and bursts of allocations and frees. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_CHURN_H
#define MEMSCOPE_ANALYSIS_CHURN_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* A successful allocation or free; the group may be NULL. */
void churn_alloc(struct process_activity *activity, const struct event *event,
		 const struct allocation *allocation, struct group *group);
void churn_free(struct process_activity *activity, const struct event *event,
		const struct allocation *allocation, struct group *group);

/* Before the findings. */
void churn_finish(struct process_activity *activity, const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_CHURN_H */
