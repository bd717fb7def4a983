// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/process.h"

#define BASE 0x9e3779b97f4a7c15ull

/* ---- launches -------------------------------------------------------------------------------- */

static struct steps_thread *thread_of(struct steps *steps, const struct event *event,
				      const struct change *change)
{
	const struct ms_event *header = event->header;
	struct steps_thread *thread;
	size_t i;

	for (i = 0; i < steps->count; i++)
		if (steps->threads[i].tid == header->tid && steps->threads[i].pid == header->pid &&
		    steps->threads[i].start_ns == header->start_ns)
			return &steps->threads[i];
	if (steps->count == STEPS_THREADS)
		return NULL;
	if (memory_grow(&steps->threads, &steps->capacity, steps->count + 1,
			sizeof(*steps->threads))) {
		steps->incomplete = true;
		return NULL;
	}
	thread = &steps->threads[steps->count++];
	*thread = (struct steps_thread){ .pid = header->pid,
					 .tid = header->tid,
					 .start_ns = header->start_ns };
	memcpy(thread->comm, change->process->comm, sizeof(thread->comm));
	return thread;
}

static uint64_t power(uint64_t exponent)
{
	uint64_t result = 1, base = BASE;

	for (; exponent; exponent >>= 1, base *= base)
		if (exponent & 1)
			result *= base;
	return result;
}

/* NULL: it found no place. */
static struct step_series *series_of(struct steps *steps, struct steps_thread *thread,
				     const struct event *event, const struct change *change)
{
	const uint64_t handle = event->call->addr;
	const uint64_t *place = map_get(&thread->places, handle);
	struct step_series *series;

	if (place)
		return &thread->series[*place];
	if (thread->count == STEPS_KERNELS)
		return NULL;
	if (memory_grow(&thread->series, &thread->capacity, thread->count + 1,
			sizeof(*thread->series)) ||
	    map_set(&thread->places, handle, thread->count)) {
		steps->incomplete = true;
		return NULL;
	}
	series = &thread->series[thread->count++];
	*series = (struct step_series){ .handle = handle,
					.first_launch = thread->launches,
					.first_ns = event_begin_ns(event) };
	series->kernel = change->kernel ? strdup(change->kernel) : NULL;
	steps->incomplete |= change->kernel && !series->kernel;
	return series;
}

/* From now on, another sequence is the usual one: what was before is no part of the loop. */
static void start_over(struct step_series *series, uint64_t sequence)
{
	free(series->time.values);
	free(series->held.values);
	series->time = series->held = (struct phase_values){ 0 };
	series->count = series->equal = series->equal_launches = 0;
	series->first_launch = series->last_launch;
	series->first_ns = series->last_ns;
	series->usual = sequence;
}

/* One that recurs becomes the usual one if it has more launches, in a row, than that had so far. */
static void choose_usual(struct step_series *series, uint64_t sequence, uint64_t launches)
{
	const bool recurs = sequence == series->previous && sequence != series->usual;

	series->run_launches = recurs ? series->run_launches + launches : 0;
	if (series->run_launches > series->equal_launches)
		start_over(series, sequence);
	series->previous = sequence;
}

/* The sequence since the last launch of this kernel is over, and the next one begins. */
static void recur(struct step_series *series, const struct steps_thread *thread, uint64_t now_ns,
		  int64_t held)
{
	const uint64_t launches = thread->launches - series->last_launch;
	const uint64_t sequence = thread->hash - series->last_hash * power(launches);

	if (series->last_ns) {
		choose_usual(series, sequence, launches);
		series->count++;
		if (sequence == series->usual) {
			series->equal++;
			series->equal_launches += launches;
			phase_add(&series->time, (int64_t)(now_ns - series->last_ns));
			phase_add(&series->held, held - series->last_held);
		}
	}
	series->last_launch = thread->launches;
	series->last_hash = thread->hash;
	series->last_ns = now_ns;
	series->last_held = held;
}

void steps_event(struct steps *steps, const struct event *event, const struct change *change)
{
	struct step_series *series;
	struct steps_thread *thread;

	if (!event->call || event->probe->spec.op != MS_OP_LAUNCH ||
	    event->header->type == MS_TYPE_CALLS || !event_succeeded(event->call) ||
	    event->call->flags & (MS_CALL_NESTED | MS_CALL_PART))
		return;
	thread = thread_of(steps, event, change);
	if (!thread)
		return;
	series = series_of(steps, thread, event, change);
	if (series)
		recur(series, thread, event_begin_ns(event),
		      (int64_t)process_held_bytes(change->process));
	thread->hash = thread->hash * BASE + ((event->call->addr + 1) * BASE ^ event->call->row);
	thread->launches++;
}

