// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_queue.h"

#include <unistd.h>

static struct push_batch *at(struct push_queue *queue, size_t i)
{
	return &queue->batches[(queue->first + i) % PUSH_QUEUE_BATCHES];
}

static void forget_oldest(struct push_queue *queue)
{
	const struct push_batch *oldest = at(queue, 0);

	close(oldest->fd);
	queue->bytes -= oldest->bytes;
	queue->first = (queue->first + 1) % PUSH_QUEUE_BATCHES;
	queue->count--;
}

/* Returns false if there is none that may be dropped. */
static bool drop(struct push_queue *queue)
{
	const struct push_batch sent = *at(queue, 0);

	if (queue->count <= queue->sending)
		return false;
	/* The one behind that which is being sent goes, and this takes its place. */
	if (queue->sending) {
		*at(queue, 0) = *at(queue, 1);
		*at(queue, 1) = sent;
	}
	forget_oldest(queue);
	queue->dropped++;
	return true;
}

void push_queue_put(struct push_queue *queue, int fd, uint64_t bytes)
{
	while (queue->count == PUSH_QUEUE_BATCHES ||
	       (queue->bytes + bytes > PUSH_QUEUE_BYTES && queue->count))
		if (!drop(queue))
			break;
	if (queue->bytes + bytes > PUSH_QUEUE_BYTES) {
		close(fd);
		queue->dropped++;
		return;
	}
	*at(queue, queue->count++) = (struct push_batch){ fd, bytes };
	queue->bytes += bytes;
}

const struct push_batch *push_queue_oldest(const struct push_queue *queue)
{
	return queue->count ? &queue->batches[queue->first] : NULL;
}

void push_queue_remove(struct push_queue *queue)
{
	queue->sending = false;
	forget_oldest(queue);
}
