/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the threads of a process spend their time on: calls of each kind, and gaps in which the
 * device is known to be idle, added up in the slices of the process's time. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_HOST_TIME_H
#define MEMSCOPE_ANALYSIS_HOST_TIME_H

#include "analysis/process_activity.h"

/* A call of any op, whatever its result; the activity's time is up to its end. */
void host_time_event(struct process_activity *activity, const struct event *event);

#endif /* MEMSCOPE_ANALYSIS_HOST_TIME_H */
