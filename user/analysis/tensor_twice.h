/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what a framework's allocator has given a program is there a second time: as many blocks
 * of the same sizes, made by the same lines. A part of the analysis; docs/rules.md explains it
 * (made-twice).
 */
#ifndef MEMSCOPE_ANALYSIS_TENSOR_TWICE_H
#define MEMSCOPE_ANALYSIS_TENSOR_TWICE_H

#include "analysis/findings.h"
#include "analysis/growth.h"

/* Adds what is. Returns 0 or -ENOMEM. */
int tensor_twice_report(struct process_activity *activity, const struct analysis_options *options,
			struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_TENSOR_TWICE_H */
