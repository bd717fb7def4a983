/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stream-ordered pools that keep what was freed into them, as far as the program asked, said or was
 * told of it. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_POOLS_H
#define MEMSCOPE_ANALYSIS_POOLS_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

struct pools;

void pools_free(struct pools *pools);
size_t pools_bytes(const struct pools *pools);

/* Returns 0 or -ENOMEM. */
int pools_event(struct process_activity *activity, const struct event *event,
		const struct change *change);

#endif /* MEMSCOPE_ANALYSIS_POOLS_H */
