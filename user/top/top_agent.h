/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks an agent over its Unix socket (docs/agent.md).
 */
#ifndef MEMSCOPE_TOP_TOP_AGENT_H
#define MEMSCOPE_TOP_TOP_AGENT_H

#include <stddef.h>

#include "base/string.h"

#define TOP_AGENT_SOCKET "/run/memscope-bpf/query"

/*
 * Puts the agent's answer (JSON) to a request for `path` into `answer`; the JSON begins after
 * `*body` bytes. Waits at most two seconds. Returns 0 or -errno: -ESRCH if there is no such
 * process, -EPROTO if it is another answer, -EMSGSIZE if it is larger than 32 MiB.
 */
int top_agent_ask(const char *socket, const char *path, struct string *answer, size_t *body);

#define TOP_AGENT_WHO "/api/v1/who"

/* Logs what was wrong. */
void top_agent_tell(const char *socket, int err);

#endif /* MEMSCOPE_TOP_TOP_AGENT_H */