void steps_gap(struct steps *steps)
{
	size_t i, j;

	for (i = 0; i < steps->count; i++)
		for (j = 0; j < steps->threads[i].count; j++)
			steps->threads[i].series[j].last_ns = 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/*
 * Which part of the loop lies in equal sequences, in percent: of its launches or of its time, which
 * is less. Layers, or an optimizer's parameters, can have most of the launches, but a step has more
 * than them: what other threads launch meanwhile, waiting, input.
 */
static double share_of(const struct step_series *series)
{
	const double launches = (double)(series->last_launch - series->first_launch);
	const double ns = (double)(series->last_ns - series->first_ns);
	const double of_launches = (double)series->equal_launches * 100 / launches;
	const double of_time = (double)series->time.total * 100 / ns;

	return of_launches < of_time ? of_launches : of_time;
}

static bool is_loop(const struct steps_thread *thread, const struct step_series *series)
{
	return series->equal >= STEPS_LEAST && series->last_ns > series->first_ns &&
	       series->equal_launches >= series->equal * STEPS_LENGTH &&
	       share_of(series) >= STEPS_SHARE &&
	       (series->last_launch - series->first_launch) * 100 >= thread->launches * STEPS_PART;
}

/* What happens in every tenth step makes a loop of ten steps, so the shorter one is the step. */
static bool is_better(const struct step_series *a, const struct step_series *b)
{
	return a->equal > b->equal || (a->equal == b->equal && share_of(a) > share_of(b));
}

/* The shortest loop of those that leave nearly as little out as the best one. */
static void find_step(struct steps_thread *thread)
{
	double most = 0;
	size_t i;

	for (i = 0; i < thread->count; i++)
		if (is_loop(thread, &thread->series[i]) && share_of(&thread->series[i]) > most)
			most = share_of(&thread->series[i]);
	for (i = 0; i < thread->count; i++) {
		const struct step_series *series = &thread->series[i];

		if (is_loop(thread, series) && share_of(series) + STEPS_NEAR >= most &&
		    (!thread->step || is_better(series, thread->step)))
			thread->step = series;
	}
}

static bool is_same_process(const struct steps_thread *a, const struct steps_thread *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

static void keep_one(struct steps *steps, size_t of)
{
	struct steps_thread *thread = &steps->threads[of];
	size_t i;

	for (i = 0; i < of && thread->step; i++) {
		struct steps_thread *other = &steps->threads[i];

		if (!other->step || !is_same_process(other, thread))
			continue;
		if (other->step->equal_launches < thread->step->equal_launches)
			other->step = NULL;
		else
			thread->step = NULL;
	}
}

static bool has_phases(const struct phases *phases, const struct steps_thread *thread)
{
	size_t i;

	for (i = 0; i < phases->count; i++)
		if (phases->phases[i]->pid == thread->pid &&
		    phases->phases[i]->start_ns == thread->start_ns)
			return true;
	return false;
}

void steps_finish(struct steps *steps, const struct phases *phases)
{
	size_t i, j;

	for (i = 0; i < steps->count; i++) {
		for (j = 0; j < steps->threads[i].count; j++) {
			phase_finish_values(&steps->threads[i].series[j].time);
			phase_finish_values(&steps->threads[i].series[j].held);
		}
		if (!has_phases(phases, &steps->threads[i]))
			find_step(&steps->threads[i]);
		keep_one(steps, i);
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

void steps_fini(struct steps *steps)
{
	size_t i, j;

	for (i = 0; i < steps->count; i++) {
		struct steps_thread *thread = &steps->threads[i];

		for (j = 0; j < thread->count; j++) {
			free(thread->series[j].kernel);
			free(thread->series[j].time.values);
			free(thread->series[j].held.values);
		}
		free(thread->series);
		map_fini(&thread->places);
	}
	free(steps->threads);
	*steps = (struct steps){ 0 };
}

size_t steps_bytes(const struct steps *steps)
{
	size_t bytes = steps->capacity * sizeof(*steps->threads), i, j;

	for (i = 0; i < steps->count; i++) {
		const struct steps_thread *thread = &steps->threads[i];

		bytes += map_bytes(&thread->places) + thread->capacity * sizeof(*thread->series);
		for (j = 0; j < thread->count; j++)
			bytes += (thread->series[j].time.capacity +
				  thread->series[j].held.capacity) *
				 sizeof(int64_t);
	}
	return bytes;
}
