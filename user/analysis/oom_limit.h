/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the limit that a cgroup has on a device is why an allocation failed. A part of the
 * analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_LIMIT_H
#define MEMSCOPE_ANALYSIS_OOM_LIMIT_H

#include "analysis/oom_episode.h"

/* Whether what the kernel said at that time, after the failure, is about it. */
bool oom_limit_is_of(const struct analysis_oom *oom, uint64_t ts_ns);

/* Takes what the kernel said last of the process that failed. */
void oom_limit_take(struct analysis_oom *oom, const struct process *process);

/*
 * What the cgroup used at the failure, and what was free on the device: at least and at most, by
 * what the process held then and when the kernel said it. The latter returns false if it is not
 * known.
 */
uint64_t oom_limit_used(const struct analysis_oom *oom);
bool oom_limit_free(const struct analysis_oom *oom, uint64_t *bytes);

/* How much more it would have had to leave; 0: it was no hindrance, or the device was full, too. */
uint64_t oom_limit_short(const struct analysis_oom *oom);

/*
 * How much the device has; 0: that is not known. What a program is told counts only if it is more
 * than the limit: in a limited cgroup, it may be told of that alone.
 */
uint64_t oom_limit_device_bytes(const struct analysis_oom *oom, uint64_t told_bytes);

#endif /* MEMSCOPE_ANALYSIS_OOM_LIMIT_H */
