/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes an agent's answer about one process (/api/v1/processes/PID, docs/agent.md) into the state
 * that an answer about all of them has made: what its memory is from. Pure.
 */
#ifndef MEMSCOPE_TOP_TOP_REMOTE_SITES_H
#define MEMSCOPE_TOP_TOP_REMOTE_SITES_H

#include "top/top_remote.h"

/* Where to ask for it: "/api/v1/processes/4711" */
void top_remote_sites_path(struct string *out, const struct process *process);

/* Whether the state has it, or it was asked for in vain. */
bool top_remote_sites_are_known(const struct top_remote *remote, const struct process *process);

/* Notes that it was asked for: not again until the next answer about all. */
void top_remote_sites_asked(struct top_remote *remote, const struct process *process);

/*
 * Changes the answer's bytes. `status` has how many sites the agent has left out. Returns 0,
 * -EINVAL (another answer, or about another process), or -ENOMEM.
 */
int top_remote_sites_take(struct top_remote *remote, const struct process *process, char *bytes,
			  size_t length, struct top_status *status);

#endif /* MEMSCOPE_TOP_TOP_REMOTE_SITES_H */
