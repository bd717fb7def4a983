/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a device is in use, as a program is told, and no allocation explains: whether it becomes
 * more. A part of the analysis; docs/rules.md explains it (unexplained-growth).
 */
#ifndef MEMSCOPE_ANALYSIS_UNEXPLAINED_H
#define MEMSCOPE_ANALYSIS_UNEXPLAINED_H

#include "analysis/process_activity.h"

/* The program has been told how much of a device is free. Returns 0 or -ENOMEM. */
int unexplained_event(struct process_activity *activity, const struct event *event,
		      const struct change *change, const struct state *state);

/* Two buckets become one. */
void unexplained_fold(struct unexplained *unexplained);

size_t unexplained_bytes(const struct process_activity *activity);

#endif /* MEMSCOPE_ANALYSIS_UNEXPLAINED_H */
