/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of small integers that finds the greatest member not above a given number in a handful of
 * steps, however sparse it is: level n+1 has one bit per non-zero word of level n.
 */
#ifndef SIMCUDA_BITSET_H
#define SIMCUDA_BITSET_H

#include <stdint.h>

#define BITSET_LEVELS 6 /* 64^6 members: more than any arena has granules */

struct bitset {
	uint64_t *level[BITSET_LEVELS];
};

/* For members below limit. Lives as long as the process. */
void bitset_init(struct bitset *set, uint64_t limit);
void bitset_add(struct bitset *set, uint64_t member);
void bitset_remove(struct bitset *set, uint64_t member);

/* The greatest member <= number, or -1. */
int64_t bitset_find_at_or_below(const struct bitset *set, uint64_t number);

#endif
