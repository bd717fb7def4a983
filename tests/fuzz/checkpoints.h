/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of anchors for the fuzzer: each 24 bytes of input become one, with few processes, handles
 * and numbers, so that they refer to one another, and with any of them wrong. States are compared
 * by what anchors say of them.
 */
#ifndef MEMSCOPE_TESTS_ANCHORS_H
#define MEMSCOPE_TESTS_ANCHORS_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/checkpoint.h"

#define CHECKPOINTS_STEP_BYTES 24

/* Room for the longest. */
union checkpoints_record {
	struct ms_event event;
	struct ms_checkpoint_allocation allocation;
	struct ms_checkpoint_failure failure;
	struct ms_checkpoint_process process;
	uint64_t words[40];
};

void checkpoints_make(const uint8_t bytes[CHECKPOINTS_STEP_BYTES],
		      union checkpoints_record *record);

/* Equal for equal states, in whatever order they are in memory. */
uint64_t checkpoints_hash(const struct state *state);

/* What is saved of the state can be loaded, and is the same. */
void checkpoints_check(const struct state *state);

#endif /* MEMSCOPE_TESTS_ANCHORS_H */
