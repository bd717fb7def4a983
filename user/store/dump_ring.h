/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder's files: each segment is a file in a directory, and the oldest give way to
 * new ones, so that what is kept is the newest that fits. A segment stands alone, so put one behind
 * the other they are a dump: a bundle.
 */
#ifndef MEMSCOPE_STORE_DUMP_RING_H
#define MEMSCOPE_STORE_DUMP_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "store/dump_file.h"

struct dump_ring_segment {
	uint64_t number; /* its name */
	uint64_t bytes;
	uint64_t begin_ns; /* when it was begun, CLOCK_MONOTONIC; 0: by another process */
};

struct dump_ring {
	char *directory;
	uint64_t max_bytes;
	struct dump_ring_segment *segments; /* oldest first; the last is being written */
	size_t count, capacity;
	uint64_t next;         /* number of the next segment */
	struct dump_file file; /* the last one */
	uint64_t bytes;        /* in all of them */
	bool told_too_small;
	bool is_copied;  /* what an earlier recorder left is in a bundle, too */
	uint64_t max_ns; /* a segment that was ended so long ago goes; 0: none does */
};

/*
 * Makes the directory, or takes over the segments of a ring that was left there, as complete ones.
 * Files of other names are left alone. Returns 0 or -errno, logged: -EEXIST: another process is
 * writing the last segment.
 */
int dump_ring_open(struct dump_ring *ring, const char *directory, uint64_t max_bytes);

/* The same, of a directory that no other process writes to. */
int dump_ring_adopt(struct dump_ring *ring, const char *directory, uint64_t max_bytes);

/*
 * Appends a block; one of type BLOCK_SEGMENT begins a file. First the oldest files are removed,
 * until it fits or only one of those that are complete is left. Returns 0 or -errno, not logged.
 */
int dump_ring_write(struct dump_ring *ring, const struct block_header *header, const void *stored);

/* Takes back the segment that is being written, all of it. */
void dump_ring_cut(struct dump_ring *ring);

/*
 * To be called now and then: if complete files have been removed, the ring forgets them
 * and logs that; those that are too old are removed.
 */
void dump_ring_check(struct dump_ring *ring);

/*
 * Before a block is written, and now and then: the same as dump_file_check() of the file that is
 * being written. One that is elsewhere may stay there: the next segment has another file. As long
 * as that cannot be made, it counts as there, in file.is_elsewhere, and that is logged once.
 */
int dump_ring_check_file(struct dump_ring *ring, struct dump_extent *lost);

/* Appends all that is still there to a file. Returns 0 or -errno. */
int dump_ring_copy(struct dump_ring *ring, struct dump_file *out);

/*
 * `keep`: leaves the directory as it is; else it is removed with what is in it. Segments that an
 * earlier recorder has left stay, with a message, unless they were copied: no one has read them.
 */
void dump_ring_close(struct dump_ring *ring, bool keep);

#endif /* MEMSCOPE_STORE_DUMP_RING_H */
