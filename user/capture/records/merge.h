/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where records come from: a ring buffer of the kernel's (capture/records/ring.h), or a CPU's slots
 * in front of one (capture/records/cpu_slots.h). All of them are merged by the time at which the
 * calls ended, so that a copy is seen after the allocation that it goes to and before the free of
 * it. (libbpf's reader hands over one ring after the other.)
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_MERGE_H
#define MEMSCOPE_CAPTURE_RECORDS_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct merge_source {
	enum ms_ring ring; /* it is this one, or in front of it */
	/* Finds the next record, and sets what follows; the last of it only if it is `measured`. */
	void (*look)(struct merge_source *source, bool measured);
	/* The next record has been read: its room can be written to again. */
	void (*take)(struct merge_source *source);

	const struct ms_event *next; /* NULL: there is none that is complete */
	size_t length;               /* of the next, bytes */
	uint64_t written_ns;         /* when the next was written: merge_written_ns() */
	bool busy;                   /* the next is still being written */
	uint64_t waiting_bytes;      /* of all that is there */
};

/*
 * So often look() looks again at a record that is being written. It takes a tenth of a microsecond
 * to write one; if it is not complete then, the thread that writes it has been preempted.
 */
#define MERGE_LOOKS 200

/* When a record was written: a call's at its return. */
uint64_t merge_written_ns(const struct ms_event *event);

struct merge {
	struct merge_source **all; /* reordered by each drain */
	size_t count;
	uint64_t highest_bytes[MS_RINGS_COUNT]; /* the most that was ever found waiting */
	bool held; /* the last drain left something because a record was still being written */
};

/*
 * Hands all records that ended before `until_ns` (CLOCK_MONOTONIC) to `feed`, oldest first, as long
 * as it returns 0. Returns how many there were, or the first result of `feed` that was not 0.
 *
 * Nothing is read from any as long as one is busy: behind what is being written there may be what
 * has to come before the others' records.
 */
long merge_drain(struct merge *merge, uint64_t until_ns,
		 int (*feed)(void *context, void *record, size_t length), void *context);

#endif /* MEMSCOPE_CAPTURE_RECORDS_MERGE_H */
