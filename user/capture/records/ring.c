// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

/*
 * Layout: Documentation/bpf/ringbuf.rst. One page with the consumer's position, writable; one with
 * the producer's; then the data, twice in a row so that records never wrap. Of the second time no
 * more is wanted than a record can take.
 */
#define RECORD_BYTES 65536

/*
 * Data is mapped when it is about to be read for the first time: as a rule, little of a ring ever
 * is, and what is mapped counts as memory of this process, and takes time to be given up when it is
 * killed.
 */
#define WINDOW_BYTES (1 << 20)

static void *map(const struct ring *ring, void *at, size_t offset, size_t bytes, int protection)
{
	void *mapped = mmap(at, bytes, protection, MAP_SHARED | (at ? MAP_FIXED : 0), ring->map_fd,
			    offset);

	/* Children have no use for it, and would copy and later drop an entry for each page. */
	if (mapped != MAP_FAILED)
		madvise(mapped, bytes, MADV_DONTFORK);
	return mapped;
}

static size_t longest_record(const struct ring *ring)
{
	return ring->size_bytes < RECORD_BYTES ? ring->size_bytes : RECORD_BYTES;
}

static size_t data_bytes(const struct ring *ring)
{
	return ring->size_bytes + longest_record(ring);
}

static bool map_next_window(struct ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE), rest = data_bytes(ring) - ring->mapped_bytes;
	size_t bytes = rest < WINDOW_BYTES ? rest : WINDOW_BYTES;

	if (map(ring, (char *)ring->data + ring->mapped_bytes, 2 * page + ring->mapped_bytes, bytes,
		PROT_READ) == MAP_FAILED) {
		if (!ring->unreadable)
			log_error("cannot map more of a ring buffer: %s; events are missing",
				  strerror(errno));
		ring->unreadable = true;
		/* What was reserved there may be gone, and must not become anybody else's. */
		(void)mmap((char *)ring->data + ring->mapped_bytes, bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		return false;
	}
	ring->mapped_bytes += bytes;
	return true;
}

int ring_open(struct ring *ring, enum ms_ring which, int map_fd, size_t size_bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *consumer, *producer, *data;

	*ring = (struct ring){ .map_fd = map_fd, .size_bytes = size_bytes };
	ring_init_inlet(ring, which);
	consumer = map(ring, NULL, 0, page, PROT_READ | PROT_WRITE);
	if (consumer == MAP_FAILED)
		return -errno;
	ring->consumer = consumer;
	producer = map(ring, NULL, page, page, PROT_READ);
	if (producer == MAP_FAILED)
		return -errno;
	ring->producer = producer;
	data = mmap(NULL, data_bytes(ring), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return -errno;
	ring->data = data;
	return 0;
}

void ring_close(struct ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (ring->data)
		munmap((void *)ring->data, data_bytes(ring));
	if (ring->producer)
		munmap((void *)ring->producer, page);
	if (ring->consumer)
		munmap(ring->consumer, page);
	*ring = (struct ring){ 0 };
}

/* ---- as a source ----------------------------------------------------------------------------- */

static size_t length_of(uint32_t header)
{
	return header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
}

static void advance(struct ring *ring, size_t length)
{
	uint64_t bytes = (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;

	__atomic_store_n(ring->consumer, *ring->consumer + bytes, __ATOMIC_RELEASE);
}

static uint32_t read_header(const char *record)
{
	uint32_t header;
	int looks = 0;

	do {
		header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
	} while (header & BPF_RINGBUF_BUSY_BIT && ++looks < MERGE_LOOKS);
	return header;
}

/* Activities may be one record of the ring's together: MS_ACTIVITIES_TOGETHER. */
static void find_in(struct ring *ring, const char *record, size_t length)
{
	struct merge_source *source = &ring->source;
	const size_t rest = length - ring->taken_bytes;

	source->next = (const struct ms_event *)(record + ring->taken_bytes);
	source->length = rest;
	if (rest > sizeof(struct ms_activity) && source->next->type == MS_TYPE_ACTIVITY)
		source->length = sizeof(struct ms_activity);
	source->written_ns = merge_written_ns(source->next);
}

static void look(struct merge_source *source, bool measured)
{
	struct ring *ring = (struct ring *)source;
	uint64_t produced = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);

	source->next = NULL;
	source->busy = false;
	if (measured)
		source->waiting_bytes = produced - *ring->consumer;
	while (*ring->consumer < produced) {
		size_t at = *ring->consumer & (ring->size_bytes - 1);
		const char *record = ring->data + at;
		uint32_t header = BPF_RINGBUF_BUSY_BIT;

		if (at + longest_record(ring) <= ring->mapped_bytes || map_next_window(ring))
			header = read_header(record);
		if (header & BPF_RINGBUF_BUSY_BIT) {
			source->busy = true;
			return;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			find_in(ring, record + BPF_RINGBUF_HDR_SZ, length_of(header));
			return;
		}
		advance(ring, length_of(header));
	}
}

static void take(struct merge_source *source)
{
	struct ring *ring = (struct ring *)source;
	const size_t at = *ring->consumer & (ring->size_bytes - 1);
	const size_t length = length_of(*(const uint32_t *)(ring->data + at));

	ring->taken_bytes += source->length;
	if (ring->taken_bytes < length)
		return;
	ring->taken_bytes = 0;
	advance(ring, length);
}

void ring_init_inlet(struct ring *ring, enum ms_ring which)
{
	ring->source = (struct merge_source){ .ring = which, .look = look, .take = take };
}
