/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The greatest of many things, in memory for so many as are wanted and, for each thing, at most the
 * logarithm of that many steps, in whatever order they come.
 */
#ifndef MEMSCOPE_TOP_TOP_BEST_H
#define MEMSCOPE_TOP_TOP_BEST_H

#include <stddef.h>
#include <stdint.h>

#define TOP_BEST_MOST 200

/* A zeroed one is empty. */
struct top_best {
	struct top_best_item {
		uint64_t value;
		const void *thing, *more; /* the caller's */
	} items[TOP_BEST_MOST];           /* a heap: the least is the first */
	size_t count;
	uint64_t left_out;
};

void top_best_offer(struct top_best *best, uint64_t value, const void *thing, const void *more);

/* The greatest comes first; nothing is offered any more. */
void top_best_sort(struct top_best *best);

#endif /* MEMSCOPE_TOP_TOP_BEST_H */
