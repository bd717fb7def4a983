/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a program keeps more and more of the blocks that a framework's allocator gives it: by the
 * line that asked for them, and in all. What the allocator takes from the driver grows for other
 * reasons as well (a cache, free pieces that are too small), so where its blocks are known, these
 * are judged instead. A part of the analysis; docs/rules.md explains it (leak-growth).
 */
#ifndef MEMSCOPE_ANALYSIS_TENSOR_GROWTH_H
#define MEMSCOPE_ANALYSIS_TENSOR_GROWTH_H

#include "analysis/findings.h"
#include "analysis/growth.h"
#include "ledger/state.h"

/* Adds what grows. Returns 0 or -ENOMEM. */
int tensor_growth_report(struct process_activity *activity, const struct analysis_options *options,
			 struct findings *findings);

/*
 * Whether what grew are the segments of an allocator whose blocks are known: whether something
 * leaks is seen by those.
 */
bool tensor_growth_explains(const struct growth_view *view, const struct family *family,
			    const struct growth *growth);

#endif /* MEMSCOPE_ANALYSIS_TENSOR_GROWTH_H */
