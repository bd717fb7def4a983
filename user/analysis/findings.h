/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of what was found: bounded, the lesser findings go first. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_FINDINGS_H
#define MEMSCOPE_ANALYSIS_FINDINGS_H

#include "analysis/finding.h"
#include "base/string.h"

#define FINDINGS_MAX 256

struct findings {
	struct finding *list;
	size_t count, capacity;
	uint64_t dropped;
	struct string_table names; /* that evidence is about */
};

struct process_activity;
struct analysis_options;

/*
 * A rule: judges what is known of a process when it ends, or the recording does, and adds what it
 * finds. Returns 0 or -ENOMEM.
 */
typedef int rule_fn(struct process_activity *activity, const struct analysis_options *options,
		    struct findings *findings);

/* The rules: the column `function` of analysis/rules.def. */
#define RULE(id, name, topic, needs, blind, function, ...) rule_fn function;
#include "analysis/rules.def"
#undef RULE

void findings_fini(struct findings *findings);

/* Returns 0 or -ENOMEM. */
int findings_add(struct findings *findings, const struct finding *finding);

/* A copy of a name for finding_say_of(); it lives as long as the findings. NULL: no memory. */
const char *findings_name(struct findings *findings, const char *name, size_t length);

/* By topic, the surest first, then by bytes, then by time. */
void findings_sort(struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_FINDINGS_H */
