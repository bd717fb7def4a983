/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a diff is asked to fail on, and whether it does.
 */
#ifndef MEMSCOPE_REPORT_DIFF_GATE_H
#define MEMSCOPE_REPORT_DIFF_GATE_H

#include "report/diff.h"
#include "report/gate.h"

/* How a diff meets a condition. What A had already counts for nothing. */
struct gate_result diff_judge(const struct gate_condition *condition, const struct diff *diff);

/* The first new finding that the condition fails for; NULL: there is none. */
const struct diff_finding *diff_gate_finding(const struct gate_condition *condition,
					     const struct diff *diff);

/* How many findings a report of B would fail for, if all of them were in A before; or 0. */
size_t diff_gate_in_both(const struct gate_condition *condition, const struct diff *diff);

#endif /* MEMSCOPE_REPORT_DIFF_GATE_H */
