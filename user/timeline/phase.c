// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/phase.h"

#include <stdlib.h>

static bool grow(struct phase_values *values)
{
	const uint32_t capacity = values->capacity ? 2 * values->capacity : 8;
	int64_t *more = reallocarray(values->values, capacity, sizeof(*more));

	if (!more)
		return false;
	values->values = more;
	values->capacity = capacity;
	return true;
}

/* Every second one goes, and from now on as many are left out. */
static void thin_out(struct phase_values *values)
{
	size_t i;

	for (i = 0; i < values->count / 2; i++)
		values->values[i] = values->values[2 * i];
	values->count /= 2;
	values->stride = 2 * (values->stride ? values->stride : 1);
}

static int64_t add_up(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

void phase_add(struct phase_values *values, int64_t value)
{
	const bool is_first = !values->count && !values->stride;

	values->total = add_up(values->total, value);
	if (is_first || value > values->max)
		values->max = value;
	if (values->stride && ++values->skipped < values->stride)
		return;
	values->skipped = 0;
	if (values->count == PHASE_VALUES)
		thin_out(values);
	if (values->count == values->capacity && !grow(values))
		return;
	values->values[values->count++] = value;
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void phase_take(struct phase *phase, const struct phase_time *time)
{
	phase->count++;
	phase->open += !time->ended;
	phase_add(&phase->time,
		  time->end_ns > time->begin_ns ? (int64_t)(time->end_ns - time->begin_ns) : 0);
	phase_add(&phase->held, (int64_t)(time->held_after - time->held_before));
	if (time->peak_bytes > phase->peak_bytes)
		phase->peak_bytes = time->peak_bytes;
	if (time->end_ns > phase->last_ns)
		phase->last_ns = time->end_ns;
}

void phase_take_instant(struct phase *phase, uint64_t ts_ns)
{
	phase->count++;
	if (ts_ns > phase->last_ns)
		phase->last_ns = ts_ns;
}

/* The smallest that no more than 5 % are above. */
void phase_finish_values(struct phase_values *values)
{
	if (!values->count)
		return;
	qsort(values->values, values->count, sizeof(*values->values), by_value);
	values->p95 = values->values[(values->count * 95 + 99) / 100 - 1];
	free(values->values);
	values->values = NULL;
	values->capacity = 0;
}

void phase_finish(struct phase *phase)
{
	phase_finish_values(&phase->time);
	phase_finish_values(&phase->held);
}

void phase_free(struct phase *phase)
{
	free(phase->time.values);
	free(phase->held.values);
	free(phase->name);
	free(phase);
}

size_t phase_bytes(const struct phase *phase)
{
	return sizeof(*phase) + MS_MARKER_NAME_BYTES +
	       (phase->time.capacity + phase->held.capacity) * sizeof(int64_t);
}

int phase_by_place(const void *a, const void *b)
{
	const struct phase *x = *(const struct phase *const *)a;
	const struct phase *y = *(const struct phase *const *)b;
	const bool x_is_deeper = x->depth > y->depth;

	if (x == y)
		return 0;
	while (x->depth > y->depth)
		x = x->parent;
	while (y->depth > x->depth)
		y = y->parent;
	if (x == y)
		return x_is_deeper ? 1 : -1;
	while (x->parent != y->parent) {
		x = x->parent;
		y = y->parent;
	}
	return x->number < y->number ? -1 : 1;
}
