/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings that a person knows of: lines with patterns for the rule, the process, the function and
 * a frame of the call stack.
 * What matches is no finding of the report any more; it is counted. docs/ci.md describes the file.
 */
#ifndef MEMSCOPE_REPORT_SUPPRESSIONS_H
#define MEMSCOPE_REPORT_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/finding.h"
#include "base/string.h"
#include "ledger/stacks.h"

/* The call stack of a finding, and how much of what the finding is about comes from there. */
struct suppression_source {
	const struct stack *stack; /* NULL: not known */
	uint64_t part, whole;      /* whole 0: not known */
	enum finding_unit unit;    /* of these: bytes, nanoseconds or a count */
	bool at_least;             /* the part may be more */
};

/* Patterns as shells have them; they point into the text. */
struct suppression {
	const char *rule, *process, *function, *frame;
	size_t line; /* from 1 */
	uint64_t used;
	/* Findings that have the frame, but of which too little comes from there; and the first. */
	uint64_t partly;
	enum finding_rule partly_rule;
	char partly_comm[MS_COMM_BYTES + 1];
	struct suppression_source partly_source; /* without its stack */
};

struct suppressions {
	char *text;
	struct suppression *list;
	size_t count, capacity;
};

/*
 * Reads the lines of a file. Returns 0, -ENOMEM, or -EINVAL: then `why` says what is wrong with
 * which line.
 */
int suppressions_parse(struct suppressions *suppressions, const char *bytes, size_t length,
		       struct string *why);
void suppressions_fini(struct suppressions *suppressions);

/*
 * Whether one matches; `counts`: the first that does is counted as used, and those that would match
 * if more of the finding came from the frame are counted as such. The source's stack is one of
 * `stacks`.
 */
bool suppressions_take(struct suppressions *suppressions, const struct finding *finding,
		       const struct stacks *stacks, const struct suppression_source *source,
		       bool counts);

#endif /* MEMSCOPE_REPORT_SUPPRESSIONS_H */
