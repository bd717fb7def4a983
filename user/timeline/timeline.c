// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/timeline.h"

#include <stdlib.h>

#include "base/memory.h"

#define FIRST_WIDTH_NS 1000000

/* ---- series ---------------------------------------------------------------------------------- */

/* There may be very many processes that do nothing, or not all that there is to do. */
static uint64_t zeros[TIMELINE_BUCKETS];

#define VALUES 5

/* All of its arrays of numbers. */
static void values_of(struct timeline_series *series, uint64_t **values[VALUES])
{
	values[0] = &series->allocs;
	values[1] = &series->alloc_bytes;
	values[2] = &series->frees;
	values[3] = &series->launches;
	values[4] = &series->blocked_ns;
}

/* For the timeline's account, too. NULL without memory. */
static void *take_memory(struct timeline *timeline, size_t bytes)
{
	void *memory = calloc(1, bytes);

	timeline->bytes += memory ? bytes : 0;
	timeline->incomplete |= !memory;
	return memory;
}

static void give_memory(struct timeline *timeline, void *memory, size_t bytes)
{
	timeline->bytes -= memory ? bytes : 0;
	free(memory);
}

static void series_free(struct timeline *timeline, struct timeline_series *series)
{
	uint64_t **values[VALUES];
	size_t i;

	if (!series)
		return;
	values_of(series, values);
	for (i = 0; i < VALUES; i++)
		if (*values[i] != zeros)
			give_memory(timeline, *values[i], sizeof(zeros));
	for (i = 0; i < MS_SPACES_COUNT; i++)
		give_memory(timeline, series->levels[i], sizeof(*series->levels[i]));
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		give_memory(timeline, series->copies[i], sizeof(*series->copies[i]));
	give_memory(timeline, series, sizeof(*series));
}

void timeline_fini(struct timeline *timeline)
{
	while (timeline->count)
		series_free(timeline, timeline->series[--timeline->count]);
	series_free(timeline, timeline->more);
	free(timeline->series);
	map_fini(&timeline->by_identity);
	*timeline = (struct timeline){ 0 };
}

static struct timeline_series *series_find(const struct timeline *timeline, uint32_t pid,
					   uint64_t start_ns)
{
	const uint64_t *place = map_get(&timeline->by_identity, event_process_key(pid, start_ns));

	return place ? (struct timeline_series *)(uintptr_t)*place : NULL;
}

const struct timeline_series *timeline_find(const struct timeline *timeline, uint32_t pid,
					    uint64_t start_ns)
{
	return series_find(timeline, pid, start_ns);
}

size_t timeline_bytes(const struct timeline *timeline)
{
	return timeline->bytes + map_bytes(&timeline->by_identity) +
	       timeline->capacity * sizeof(*timeline->series);
}

/* ---- buckets --------------------------------------------------------------------------------- */

static void halve(uint64_t *values)
{
	size_t i;

	for (i = 0; i < TIMELINE_BUCKETS / 2; i++)
		values[i] = values[2 * i] + values[2 * i + 1];
	for (; i < TIMELINE_BUCKETS; i++)
		values[i] = 0;
}

static void halve_level(struct timeline_level *level)
{
	size_t i, halves = (level->filled + 1) / 2;

	for (i = 0; i < halves; i++) {
		size_t left = 2 * i, right = left + 1 < level->filled ? left + 1 : left;

		level->max[i] =
			level->max[left] > level->max[right] ? level->max[left] : level->max[right];
		level->end[i] = level->end[right];
	}
	level->filled = halves;
}

static void halve_series(struct timeline_series *series)
{
	uint64_t **values[VALUES];
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (series->levels[i])
			halve_level(series->levels[i]);
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		if (!series->copies[i])
			continue;
		halve(series->copies[i]->count);
		halve(series->copies[i]->bytes);
		halve(series->copies[i]->timed_bytes);
		halve(series->copies[i]->timed_ns);
	}
	values_of(series, values);
	for (i = 0; i < VALUES; i++)
		if (*values[i] != zeros)
			halve(*values[i]);
}

