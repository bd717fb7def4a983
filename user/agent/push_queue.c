// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_queue.h"

#include <stdlib.h>
#include <unistd.h>

void push_queue_init(struct push_queue *queue)
{
	*queue = (struct push_queue){ .file.fd = -1 };
}

static struct push_batch *at(struct push_queue *queue, size_t i)
{
	return &queue->batches[(queue->first + i) % PUSH_QUEUE_BATCHES];
}

static void forget_oldest(struct push_queue *queue)
{
	const struct push_batch *oldest = at(queue, 0);

	if (oldest->place >= 0)
		push_file_remove(&queue->file, (size_t)oldest->place);
	else
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

/* Takes over the descriptor. */
static struct push_batch save(struct push_queue *queue, int fd, uint64_t bytes)
{
	int place;

	queue->number++;
	if (queue->file.fd < 0)
		return (struct push_batch){ .fd = fd, .bytes = bytes, .place = -1 };
	place = push_file_put(&queue->file, queue->number, fd, bytes);
	if (place < 0) {
		queue->unsaved++;
		queue->unsaved_error = -place;
		return (struct push_batch){ .fd = fd, .bytes = bytes, .place = -1 };
	}
	close(fd);
	return (struct push_batch){ .fd = queue->file.fd,
				    .offset = queue->file.places[place].offset,
				    .bytes = bytes,
				    .place = place };
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
	*at(queue, queue->count) = save(queue, fd, bytes);
	queue->count++;
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

size_t push_queue_unsaved(const struct push_queue *queue)
{
	size_t i, unsaved = 0;

	for (i = 0; i < queue->count; i++)
		unsaved += queue->batches[(queue->first + i) % PUSH_QUEUE_BATCHES].place < 0;
	return unsaved;
}

/* ---- what an earlier process has left -------------------------------------------------------- */

struct kept {
	uint64_t number;
	int place;
};

static int by_number(const void *a, const void *b)
{
	const uint64_t x = ((const struct kept *)a)->number, y = ((const struct kept *)b)->number;

	return x < y ? -1 : x > y;
}

/* Sorts what the file has; returns how many there are. */
static size_t list_kept(const struct push_file *file, struct kept kept[PUSH_FILE_PLACES])
{
	size_t i, count = 0;

	for (i = 0; i < PUSH_FILE_PLACES; i++)
		if (file->places[i].number)
			kept[count++] = (struct kept){ file->places[i].number, (int)i };
	qsort(kept, count, sizeof(*kept), by_number);
	return count;
}

/* From the newest one back, as long as there is room for them. Returns the first of these. */
static size_t first_that_stays(const struct push_file *file, const struct kept *kept, size_t count)
{
	uint64_t bytes = 0;

	while (count) {
		bytes += file->places[kept[count - 1].place].bytes;
		if (bytes > PUSH_QUEUE_BYTES)
			break;
		count--;
	}
	return count;
}

int push_queue_restore(struct push_queue *queue, int fd, size_t *damaged)
{
	struct kept kept[PUSH_FILE_PLACES];
	size_t i, count, first;
	int err = push_file_read(&queue->file, fd, damaged);

	if (err) {
		queue->file.fd = -1;
		return err;
	}
	count = list_kept(&queue->file, kept);
	first = first_that_stays(&queue->file, kept, count);
	for (i = 0; i < first; i++)
		push_file_remove(&queue->file, (size_t)kept[i].place);
	queue->dropped += first;
	for (; i < count; i++) {
		const struct push_file_place *place = &queue->file.places[kept[i].place];

		*at(queue, queue->count++) = (struct push_batch){ .fd = fd,
								  .offset = place->offset,
								  .bytes = place->bytes,
								  .place = kept[i].place };
		queue->bytes += place->bytes;
		queue->number = place->number;
	}
	return 0;
}
