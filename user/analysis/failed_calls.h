/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that fail again and again and so give nothing back: frees, unmaps, releases and
 * registrations; and errors after which a context is of no more use. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_FAILED_CALLS_H
#define MEMSCOPE_ANALYSIS_FAILED_CALLS_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

struct failed_calls;

/* Whether all calls fail after that one, until the process ends; of either API. */
bool failed_calls_stays(int32_t result);

void failed_calls_free(struct failed_calls *calls);
size_t failed_calls_bytes(const struct failed_calls *calls);

/* Returns 0 or -ENOMEM. */
int failed_calls_event(struct process_activity *activity, const struct event *event,
		       const struct change *change);

#endif /* MEMSCOPE_ANALYSIS_FAILED_CALLS_H */
