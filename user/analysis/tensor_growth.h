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

struct tensor_growth;

void tensor_growth_free(struct tensor_growth *tensors);
size_t tensor_growth_bytes(const struct tensor_growth *tensors);

/* Two buckets become one. */
void tensor_growth_fold(struct tensor_growth *tensors);

/* A block was given, or came back. Returns 0 or -ENOMEM. */
int tensor_growth_event(struct process_activity *activity, const struct stacks *stacks,
			const struct change *change);

/* Its program has ended, and all blocks with it; or it is no longer known which there are. */
void tensor_growth_end(struct process_activity *activity);

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
