/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what NVML said last is worth little, because traced processes have allocated or freed a
 * lot since, or other ones hold memory. Pure.
 */
#ifndef MEMSCOPE_AGENT_NVML_WATCH_H
#define MEMSCOPE_AGENT_NVML_WATCH_H

#include "ledger/state.h"

#define NVML_WATCH_BYTES (16ull << 20)
#define NVML_WATCH_NS 3000000000ull /* it is not asked more often: each answer is recorded */

/* Zeroed: nothing was held. */
struct nvml_watch {
	uint64_t live_bytes; /* on devices, when it was last due */
	size_t holders;      /* processes that had allocated, and ran */
	uint64_t due_ns;     /* when that was */
};

/* To be called once a second, with CLOCK_MONOTONIC. */
bool nvml_watch_is_due(struct nvml_watch *watch, const struct state *state, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_NVML_WATCH_H */
