/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The activities of all processes that have not ended. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H
#define MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H

#include "analysis/process_activity.h"

struct process_activities {
	struct process_activity **list;
	size_t count, capacity;
	struct map by_identity; /* event_process_key() -> activity */
	struct process_activity *last;
};

void process_activities_fini(struct process_activities *activities);

/* The activity of a process, which begins now if there is none. NULL without memory. */
struct process_activity *process_activities_of(struct process_activities *activities,
					       const struct process *process, uint64_t ts_ns,
					       const struct analysis_options *options);

/* About how much memory they take. */
size_t process_activities_bytes(const struct process_activities *activities);

void process_activities_remove(struct process_activities *activities,
			       struct process_activity *activity);

#endif /* MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H */
