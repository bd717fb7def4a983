/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a device is in use, as a program is told, or what a process holds, as NVML says, and
 * nothing explains: whether it becomes more. A part of the analysis; docs/rules.md explains it
 * (unexplained-growth).
 */
#ifndef MEMSCOPE_ANALYSIS_UNEXPLAINED_H
#define MEMSCOPE_ANALYSIS_UNEXPLAINED_H

#include "analysis/process_activity.h"

/* The program has been told how much of a device is free. Returns 0 or -ENOMEM. */
int unexplained_event(struct process_activity *activity, const struct event *event,
		      const struct change *change, const struct state *state);

/* NVML has said what the process holds on a device. Returns 0 or -ENOMEM. */
int unexplained_held(struct process_activity *activity, const struct process *process);

/*
 * By how much what no allocation explains rose on a device in that time, and from which bucket to
 * which; false: the program did not ask often enough, or it did not rise.
 */
bool unexplained_rise(const struct process_activity *activity, int32_t device, uint64_t from_ns,
		      uint64_t to_ns, uint64_t *rise, unsigned int *first, unsigned int *last);

/* Two buckets become one. */
void unexplained_fold(struct unexplained *unexplained);

size_t unexplained_bytes(const struct process_activity *activity);

#endif /* MEMSCOPE_ANALYSIS_UNEXPLAINED_H */
