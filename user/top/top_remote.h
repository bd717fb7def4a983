/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns an agent's answer (/api/v1/who, docs/agent.md) into a state that `top` can show. Pure: the
 * text comes from the caller.
 */
#ifndef MEMSCOPE_TOP_TOP_REMOTE_H
#define MEMSCOPE_TOP_TOP_REMOTE_H

#include "base/json_tree.h"
#include "base/map.h"
#include "ledger/state.h"
#include "top/top_words.h"

struct top_remote {
	struct state state;
	uint32_t frame_ids; /* that were given to frames of stacks in it */
	/* event_process_key() -> number of a process, also in the next answer */
	struct map numbers;
	uint64_t numbers_count;
	struct map peaks; /* number of a process -> the most that it held on devices at a time */
	uint64_t asked;   /* number of the process whose sites were asked for; 0: none */
	uint64_t at_ns;   /* CLOCK_MONOTONIC: when the state was so */
	struct json_tree tree;
};

void top_remote_fini(struct top_remote *remote);

/*
 * Takes an answer, and changes its bytes. The state is then new, and `status` has the losses and
 * the number of processes that the agent does not show. Returns 0, -EINVAL (another answer; the
 * state is then empty), or -ENOMEM.
 */
int top_remote_take(struct top_remote *remote, char *bytes, size_t length,
		    struct top_status *status);

#endif /* MEMSCOPE_TOP_TOP_REMOTE_H */
