/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's answer about one process, as JSON: what the summary says of it, which functions and
 * which call sites its memory is from. docs/agent-process.schema.json describes its members.
 */
#ifndef MEMSCOPE_AGENT_PROCESS_JSON_H
#define MEMSCOPE_AGENT_PROCESS_JSON_H

#include <stdint.h>

#include "base/string.h"

#define PROCESS_JSON_SITES 20
#define PROCESS_JSON_FUNCTIONS 64

struct answers_source;

/* Appends an object. The books are closed. Returns 0 or -ESRCH. */
int process_json_append(struct string *out, const struct answers_source *source, uint32_t pid);

#endif /* MEMSCOPE_AGENT_PROCESS_JSON_H */
