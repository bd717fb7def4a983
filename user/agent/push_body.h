/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a batch of remote write becomes before it waits to be sent: series that have ended since the
 * last one are marked, and it is compressed.
 */
#ifndef MEMSCOPE_AGENT_PUSH_BODY_H
#define MEMSCOPE_AGENT_PUSH_BODY_H

#include <stdint.h>

#include "base/string.h"

/* A zeroed one knows no batch. */
struct push_body {
	struct string last; /* the batch before, without marks */
};

/*
 * Takes over the descriptor of a batch of so many bytes, whose values are of `ts_ns` or before.
 * Returns one of what is to be sent, with its length, or -errno.
 */
int push_body_make(struct push_body *body, int fd, uint64_t *bytes, uint64_t ts_ns);

void push_body_fini(struct push_body *body);

#endif /* MEMSCOPE_AGENT_PUSH_BODY_H */
