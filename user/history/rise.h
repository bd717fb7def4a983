/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what a process holds becomes more and more: by the least that it held in each part of its
 * time. Peaks come and go with what it works on; what it never gives back raises the least, too.
 *
 * The time is not known beforehand, so the parts grow with it: there are at most RISE_PARTS, each
 * of the same number of intervals.
 */
#ifndef MEMSCOPE_HISTORY_RISE_H
#define MEMSCOPE_HISTORY_RISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RISE_PARTS 16
#define RISE_PARTS_LEAST 8       /* with fewer, nothing is said */
#define RISE_BYTES (32ull << 20) /* neither is of less */
#define RISE_SHARE 20            /* nor of less than a 20th of what it held then */

struct rise_part {
	uint64_t start_s;
	uint64_t least_bytes;
};

/* A zeroed one is empty. */
struct rise {
	struct rise_part parts[RISE_PARTS];
	uint32_t count;     /* of parts that are whole */
	uint32_t intervals; /* of each part; 0: as yet 1 */
	uint32_t open;      /* of the part that is not whole */
	uint64_t end_s;     /* of those that are whole */
	struct rise_part current;
};

/* In the next interval, which ends at `end_s`, it held at least that. */
void rise_note(struct rise *rise, uint64_t start_s, uint64_t end_s, uint64_t least_bytes);

/* What has been found; times are those of whole parts. */
struct rise_found {
	uint64_t from_s, to_s;
	uint64_t last_s;                  /* when the last part began */
	uint64_t first_bytes, last_bytes; /* the least in the first part, and in the last */
	unsigned int parts, higher;       /* so many; so many of them were higher than any before */
};

/*
 * It has held more in nearly each part than in any before, and has more by RISE_BYTES and by a
 * RISE_SHARE-th in the end.
 */
bool rise_find(const struct rise *rise, struct rise_found *found);

/* By how many bytes it has become more in an hour. */
uint64_t rise_hourly(const struct rise_found *found);

#endif /* MEMSCOPE_HISTORY_RISE_H */
