/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a diff is asked to fail on, and whether it does.
 */
#ifndef MEMSCOPE_REPORT_DIFF_GATE_H
#define MEMSCOPE_REPORT_DIFF_GATE_H

#include "report/diff.h"
#include "report/gate.h"

/*
 * How a diff meets a condition. What A had already counts for nothing, but for a leak that has
 * become clearly worse.
 */
struct gate_result diff_judge(const struct gate_condition *condition, const struct diff *diff);

/* The first new or worse finding that the condition fails for; NULL: there is none. */
const struct diff_finding *diff_gate_finding(const struct gate_condition *condition,
					     const struct diff *diff);

/* What a report would fail for, of A and of B. */
struct diff_gate_sides {
	size_t count_a, count_b; /* findings */
	/* Of the rule that has most: two rules may be about the same bytes. */
	uint64_t bytes_a, bytes_b;
};

/*
 * Whether findings on both sides meet the condition, but none of B is new or worse: they may have
 * grown.
 */
bool diff_gate_in_both(const struct gate_condition *condition, const struct diff *diff,
		       struct diff_gate_sides *sides);

#endif /* MEMSCOPE_REPORT_DIFF_GATE_H */
