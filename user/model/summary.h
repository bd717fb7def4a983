/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run amounts to, as the sinks that end with a summary get it.
 */
#ifndef MEMSCOPE_MODEL_SUMMARY_H
#define MEMSCOPE_MODEL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "model/state.h"

struct summary {
	const struct state *state;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: the time that was observed */
	struct ms_counters counters;
	uint32_t captured_ops; /* bit set of enum ms_op: of the others nothing is known */

	/* Calls; seen = shown + filtered + lost. */
	uint64_t seen;
	uint64_t shown;
	uint64_t filtered;
	uint64_t lost;
	uint64_t filtered_by_op[MS_OPS_COUNT];
	/* Other records (names, lives of processes, beginnings of frees) that were lost. */
	uint64_t lost_records;
	uint64_t refused; /* records that could not be decoded: a defect */
};

static inline bool summary_captured(const struct summary *summary, enum ms_op op)
{
	return summary->captured_ops >> op & 1;
}

#endif /* MEMSCOPE_MODEL_SUMMARY_H */