static void widen(struct timeline *timeline)
{
	size_t i;

	for (i = 0; i < timeline->count; i++)
		halve_series(timeline->series[i]);
	if (timeline->more)
		halve_series(timeline->more);
	halve(timeline->lost);
	timeline->width_ns *= 2;
}

void timeline_begin(struct timeline *timeline, uint64_t ts_ns)
{
	if (timeline->begin_ns)
		return;
	timeline->begin_ns = timeline->end_ns = ts_ns ? ts_ns : 1;
	timeline->width_ns = FIRST_WIDTH_NS;
}

/* Where a time belongs; what is before the beginning counts as of then. */
static size_t bucket_of(struct timeline *timeline, uint64_t ts_ns)
{
	timeline_begin(timeline, ts_ns);
	if (ts_ns <= timeline->begin_ns)
		return 0;
	/* Only a hostile file says so: nothing can be that late. */
	if (ts_ns > INT64_MAX)
		ts_ns = INT64_MAX;
	if (ts_ns > timeline->end_ns)
		timeline->end_ns = ts_ns;
	while ((ts_ns - timeline->begin_ns) / timeline->width_ns >= TIMELINE_BUCKETS)
		widen(timeline);
	return (ts_ns - timeline->begin_ns) / timeline->width_ns;
}

size_t timeline_length(const struct timeline *timeline)
{
	return timeline->begin_ns ?
		       (timeline->end_ns - timeline->begin_ns) / timeline->width_ns + 1 :
		       0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* It stays as it was until that bucket. */
static void level_fill(struct timeline_level *level, size_t bucket)
{
	for (; level->filled <= bucket; level->filled++) {
		uint64_t now = level->filled ? level->end[level->filled - 1] : 0;

		level->max[level->filled] = level->end[level->filled] = now;
	}
}

static void level_set(struct timeline *timeline, struct timeline_series *series, uint8_t space,
		      size_t bucket, uint64_t bytes)
{
	struct timeline_level *level = series->levels[space];

	if (!level && !bytes)
		return;
	if (!level) {
		level = series->levels[space] = take_memory(timeline, sizeof(*level));
		if (!level)
			return;
	}
	if (bucket + 1 < level->filled)
		bucket = level->filled - 1; /* times do not come in order */
	level_fill(level, bucket);
	if (bytes > level->max[bucket])
		level->max[bucket] = bytes;
	level->end[bucket] = bytes;
}

static void levels_set(struct timeline *timeline, struct timeline_series *series,
		       const struct process *process, size_t bucket)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		level_set(timeline, series, space, bucket, process->spaces[space].live_bytes);
}

/*
 * What was being freed when a process ended is live in that moment after all: with it, more may be
 * live than ever before, and a moment later nothing.
 */
static void levels_set_peaks(struct timeline *timeline, struct timeline_series *series,
			     const struct process *process, size_t bucket, uint64_t ts_ns)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (process->spaces[space].peak_ts_ns == ts_ns)
			level_set(timeline, series, space, bucket,
				  process->spaces[space].peak_bytes);
}

/* ---- processes that are not listed any more -------------------------------------------------- */

static void add_values(uint64_t *sum, const uint64_t *values)
{
	size_t i;

	for (i = 0; i < TIMELINE_BUCKETS; i++)
		sum[i] += values[i];
}

/* The sum of maxima is at least the maximum of the sum; that of ended processes is not for more. */
static void add_level(struct timeline_level *sum, struct timeline_level *level)
{
	size_t i, last = sum->filled > level->filled ? sum->filled : level->filled;

	if (!last)
		return;
	level_fill(sum, last - 1);
	level_fill(level, last - 1);
	for (i = 0; i < last; i++) {
		sum->max[i] += level->max[i];
		sum->end[i] += level->end[i];
	}
}

static void add_copies(struct timeline_copies *sum, const struct timeline_copies *copies)
{
	add_values(sum->count, copies->count);
	add_values(sum->bytes, copies->bytes);
	add_values(sum->timed_bytes, copies->timed_bytes);
	add_values(sum->timed_ns, copies->timed_ns);
}

