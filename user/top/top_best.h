/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the greatest of many things. It needs memory only for those that are wanted, and for each
 * thing at most the logarithm of this number of steps, in whatever order things come.
 */
#ifndef MEMSCOPE_TOP_TOP_BEST_H
#define MEMSCOPE_TOP_TOP_BEST_H

#include <stddef.h>
#include <stdint.h>

#define TOP_BEST_MOST 200

/* Zeroed, it is empty. */
struct top_best {
	struct top_best_item {
		uint64_t value;
		const void *thing, *more; /* the caller's */
	} items[TOP_BEST_MOST];           /* a heap: the least is the first */
	size_t count;
	uint64_t left_out;
};

void top_best_offer(struct top_best *best, uint64_t value, const void *thing, const void *more);

/* Sorts the things, the greatest first. Call it after the last one was offered. */
void top_best_sort(struct top_best *best);

#endif /* MEMSCOPE_TOP_TOP_BEST_H */
