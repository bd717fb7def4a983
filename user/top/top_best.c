// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_best.h"

#include <stdlib.h>

static void swap(struct top_best_item *a, struct top_best_item *b)
{
	const struct top_best_item kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_up(struct top_best_item *items, size_t at)
{
	for (; at && items[at].value < items[(at - 1) / 2].value; at = (at - 1) / 2)
		swap(&items[at], &items[(at - 1) / 2]);
}

static void sift_down(struct top_best_item *items, size_t count)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && items[child + 1].value < items[child].value)
			child++;
		if (items[at].value <= items[child].value)
			return;
		swap(&items[at], &items[child]);
		at = child;
	}
}

void top_best_offer(struct top_best *best, uint64_t value, const void *thing, const void *more)
{
	const struct top_best_item item = { value, thing, more };

	if (best->count < TOP_BEST_MOST) {
		best->items[best->count] = item;
		sift_up(best->items, best->count++);
		return;
	}
	best->left_out++;
	if (value <= best->items[0].value)
		return;
	best->items[0] = item;
	sift_down(best->items, best->count);
}

static int compare(const void *one, const void *other)
{
	const struct top_best_item *a = one, *b = other;

	return a->value < b->value ? 1 : a->value > b->value ? -1 : 0;
}

void top_best_sort(struct top_best *best)
{
	qsort(best->items, best->count, sizeof(*best->items), compare);
}
