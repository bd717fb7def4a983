/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules about memory that is not given back. A part of the analysis; docs/rules.md explains
 * them.
 */
#ifndef MEMSCOPE_ANALYSIS_LEAKS_H
#define MEMSCOPE_ANALYSIS_LEAKS_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* What a kind of allocations has left behind while it grew. */
struct growth {
	struct amount left;
	unsigned int windows; /* that left something behind, of LEAKS_WINDOWS - 1 */
	uint64_t first_ns, last_ns;
	uint64_t launches;
};

#define LEAKS_WINDOWS 8

/* Whether the allocations of that kind only become more. */
bool leaks_grows(const struct process_activity *activity, struct group *group,
		 const struct analysis_options *options, struct growth *growth);

/* Each returns 0 or -ENOMEM. */

/* The process has ended: `change` says what was live then, its exit `status` how. */
int leaks_at_exit(struct process_activity *activity, const struct analysis_options *options,
		  const struct change *change, uint32_t status, struct findings *findings);

/* Time C has come: what was allocated in [A, B] and is live. */
int leaks_window(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_LEAKS_H */
