/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of metrics that are to be sent: the oldest first, bounded in number and size. Each is in
 * a descriptor, so that the process that waits to send them has no memory for them.
 */
#ifndef MEMSCOPE_AGENT_PUSH_QUEUE_H
#define MEMSCOPE_AGENT_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUSH_QUEUE_BATCHES 256
#define PUSH_QUEUE_BYTES (32ull << 20)

struct push_batch {
	int fd;
	uint64_t bytes;
};

struct push_queue {
	struct push_batch batches[PUSH_QUEUE_BATCHES];
	size_t first, count;
	uint64_t bytes, dropped;
	bool sending; /* the oldest is: it stays */
};

/*
 * Adds one and takes over its descriptor. The oldest ones make room and are counted, except for one
 * that is being sent: what is left has the newest values.
 */
void push_queue_put(struct push_queue *queue, int fd, uint64_t bytes);

/* NULL: there is none. */
const struct push_batch *push_queue_oldest(const struct push_queue *queue);

/* Removes the oldest, which nothing sends any more. */
void push_queue_remove(struct push_queue *queue);

#endif /* MEMSCOPE_AGENT_PUSH_QUEUE_H */
