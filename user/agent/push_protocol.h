/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocols by which the agent pushes metrics, and in what they differ. Pure.
 */
#ifndef MEMSCOPE_AGENT_PUSH_PROTOCOL_H
#define MEMSCOPE_AGENT_PUSH_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

enum push_protocol_id {
	PUSH_OTLP,
	PUSH_REMOTE_WRITE,
	PUSH_PROTOCOLS,
};

struct push_protocol {
	const char *option;             /* "otlp": also how its metrics are called, with _ for - */
	const char *path;               /* where a URL without a path leads */
	const char *of;                 /* what the URL has to be of, for people */
	const char *const *header;      /* lines of the request's, the last one NULL */
	const char *name, *parent_name; /* of the processes */
	uint32_t document;              /* enum request_document */
	bool has_response;              /* which says what was not taken */
	bool is_remote_write; /* a batch is compressed, and says which series have ended */
};

extern const struct push_protocol push_protocols[PUSH_PROTOCOLS];

/* Whether a request that was answered so may be sent again. */
bool push_protocol_is_passing(enum push_protocol_id id, long status);

#endif /* MEMSCOPE_AGENT_PUSH_PROTOCOL_H */
