/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations of a process that are alike, bucket by bucket: what of them lives, since when, and
 * what of them lived before the frees that the process ended with. A part of
 * analysis/process_activity.h, which says what a bucket is.
 */
#ifndef MEMSCOPE_ANALYSIS_GROUP_H
#define MEMSCOPE_ANALYSIS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/stack_tally.h"
#include "ledger/state.h"

#define ACTIVITY_BUCKETS 64
#define GROUP_BEFORE ACTIVITY_BUCKETS /* when a block was made: before the first bucket */
#define GROUP_TIMES (ACTIVITY_BUCKETS + 1)

/* What has been freed since a moment: with it, a group is what it was then. */
struct group_freed {
	uint64_t ending;   /* which moment: struct activity_ending */
	unsigned int from; /* the bucket of the first of these frees */
	struct amount lowest;
	struct amount born[GROUP_TIMES];
	struct amount live;
	struct stack_tally lines; /* bytes of `live` */
	uint64_t frees;
};

/* Alike are space, function, device and power of two of the size. */
struct group {
	uint8_t space;
	uint8_t size_class;
	uint16_t row;
	int32_t device; /* -1: unknown */
	bool reported;  /* as a leak: once is enough */
	bool picked;    /* by who looks at several groups together, for as long as that takes */
	uint64_t first_ts_ns;   /* of the first allocation */
	uint64_t allocs, frees; /* explicit ones */
	uint64_t smallest, largest;
	uint64_t temporary, temporary_bytes;
	uint64_t call_ns; /* spent in its allocations and frees */
	struct amount live;
	struct stack_tally lines; /* bytes of `live`, if who counts it knows the stacks */
	struct amount window;     /* those that were allocated in [A, B]: struct analysis_options */
	uint64_t peak_count;
	struct amount born[GROUP_TIMES];        /* of those that live: when they were made */
	struct amount lowest[ACTIVITY_BUCKETS]; /* of `live`, each by itself; up to `newest` */
	unsigned int newest;
	struct group_freed *freed; /* NULL: nothing was */
	struct group_held *held;   /* NULL: likewise; analysis/held_growth.h has it */
};

/* Two buckets become one. */
void group_fold(struct group *group);

/* Fills in what lies between the last change and now. */
void group_advance(struct group *group, unsigned int bucket);

/* `bucket` is that of now, `born` that in which the block was made, or GROUP_BEFORE. */
void group_add(struct group *group, unsigned int bucket, unsigned int born, uint64_t size);

/*
 * Returns false if no such block was counted. `ending` is which moment frees are noted down for;
 * without memory they are not.
 */
bool group_remove(struct group *group, unsigned int bucket, unsigned int born, uint64_t size,
		  uint64_t ending);

/* The same block is one that was allocated there: after group_add(), and after group_remove(). */
void group_add_line(struct group *group, uint32_t stack, uint64_t size);
void group_remove_line(struct group *group, uint32_t stack, uint64_t size, uint64_t ending);

/* All that lives has ended; it is noted down as freed, unless `ending` is 0. */
void group_clear(struct group *group, unsigned int bucket, uint64_t ending);

/* After all that lives has been added again: it may be less than it was. */
void group_settle(struct group *group);

/* A block that had only seemed to have ended with the others. */
void group_take_back(struct group *group, unsigned int born, uint64_t size, uint32_t stack,
		     uint64_t ending);

/* What was freed since that moment; NULL: nothing. */
const struct group_freed *group_freed_since(const struct group *group, uint64_t ending);

#endif /* MEMSCOPE_ANALYSIS_GROUP_H */
