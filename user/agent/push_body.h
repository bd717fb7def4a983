/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a batch of remote write becomes before it waits to be sent: series that have ended since the
 * last one are marked, and it is compressed.
 */
#ifndef MEMSCOPE_AGENT_PUSH_BODY_H
#define MEMSCOPE_AGENT_PUSH_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

/* A zeroed one knows no batch. */
struct push_body {
	struct string last;  /* the batch before, without marks */
	struct string ended; /* marks of batches that the receiver may not have, each series once */
	bool lost;           /* some of them went with a batch: they are to be repeated */
};

/*
 * What has become of batches: all have been sent; one has been dropped or refused. Marks of a lost
 * one are repeated by a later batch.
 */
void push_body_all_sent(struct push_body *body);
void push_body_lost(struct push_body *body);

/*
 * Takes over the descriptor of a batch of so many bytes, whose values are of `ts_ns` or before.
 * `repeat`: marks that were lost may be repeated now, because no batch waits in front, or none
 * comes behind. Returns one of what is to be sent, with its length, or -errno.
 */
int push_body_make(struct push_body *body, int fd, uint64_t *bytes, uint64_t ts_ns, bool repeat);

void push_body_fini(struct push_body *body);

#endif /* MEMSCOPE_AGENT_PUSH_BODY_H */
