/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracks of all processes that have not ended. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H
#define MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H

#include "analysis/process_activity.h"

struct tracks {
	struct track **list;
	size_t count, capacity;
	struct map by_identity; /* event_process_key() -> track */
	struct track *last;
};

void tracks_fini(struct tracks *tracks);

/* The track of a process, which begins now if there is none. NULL without memory. */
struct track *tracks_of(struct tracks *tracks, const struct process *process, uint64_t ts_ns,
			const struct analysis_options *options);

/* About how much memory they take. */
size_t tracks_bytes(const struct tracks *tracks);

void tracks_remove(struct tracks *tracks, struct track *track);

#endif /* MEMSCOPE_ANALYSIS_PROCESS_ACTIVITIES_H */
