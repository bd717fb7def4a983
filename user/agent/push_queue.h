/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of metrics that are to be sent: the oldest first, bounded in number and size. They are in
 * a file, if there is one that takes them; else each is in a descriptor of its own. So the process
 * that waits to send them has no memory for them.
 */
#ifndef MEMSCOPE_AGENT_PUSH_QUEUE_H
#define MEMSCOPE_AGENT_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/push_file.h"

#define PUSH_QUEUE_BATCHES PUSH_FILE_PLACES
#define PUSH_QUEUE_BYTES (32ull << 20)

struct push_batch {
	int fd;          /* the file's, if it is in there */
	uint64_t offset; /* where it begins in it */
	uint64_t bytes;
	int place; /* in the file; -1: it is not there */
};

struct push_queue {
	struct push_batch batches[PUSH_QUEUE_BATCHES];
	size_t first, count;
	uint64_t bytes, dropped;
	uint64_t unsaved; /* that the file did not take: they end with the process */
	int unsaved_error;
	uint64_t number; /* of the newest */
	bool sending;    /* the oldest is: it stays */
	struct push_file file;
};

/* An empty one without a file. */
void push_queue_init(struct push_queue *queue);

/*
 * Goes on with what is in a file that push_file_open() has opened, which the queue does not close.
 * Batches that are damaged are removed and counted in `*damaged`; the oldest ones, if there is no
 * room for all, are dropped. Returns 0 or -errno: then there is no file.
 */
int push_queue_restore(struct push_queue *queue, int fd, size_t *damaged);

/*
 * Adds one and takes over its descriptor. The oldest ones make room and are counted, except for one
 * that is being sent: what is left has the newest values.
 */
void push_queue_put(struct push_queue *queue, int fd, uint64_t bytes);

/* NULL: there is none. */
const struct push_batch *push_queue_oldest(const struct push_queue *queue);

/* Removes the oldest, which nothing sends any more. */
void push_queue_remove(struct push_queue *queue);

/* How many are not in the file. */
size_t push_queue_unsaved(const struct push_queue *queue);

#endif /* MEMSCOPE_AGENT_PUSH_QUEUE_H */
