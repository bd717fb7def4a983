/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks that a framework's allocator gives a program, by the line that asked for them, and in
 * all: how many live, and when they were made. Whether they grow (analysis/tensor_growth.h) or are
 * there twice (analysis/tensor_twice.h) is judged by these. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_TENSOR_LINES_H
#define MEMSCOPE_ANALYSIS_TENSOR_LINES_H

#include "analysis/group.h"
#include "analysis/process_activity.h"
#include "base/map.h"
#include "ledger/state.h"

/* What blocks have in common: the device and, but for the first of a device, the lines. */
struct tensor_line {
	struct group group;
	uint64_t lines; /* 0: all blocks of the device */
	uint64_t code; /* what the innermost line of Python has in common; without any, the lines */
	uint64_t function; /* the same of that line's function; 0: it is none of Python */
	uint32_t stack;    /* id, of one of its calls */
	uint16_t framework;
	bool grows;
	bool is_estimate; /* the stacks of some of its blocks were left to chance */
	/* Sums of marks of its blocks' sizes, as `born` in its group and in what it freed. */
	uint64_t sizes[GROUP_TIMES], freed_sizes[GROUP_TIMES];
	uint64_t freed_ending;
};

struct tensor_lines {
	struct tensor_line *list;
	size_t count, capacity;
	struct map places; /* what they have in common -> position */
};

void tensor_lines_free(struct tensor_lines *tensors);
size_t tensor_lines_bytes(const struct tensor_lines *tensors);

/* Two buckets become one. */
void tensor_lines_fold(struct tensor_lines *tensors);

/* A block was given, or came back. Returns 0 or -ENOMEM. */
int tensor_lines_event(struct process_activity *activity, const struct stacks *stacks,
		       const struct change *change);

/* Its program has ended, and all blocks with it; or it is no longer known which there are. */
void tensor_lines_end(struct process_activity *activity);

#endif /* MEMSCOPE_ANALYSIS_TENSOR_LINES_H */
