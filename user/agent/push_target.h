/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agent pushes metrics: a receiver's URL, or its Unix socket. Pure.
 */
#ifndef MEMSCOPE_AGENT_PUSH_TARGET_H
#define MEMSCOPE_AGENT_PUSH_TARGET_H

#include "agent/push_protocol.h"
#include "base/string.h"

struct push_target {
	char url[1024];
	char socket[108]; /* ""; else the path of the Unix socket that the URL is behind */
	char shown[256];  /* for messages, without what may be a secret */
};

/*
 * "http://127.0.0.1:4318", "https://collector/v1/metrics", "unix:/run/otel.sock". Without a path,
 * it is the protocol's. Returns NULL, or what is wrong, for people.
 */
const char *push_target_parse(struct push_target *target, enum push_protocol_id id,
			      const char *text);

/*
 * A URL as in `shown`, without what may be a secret: "https://...@collector/..." of one with a
 * user, a password and a path. Of a text that is no URL, what could be secret if it were meant as
 * one is left out: what is before an "@", or after a "?" or "#".
 */
void push_target_append_shown(struct string *out, const char *text);

#endif /* MEMSCOPE_AGENT_PUSH_TARGET_H */
