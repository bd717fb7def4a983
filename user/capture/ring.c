// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"

/*
 * Layout: Documentation/bpf/ringbuf.rst. One page with the consumer's position, writable; one with
 * the producer's; then the data, mapped twice in a row so that records never wrap.
 */
int ring_open(struct ring *ring, int map_fd, size_t size_bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *writable, *readable;
	int err;

	writable = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (writable == MAP_FAILED)
		return -errno;
	readable = mmap(NULL, page + 2 * size_bytes, PROT_READ, MAP_SHARED, map_fd, page);
	if (readable == MAP_FAILED) {
		err = -errno;
		munmap(writable, page);
		return err;
	}
	/* Of no use to children, which would copy and later drop an entry for each page. */
	madvise(readable, page + 2 * size_bytes, MADV_DONTFORK);
	*ring = (struct ring){
		.consumer = writable,
		.producer = readable,
		.data = (const char *)readable + page,
		.size_bytes = size_bytes,
	};
	return 0;
}

void ring_close(struct ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!ring->consumer)
		return;
	munmap(ring->consumer, page);
	munmap((void *)ring->producer, page + 2 * ring->size_bytes);
	*ring = (struct ring){ 0 };
}

static size_t record_bytes(uint32_t header)
{
	size_t length = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

/* When the record was written: a call's at its return. */
static uint64_t written_ns(const struct ms_event *event)
{
	if (event->type == MS_TYPE_CALL || event->type == MS_TYPE_LAUNCH)
		return event->ts_ns + ((const struct ms_call *)event)->duration_ns;
	return event->ts_ns;
}

static void ring_advance(struct ring *ring, uint32_t length)
{
	__atomic_store_n(ring->consumer, *ring->consumer + record_bytes(length), __ATOMIC_RELEASE);
}

/* Looks for the oldest record. */
static void ring_peek(struct ring *ring)
{
	uint64_t produced = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);

	ring->oldest = NULL;
	ring->busy = false;
	if (produced - *ring->consumer > ring->highest_bytes)
		ring->highest_bytes = produced - *ring->consumer;
	while (*ring->consumer < produced) {
		const char *record = ring->data + (*ring->consumer & (ring->size_bytes - 1));
		uint32_t header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT) {
			ring->busy = true;
			return;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			ring->oldest = (const struct ms_event *)(record + BPF_RINGBUF_HDR_SZ);
			ring->oldest_ns = written_ns(ring->oldest);
			ring->length = header;
			return;
		}
		ring_advance(ring, header);
	}
}

/* The ring whose oldest record is the oldest of all, or NULL. */
static struct ring *find_oldest(struct ring *rings, size_t count, uint64_t until_ns)
{
	struct ring *found = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		struct ring *ring = &rings[i];

		if (!ring->oldest || ring->oldest_ns >= until_ns ||
		    (ring->partner && ring->partner->busy))
			continue;
		until_ns = ring->oldest_ns;
		found = ring;
	}
	return found;
}

/*
 * Each ring is looked at once, and again when a record has been taken from it. That is enough: what
 * has to come before a record that is older than `until_ns` was there before that time.
 */
long rings_drain(struct ring *rings, size_t count, uint64_t until_ns,
		 int (*feed)(void *context, void *record, size_t length), void *context)
{
	struct ring *ring;
	long drained = 0;
	size_t i;

	for (i = 0; i < count; i++)
		ring_peek(&rings[i]);
	while ((ring = find_oldest(rings, count, until_ns))) {
		int result = feed(context, (void *)ring->oldest, ring->length);

		ring_advance(ring, ring->length);
		if (result)
			return result;
		ring_peek(ring);
		drained++;
	}
	return drained;
}
