/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cgroup of a process uses of devices' memory and may use, as the agent's answers have it.
 */
#ifndef MEMSCOPE_AGENT_LIMITS_JSON_H
#define MEMSCOPE_AGENT_LIMITS_JSON_H

#include "ledger/device_limits.h"
#include "render/json_writer.h"

/* The member "limits": those that still say something at `now_ns`. */
void limits_json_put(struct json *json, const struct device_limits *limits, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_LIMITS_JSON_H */
