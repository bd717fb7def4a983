// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Layout: Documentation/bpf/ringbuf.rst. One page with the consumer's position, writable; one with
 * the producer's; then the data, mapped twice in a row so that records never wrap.
 */
int ring_open(struct ring *ring, enum ms_ring which, int map_fd, size_t size_bytes)
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
	ring_init_inlet(ring, which);
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

/* ---- as an inlet ----------------------------------------------------------------------------- */

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
	} while (header & BPF_RINGBUF_BUSY_BIT && ++looks < INLET_LOOKS);
	return header;
}

static void look(struct inlet *inlet)
{
	struct ring *ring = (struct ring *)inlet;
	uint64_t produced = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);

	inlet->next = NULL;
	inlet->busy = false;
	inlet->waiting_bytes = produced - *ring->consumer;
	while (*ring->consumer < produced) {
		const char *record = ring->data + (*ring->consumer & (ring->size_bytes - 1));
		uint32_t header = read_header(record);

		if (header & BPF_RINGBUF_BUSY_BIT) {
			inlet->busy = true;
			return;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			inlet->next = (const struct ms_event *)(record + BPF_RINGBUF_HDR_SZ);
			inlet->length = length_of(header);
			inlet->written_ns = inlet_written_ns(inlet->next);
			return;
		}
		advance(ring, length_of(header));
	}
}

static void take(struct inlet *inlet)
{
	advance((struct ring *)inlet, inlet->length);
}

void ring_init_inlet(struct ring *ring, enum ms_ring which)
{
	ring->inlet = (struct inlet){ .ring = which, .look = look, .take = take };
}
