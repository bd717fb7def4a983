/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agent pushes metrics: a collector's URL, or its Unix socket. Pure.
 */
#ifndef MEMSCOPE_AGENT_PUSH_TARGET_H
#define MEMSCOPE_AGENT_PUSH_TARGET_H

#include <stdbool.h>

struct push_target {
	char url[1024];
	char socket[108]; /* ""; else the path of the Unix socket that the URL is behind */
};

/*
 * "http://127.0.0.1:4318", "https://collector/v1/metrics", "unix:/run/otel.sock". Without a path,
 * it is /v1/metrics, which the protocol has. Returns NULL, or what is wrong, for people.
 */
const char *push_target_parse(struct push_target *target, const char *text);

#endif /* MEMSCOPE_AGENT_PUSH_TARGET_H */