static void add_series(struct timeline_series *sum, struct timeline_series *series)
{
	uint64_t **values[VALUES], **other_values[VALUES];
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		if (!sum->levels[i]) {
			sum->levels[i] = series->levels[i];
			series->levels[i] = NULL;
		} else if (series->levels[i]) {
			add_level(sum->levels[i], series->levels[i]);
		}
	}
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		if (!sum->copies[i]) {
			sum->copies[i] = series->copies[i];
			series->copies[i] = NULL;
		} else if (series->copies[i]) {
			add_copies(sum->copies[i], series->copies[i]);
		}
	}
	values_of(sum, values);
	values_of(series, other_values);
	for (i = 0; i < VALUES; i++) {
		/* What the sum has not got yet, it takes. */
		if (*values[i] == zeros) {
			*values[i] = *other_values[i];
			*other_values[i] = zeros;
		} else {
			add_values(*values[i], *other_values[i]);
		}
	}
}

static void series_retire(struct timeline *timeline, struct timeline_series *series)
{
	struct timeline_series *last = timeline->series[--timeline->count];

	map_remove(&timeline->by_identity, event_process_key(series->pid, series->start_ns));
	timeline->series[series->place] = last;
	last->place = series->place;
	if (timeline->more) {
		add_series(timeline->more, series);
		series_free(timeline, series);
	} else {
		timeline->more = series;
	}
}

static void retire_unlisted(struct timeline *timeline, const struct state *state)
{
	size_t i = 0;

	while (i < timeline->count) {
		struct timeline_series *series = timeline->series[i];

		/* The last one comes into this place. */
		if (state_find(state, series->pid, series->start_ns))
			i++;
		else
			series_retire(timeline, series);
	}
}

