/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads one of the kernel's ring buffers.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_RING_H
#define MEMSCOPE_CAPTURE_RECORDS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/records/merge.h"

struct ring {
	struct merge_source source;
	uint64_t *consumer; /* positions: bytes since the beginning, mapped from the kernel */
	const uint64_t *producer;
	const char *data;
	size_t size_bytes;   /* a power of two */
	size_t mapped_bytes; /* of the data, from its beginning */
	size_t taken_bytes;  /* of a record that holds several of ours: those that were taken */
	int map_fd;
	bool unreadable; /* that was logged */
};

/*
 * Maps the ring of a BPF_MAP_TYPE_RINGBUF, whose descriptor must stay open. Returns 0 or -errno;
 * close it in any case.
 */
int ring_open(struct ring *ring, enum ms_ring which, int map_fd, size_t size_bytes);
void ring_close(struct ring *ring);

/* Makes it a source, when all but that is set. */
void ring_init_inlet(struct ring *ring, enum ms_ring which);

#endif /* MEMSCOPE_CAPTURE_RECORDS_RING_H */
