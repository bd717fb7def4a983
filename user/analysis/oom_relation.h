/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether memory is where a call failed for want of it. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_RELATION_H
#define MEMSCOPE_ANALYSIS_OOM_RELATION_H

#include "analysis/oom_episode.h"
#include "ledger/state.h"

enum oom_relation {
	OOM_RELATION_NONE,
	OOM_RELATION_UNCLEAR, /* it may be on the same device */
	OOM_RELATION_SAME,
};

bool oom_relation_is_host(uint8_t space);

/* Of memory of a process, in that space and on that device, by the process's number of it. */
enum oom_relation oom_relation_of(const struct analysis_oom *oom, const struct state *state,
				  const struct process *process, uint8_t space, int32_t device);

#endif /* MEMSCOPE_ANALYSIS_OOM_RELATION_H */