/* Those that the state does not list any more become one sum here too. */
static void retire(struct timeline *timeline, const struct state *state)
{
	uint64_t more = state->more_count - timeline->more_count, i;

	timeline->last = more ? NULL : timeline->last;
	timeline->more_count = state->more_count;
	if (more > STATE_RETIRED) {
		retire_unlisted(timeline, state);
		return;
	}
	for (i = state->more_count - more; i < state->more_count; i++) {
		const uint64_t *series =
			map_get(&timeline->by_identity, state->retired[i % STATE_RETIRED]);

		if (series)
			series_retire(timeline, (struct timeline_series *)(uintptr_t)*series);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct timeline_series *series_new(struct timeline *timeline, const struct process *process,
					  size_t bucket)
{
	struct timeline_series *series;
	uint64_t **values[VALUES];
	size_t i;

	if (memory_grow(&timeline->series, &timeline->capacity, timeline->count + 1,
			sizeof(*timeline->series)))
		return NULL;
	series = take_memory(timeline, sizeof(*series));
	if (!series)
		return NULL;
	series->pid = process->pid;
	series->start_ns = process->start_ns;
	values_of(series, values);
	for (i = 0; i < VALUES; i++)
		*values[i] = zeros;
	if (map_set(&timeline->by_identity, event_process_key(series->pid, series->start_ns),
		    (uintptr_t)series)) {
		give_memory(timeline, series, sizeof(*series));
		return NULL;
	}
	series->place = timeline->count;
	timeline->series[timeline->count++] = series;
	levels_set(timeline, series, process, bucket);
	return series;
}

static struct timeline_series *series_of(struct timeline *timeline, const struct state *state,
					 const struct process *process, size_t bucket)
{
	struct timeline_series *series = timeline->last;

	if (series && series->pid == process->pid && series->start_ns == process->start_ns)
		return series;
	retire(timeline, state);
	series = series_find(timeline, process->pid, process->start_ns);
	if (!series)
		series = series_new(timeline, process, bucket);
	timeline->last = series;
	timeline->incomplete |= !series;
	return series;
}

static void add_copy(struct timeline *timeline, struct timeline_series *series, size_t bucket,
		     const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;
	size_t direction =
		call->known & MS_KNOWN_DIRECTION ? change->direction : MS_DIRECTIONS_COUNT;
	struct timeline_copies *copies = series->copies[direction];

	if (!copies) {
		copies = series->copies[direction] = take_memory(timeline, sizeof(*copies));
		if (!copies)
			return;
	}
	copies->count[bucket] += event->count;
	copies->bytes[bucket] += call->size;
	if (!event_is_synchronous(event) || !(call->known & MS_KNOWN_SIZE) || !call->duration_ns)
		return;
	copies->timed_bytes[bucket] += call->size;
	copies->timed_ns[bucket] += call->duration_ns;
}

static void add_value(struct timeline *timeline, uint64_t **values, size_t bucket, uint64_t value)
{
	uint64_t *own;

	if (*values == zeros) {
		own = take_memory(timeline, sizeof(zeros));
		if (!own)
			return;
		*values = own;
	}
	(*values)[bucket] += value;
}

/* Over all buckets in which the call waited. What was only counted is added where it was. */
static void add_blocked(struct timeline *timeline, struct timeline_series *series, size_t bucket,
			const struct event *event)
{
	uint64_t rest = event->call->duration_ns, end_ns = event->header->ts_ns + rest, inside;

	if (event->header->type == MS_TYPE_CALLS || end_ns <= timeline->begin_ns) {
		add_value(timeline, &series->blocked_ns, bucket, rest);
		return;
	}
	for (;; bucket--) {
		inside = end_ns - timeline->begin_ns - bucket * timeline->width_ns;
		if (!bucket || rest <= inside)
			break;
		add_value(timeline, &series->blocked_ns, bucket, inside);
		rest -= inside;
		end_ns -= inside;
	}
	/* What it waited before the beginning is of no bucket. */
	add_value(timeline, &series->blocked_ns, bucket, rest < inside ? rest : inside);
}

static void add_call(struct timeline *timeline, struct timeline_series *series, size_t bucket,
		     const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;

	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return;
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		add_value(timeline, &series->allocs, bucket, 1);
		add_value(timeline, &series->alloc_bytes, bucket, call->size);
		break;
	case MS_OP_FREE:
		add_value(timeline, &series->frees, bucket, 1);
		break;
	case MS_OP_COPY:
		add_copy(timeline, series, bucket, event, change);
		break;
	case MS_OP_SYNC:
		add_blocked(timeline, series, bucket, event);
		break;
	case MS_OP_LAUNCH:
		add_value(timeline, &series->launches, bucket, event->count);
		break;
	}
}

void timeline_event(struct timeline *timeline, const struct state *state, const struct event *event,
		    const struct change *change)
{
	const size_t bucket = bucket_of(timeline, event_end_ns(event));
	struct timeline_series *series = series_of(timeline, state, change->process, bucket);
	uint32_t op;

	if (!series)
		return;
	if (!event->call) {
		levels_set_peaks(timeline, series, change->process, bucket, event->header->ts_ns);
		levels_set(timeline, series, change->process, bucket);
		return;
	}
	op = event->probe->spec.op;
	if (op == MS_OP_ALLOC || op == MS_OP_FREE || op == MS_OP_CONTEXT ||
	    event->probe->spec.action == MS_ACTION_GRAPH_LAUNCH)
		levels_set(timeline, series, change->process, bucket);
	add_call(timeline, series, bucket, event, change);
}

void timeline_lost(struct timeline *timeline, uint64_t ts_ns, uint64_t count)
{
	if (count)
		timeline->lost[bucket_of(timeline, ts_ns)] += count;
}

void timeline_state(struct timeline *timeline, const struct state *state, uint64_t ts_ns)
{
	size_t bucket = bucket_of(timeline, ts_ns), i;

	timeline->last = NULL;
	timeline->more_count = state->more_count;
	retire_unlisted(timeline, state);
	for (i = 0; i < state->processes_count; i++) {
		struct timeline_series *series =
			series_of(timeline, state, state->processes[i], bucket);

		if (series)
			levels_set(timeline, series, state->processes[i], bucket);
	}
}

void timeline_finish(struct timeline *timeline, const struct state *state, uint64_t ts_ns)
{
	size_t bucket = bucket_of(timeline, ts_ns), i, space;

	timeline_state(timeline, state, ts_ns);
	for (i = 0; i < timeline->count + 1; i++) {
		struct timeline_series *series =
			i < timeline->count ? timeline->series[i] : timeline->more;

		for (space = 0; series && space < MS_SPACES_COUNT; space++)
			if (series->levels[space])
				level_fill(series->levels[space], bucket);
	}
}
