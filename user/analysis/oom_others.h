/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who else held memory of the device on which a call failed, and how full it was: by NVML's last
 * sample before that, brought up to date with what was allocated and freed since; without one, by
 * what was allocated.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_OTHERS_H
#define MEMSCOPE_ANALYSIS_OOM_OTHERS_H

#include "analysis/analysis.h"
#include "analysis/oom_episode.h"

/* `process` is the one whose call failed; oom->others is zeroed. */
void oom_others_begin(struct analysis_oom *oom, const struct state *state,
		      const struct process *process, const struct analysis_options *options);

/* Each process that is known, with what it has allocated on the device and not freed. */
void oom_others_note(struct analysis_oom *oom, const struct process *process, uint64_t live_bytes);

/* All have been noted. */
void oom_others_end(struct analysis_oom *oom);

/*
 * Others hold no more than the driver's answer leaves them, if a program asked how much is free
 * after the sample: what was not traced, or held before, may be gone. More than once is as once.
 */
void oom_others_bound(struct analysis_oom *oom);

#endif /* MEMSCOPE_ANALYSIS_OOM_OTHERS_H */
