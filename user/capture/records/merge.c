// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/merge.h"

uint64_t merge_written_ns(const struct ms_event *event)
{
	if (event->type == MS_TYPE_CALL || event->type == MS_TYPE_LAUNCH)
		return event->ts_ns + ((const struct ms_call *)event)->duration_ns;
	return event->ts_ns;
}

/* ---- a heap: the one with the oldest record is the first ------------------------------------- */

static void swap(struct merge_source **x, struct merge_source **y)
{
	struct merge_source *source = *x;

	*x = *y;
	*y = source;
}

/* The one at `at` may be newer than those below it. */
static void sink(struct merge_source **heap, size_t count, size_t at)
{
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && heap[child + 1]->written_ns < heap[child]->written_ns)
			child++;
		if (heap[at]->written_ns <= heap[child]->written_ns)
			return;
		swap(&heap[at], &heap[child]);
		at = child;
	}
}

/* ---- draining -------------------------------------------------------------------------------- */

/* Looks at all, and makes a heap of those that have a record. Returns how many these are. */
static size_t look_at_all(struct merge *merge)
{
	uint64_t waiting[MS_RINGS_COUNT] = { 0 };
	size_t count = 0, i;

	for (i = 0; i < merge->count; i++) {
		struct merge_source *source = merge->all[i];

		source->look(source, true);
		merge->held |= source->busy;
		waiting[source->ring] += source->waiting_bytes;
		if (source->next)
			swap(&merge->all[i], &merge->all[count++]);
	}
	for (i = 0; i < MS_RINGS_COUNT; i++)
		if (waiting[i] > merge->highest_bytes[i])
			merge->highest_bytes[i] = waiting[i];
	for (i = count / 2; i > 0; i--)
		sink(merge->all, count, i - 1);
	return count;
}

/*
 * Each is looked at once, and again when a record has been taken from it. That is enough: what has
 * to come before a record that is older than `until_ns` was there before that time.
 */
long merge_drain(struct merge *merge, uint64_t until_ns,
		 int (*feed)(void *context, void *record, size_t length), void *context)
{
	long drained = 0;
	size_t count;

	merge->held = false;
	count = look_at_all(merge);
	while (count && !merge->held) {
		struct merge_source *oldest = merge->all[0];

		if (oldest->next && oldest->written_ns < until_ns) {
			int result = feed(context, (void *)oldest->next, oldest->length);

			oldest->take(oldest);
			if (result)
				return result;
			oldest->look(oldest, false);
			merge->held = oldest->busy;
			drained++;
		} else {
			swap(&merge->all[0], &merge->all[--count]);
		}
		sink(merge->all, count, 0);
	}
	return drained;
}
