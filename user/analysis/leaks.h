/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules about memory that is not given back. A part of the analysis; docs/rules.md explains
 * them.
 */
#ifndef MEMSCOPE_ANALYSIS_LEAKS_H
#define MEMSCOPE_ANALYSIS_LEAKS_H

#include "analysis/findings.h"
#include "analysis/growth.h"

typedef void leaks_growth_fn(void *context, const struct group *like, const struct growth *growth);

/*
 * Calls `each` for what grows now, by function and device: `like` is one of its groups. Returns 0
 * or -ENOMEM.
 */
int leaks_each_growth(struct process_activity *activity, const struct analysis_options *options,
		      leaks_growth_fn *each, void *context);

/* What is found of that, before it is known how sure it is. */
struct finding leaks_growth_finding(const struct process_activity *activity,
				    const struct family *family, const struct growth *growth);

/* How sure it is that what grew does not level off. */
void leaks_growth_confidence(const struct growth *growth, const struct analysis_options *options,
			     struct finding *finding);

/* Something is about to end together, as with a context: what of it has grown is noted down. */
int leaks_before_end(struct process_activity *activity, const struct analysis_options *options);

/* Each returns 0 or -ENOMEM. */

/* The process has ended: `change` says what was live then, its exit `status` how. */
int leaks_at_exit(struct process_activity *activity, const struct analysis_options *options,
		  const struct change *change, uint32_t status, struct findings *findings);

/* Time C has come: what was allocated in [A, B] and is live. */
int leaks_window(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_LEAKS_H */
