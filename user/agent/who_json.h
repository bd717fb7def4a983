/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's answer to "who holds what now", as JSON. docs/agent.md describes its members, which
 * are stable.
 */
#ifndef MEMSCOPE_AGENT_WHO_JSON_H
#define MEMSCOPE_AGENT_WHO_JSON_H

#include "base/string.h"

struct answers_source;

/* Appends an object. The books are closed. */
void who_json_append(struct string *out, const struct answers_source *source);

#endif /* MEMSCOPE_AGENT_WHO_JSON_H */
