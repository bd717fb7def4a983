/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of how many allocations it is not known where they were made, or only in part, and why. A stack
 * with lines of Python tells that, wherever it ends.
 */
#ifndef MEMSCOPE_REPORT_SITE_ENDS_H
#define MEMSCOPE_REPORT_SITE_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/state.h"

/* Zeroed, nothing has been counted. */
struct site_ends {
	uint64_t allocs;
	uint64_t none;                       /* without a stack */
	uint64_t lined;                      /* with a line of Python */
	uint64_t lineless;                   /* of programs in Python, without a line of it */
	uint64_t early[MS_STACK_ENDS_COUNT]; /* that end before the beginning, by the reason */
};

/* One allocation; `stack`: NULL if there is none. */
void site_ends_count(struct site_ends *ends, const struct process *process,
		     const struct stack *stack);

/* So many of them. */
void site_ends_add(struct site_ends *ends, const struct process *process, const struct stack *stack,
		   uint64_t count);

/* Whether a table of their stacks leaves something out. */
bool site_ends_lack(const struct site_ends *ends);

/*
 * How many lack a line of Python that others have; 0 if none has one: Python's lines were not asked
 * for then, or are not known at all.
 */
uint64_t site_ends_lineless(const struct site_ends *ends);

/* How many of them end early. */
uint64_t site_ends_early(const struct site_ends *ends);

#endif /* MEMSCOPE_REPORT_SITE_ENDS_H */
