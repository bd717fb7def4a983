/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run amounts to, as the sinks that end with a summary get it.
 */
#ifndef MEMSCOPE_MODEL_SUMMARY_H
#define MEMSCOPE_MODEL_SUMMARY_H

#include <stdint.h>

#include "abi.h"
#include "model/state.h"

struct summary {
	const struct state *state;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: the time that was observed */
	struct ms_counters counters;

	/* Calls; seen = shown + filtered + lost. */
	uint64_t seen;
	uint64_t shown;
	uint64_t filtered;
	uint64_t lost;
	/* Other records (names, lives of processes, beginnings of frees) that were lost. */
	uint64_t lost_records;
	uint64_t refused; /* records that could not be decoded: a defect */
};

#endif /* MEMSCOPE_MODEL_SUMMARY_H */
