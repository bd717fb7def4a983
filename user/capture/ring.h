/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the BPF ring buffers. libbpf's reader hands over one ring after the other; this one merges
 * them by the time at which the calls ended, so that a copy is seen after the allocation that it
 * goes to and before the free of it.
 */
#ifndef MEMSCOPE_CAPTURE_RING_H
#define MEMSCOPE_CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_event;

struct ring {
	uint64_t *consumer; /* positions: bytes since the beginning, mapped from the kernel */
	const uint64_t *producer;
	const char *data;
	size_t size_bytes;      /* a power of two */
	uint64_t highest_bytes; /* the most that was ever waiting: high-water mark */
	/*
	 * Written to when there is no room in this one, or the other way round; NULL: none. Nothing
	 * may be read from either that comes behind what is still being written to the other.
	 */
	struct ring *partner;
	/* For rings_drain(), when it looked last: */
	const struct ms_event *oldest; /* record, or NULL: there is none that is complete */
	uint64_t oldest_ns;            /* when it was written */
	uint32_t length;
	bool busy; /* the next record is still being written */
};

/* Maps the ring of a BPF_MAP_TYPE_RINGBUF. Returns 0 or -errno. */
int ring_open(struct ring *ring, int map_fd, size_t size_bytes);
void ring_close(struct ring *ring);

/*
 * Hands all records that ended before `until_ns` (CLOCK_MONOTONIC) to `feed`, oldest first, as long
 * as it returns 0. Returns how many there were, or the first result of `feed` that was not 0.
 */
long rings_drain(struct ring *rings, size_t count, uint64_t until_ns,
		 int (*feed)(void *context, void *record, size_t length), void *context);

#endif /* MEMSCOPE_CAPTURE_RING_H */
