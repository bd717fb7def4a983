/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The groups of a process by what they have in common but for the size: what one function
 * allocates on one device. A leak of blocks of many sizes is one leak. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_FAMILIES_H
#define MEMSCOPE_ANALYSIS_FAMILIES_H

#include "analysis/process_activity.h"

struct family {
	struct group **members; /* at least one; all have the same space, row and device */
	size_t count;
};

struct families {
	struct group **groups; /* sorted */
	size_t count;
};

/* Returns 0 or -ENOMEM. They are valid as long as the process has no new group. */
int families_init(struct families *families, struct process_activity *activity);
void families_fini(struct families *families);

/* The one after `*family`, the first one if that is zeroed. Returns false if there is none. */
bool families_next(const struct families *families, struct family *family);

uint64_t family_allocs(const struct family *family);
bool family_is_reported(const struct family *family);

/* What all findings about it begin with. */
struct finding family_finding(const struct process_activity *activity, const struct family *family,
			      enum finding_rule rule);

#endif /* MEMSCOPE_ANALYSIS_FAMILIES_H */
