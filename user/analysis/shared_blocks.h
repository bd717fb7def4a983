/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks that a process has exported and freed while another one still has them open: the device
 * gets them back only when that one closes them. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_SHARED_BLOCKS_H
#define MEMSCOPE_ANALYSIS_SHARED_BLOCKS_H

#include "analysis/analysis.h"
#include "analysis/findings.h"
#include "base/map.h"

struct shared_block; /* that was exported */
struct shared_open;  /* by another process */
struct shared_pair;  /* two processes, and what one kept from being given back by the other */

struct shared_blocks {
	struct shared_block *blocks;
	size_t blocks_count, blocks_capacity, oldest;
	struct shared_open *opens;
	size_t opens_count, opens_capacity;
	struct shared_pair *pairs;
	size_t pairs_count, pairs_capacity;
	struct map by_handle; /* hash of the handle -> position in `blocks` */
	struct map by_id;     /* the allocation's -> the same */
};

void shared_blocks_fini(struct shared_blocks *shared);
size_t shared_blocks_bytes(const struct shared_blocks *shared);

/* Any event of a process, applied to the state already. Returns 0 or -ENOMEM. */
int shared_blocks_event(struct shared_blocks *shared, const struct event *event,
			const struct change *change, const struct analysis_options *options);

/* The state was replaced: what has been opened and freed meanwhile is not known. */
void shared_blocks_forget(struct shared_blocks *shared);

/* After the last event. Returns 0 or -ENOMEM. */
int shared_blocks_report(struct shared_blocks *shared, uint64_t end_ns,
			 const struct analysis_options *options, struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_SHARED_BLOCKS_H */
