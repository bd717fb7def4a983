// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/call_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/state.h"

#define FIRST_OCTAVE 6 /* 64 ns */
#define PER_OCTAVE 8
#define PER_OCTAVE_BITS 3
#define ROOM 8 /* buckets that memory is asked for at a time */

_Static_assert((CALL_TIMES_BUCKETS - 1) % PER_OCTAVE == 0, "whole octaves");

unsigned int call_times_bucket(uint64_t ns)
{
	unsigned int octave, bucket;

	if (!(ns >> FIRST_OCTAVE))
		return 0;
	octave = 63 - (unsigned int)__builtin_clzll(ns);
	bucket = 1 + (octave - FIRST_OCTAVE) * PER_OCTAVE +
		 (ns >> (octave - PER_OCTAVE_BITS) & (PER_OCTAVE - 1));
	return bucket < CALL_TIMES_BUCKETS ? bucket : CALL_TIMES_BUCKETS - 1;
}

uint64_t call_times_longest(unsigned int bucket)
{
	const unsigned int octave = FIRST_OCTAVE + (bucket - 1) / PER_OCTAVE;
	const uint64_t begin = PER_OCTAVE + (bucket - 1) % PER_OCTAVE;

	if (!bucket)
		return (1 << FIRST_OCTAVE) - 1;
	if (bucket >= CALL_TIMES_BUCKETS - 1)
		return UINT64_MAX;
	return ((begin + 1) << (octave - PER_OCTAVE_BITS)) - 1;
}

/* NULL without memory. */
static struct call_times *times_of(struct process *process, uint16_t row)
{
	const uint64_t *place = map_get(&process->times_places, row);

	if (place)
		return &process->times[*place];
	if (memory_grow(&process->times, &process->times_capacity, process->times_count + 1,
			sizeof(*process->times)) ||
	    map_set(&process->times_places, row, process->times_count))
		return NULL;
	process->times[process->times_count] = (struct call_times){ .row = row };
	return &process->times[process->times_count++];
}

/* Makes room from `first` on, for all that there is and for `end`. */
static int make_room(struct call_times *times, unsigned int first, unsigned int end)
{
	const unsigned int room = (end - first + ROOM - 1) / ROOM * ROOM;
	uint64_t *buckets = calloc(room, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	if (times->room)
		memcpy(buckets + (times->first - first), times->buckets,
		       times->room * sizeof(*buckets));
	free(times->buckets);
	times->buckets = buckets;
	times->first = (uint16_t)first;
	times->room = (uint16_t)room;
	return 0;
}

uint64_t call_times_in(const struct call_times *times, unsigned int bucket)
{
	return bucket >= times->first && bucket < (unsigned int)times->first + times->room ?
		       times->buckets[bucket - times->first] :
		       0;
}

int call_times_count(struct call_times *times, unsigned int bucket, uint64_t count)
{
	unsigned int first = times->room ? times->first : bucket;
	unsigned int end = first + times->room;
	int err = 0;

	if (bucket < first || bucket >= end) {
		first = bucket < first ? bucket / ROOM * ROOM : first;
		err = make_room(times, first, bucket >= end ? bucket + 1 : end);
	}
	if (!err)
		times->buckets[bucket - times->first] += count;
	return err;
}

void call_times_fini(struct call_times *times)
{
	free(times->buckets);
	*times = (struct call_times){ 0 };
}

int call_times_apply(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	struct call_times *times = times_of(process, call->row);

	if (!times)
		return -ENOMEM;
	times->calls += event->count;
	if (!(call->known & MS_KNOWN_RESULT))
		return 0;
	if (!event_succeeded(call) && call->result != MS_CUDA_DEINITIALIZED)
		times->failed += event->count;
	/* Launches that are only counted are not timed. */
	if (event->header->type == MS_TYPE_CALLS && !call->duration_ns)
		return 0;
	times->timed += event->count;
	times->total_ns += call->duration_ns;
	if (event->header->type == MS_TYPE_CALLS)
		return 0;
	if (call->duration_ns > times->max_ns)
		times->max_ns = call->duration_ns;
	return call_times_count(times, call_times_bucket(call->duration_ns), 1);
}

int call_times_add(struct process *process, const struct call_times *more)
{
	struct call_times *times = times_of(process, more->row);
	unsigned int i;
	int err = 0;

	if (!times)
		return -ENOMEM;
	times->calls += more->calls;
	times->failed += more->failed;
	times->timed += more->timed;
	times->total_ns += more->total_ns;
	if (more->max_ns > times->max_ns)
		times->max_ns = more->max_ns;
	for (i = 0; !err && i < more->room; i++)
		if (more->buckets[i])
			err = call_times_count(times, more->first + i, more->buckets[i]);
	return err;
}

bool call_times_percentile(const struct call_times *times, unsigned int percent, uint64_t *ns)
{
	uint64_t count = 0, rank, seen = 0;
	unsigned int i;

	for (i = 0; i < times->room; i++)
		count += times->buckets[i];
	if (!count)
		return false;
	/* The percentile is the time of the call with this number, from 1. */
	rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
	rank += !rank;
	for (i = 0; seen + times->buckets[i] < rank; i++)
		seen += times->buckets[i];
	*ns = call_times_longest(times->first + i);
	if (*ns > times->max_ns)
		*ns = times->max_ns;
	return true;
}

static int by_total(const void *a, const void *b)
{
	const struct call_times *const *x = a, *const *y = b;

	if ((*x)->total_ns != (*y)->total_ns)
		return (*x)->total_ns < (*y)->total_ns ? 1 : -1;
	if ((*x)->calls != (*y)->calls)
		return (*x)->calls < (*y)->calls ? 1 : -1;
	return (*x)->row < (*y)->row ? -1 : (*x)->row > (*y)->row;
}

const struct call_times **call_times_sorted(const struct process *process)
{
	const struct call_times **sorted = calloc(process->times_count + 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return NULL;
	for (i = 0; i < process->times_count; i++)
		sorted[i] = &process->times[i];
	qsort(sorted, process->times_count, sizeof(*sorted), by_total);
	return sorted;
}

void call_times_forget(struct process *process)
{
	while (process->times_count)
		call_times_fini(&process->times[--process->times_count]);
	map_fini(&process->times_places);
}

size_t call_times_bytes(const struct process *process)
{
	size_t bytes = process->times_capacity * sizeof(*process->times) +
		       map_bytes(&process->times_places),
	       i;

	for (i = 0; i < process->times_count; i++)
		bytes += process->times[i].room * sizeof(*process->times[i].buckets);
	return bytes;
}
