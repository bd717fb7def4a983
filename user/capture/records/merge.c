// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/merge.h"

uint64_t inlet_written_ns(const struct ms_event *event)
{
	if (event->type == MS_TYPE_CALL || event->type == MS_TYPE_LAUNCH)
		return event->ts_ns + ((const struct ms_call *)event)->duration_ns;
	return event->ts_ns;
}

/* ---- a heap: the one with the oldest record is the first ------------------------------------- */

static void swap(struct inlet **x, struct inlet **y)
{
	struct inlet *inlet = *x;

	*x = *y;
	*y = inlet;
}

/* The one at `at` may be newer than those below it. */
static void sink(struct inlet **heap, size_t count, size_t at)
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
static size_t look_at_all(struct inlets *inlets)
{
	uint64_t waiting[MS_RINGS_COUNT] = { 0 };
	size_t count = 0, i;

	for (i = 0; i < inlets->count; i++) {
		struct inlet *inlet = inlets->all[i];

		inlet->look(inlet, true);
		inlets->held |= inlet->busy;
		waiting[inlet->ring] += inlet->waiting_bytes;
		if (inlet->next)
			swap(&inlets->all[i], &inlets->all[count++]);
	}
	for (i = 0; i < MS_RINGS_COUNT; i++)
		if (waiting[i] > inlets->highest_bytes[i])
			inlets->highest_bytes[i] = waiting[i];
	for (i = count / 2; i > 0; i--)
		sink(inlets->all, count, i - 1);
	return count;
}

/*
 * Each is looked at once, and again when a record has been taken from it. That is enough: what has
 * to come before a record that is older than `until_ns` was there before that time.
 */
long inlets_drain(struct inlets *inlets, uint64_t until_ns,
		  int (*feed)(void *context, void *record, size_t length), void *context)
{
	long drained = 0;
	size_t count;

	inlets->held = false;
	count = look_at_all(inlets);
	while (count && !inlets->held) {
		struct inlet *oldest = inlets->all[0];

		if (oldest->next && oldest->written_ns < until_ns) {
			int result = feed(context, (void *)oldest->next, oldest->length);

			oldest->take(oldest);
			if (result)
				return result;
			oldest->look(oldest, false);
			inlets->held = oldest->busy;
			drained++;
		} else {
			swap(&inlets->all[0], &inlets->all[--count]);
		}
		sink(inlets->all, count, 0);
	}
	return drained;
}
