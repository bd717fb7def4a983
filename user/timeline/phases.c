// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/phases.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "ledger/process.h"

/* One that goes on. */
struct open_phase {
	struct phase *phase;
	uint64_t begin_ns;
	uint64_t held_bytes, peak_bytes;
	struct phase_sums before; /* the thread's or the process's sums at its beginning */
	uint64_t domain, sp;      /* as the marker said them */
	uint64_t id;    /* of a range; 0: not known yet, or the program's tool says none */
	uint32_t tid;   /* that has begun it */
	bool is_named;  /* of a range: its number is known */
	uint8_t source; /* enum ms_marker_source */
};

struct open_thread {
	uint32_t tid;
	struct phase_sums sums;  /* since its first marker */
	struct open_phase *open; /* the innermost is the last */
	size_t count, capacity;
	uint64_t deeper; /* that found no place, and whose ends are still to come */
};

struct phases_process {
	uint32_t pid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];
	struct phase_sums sums; /* since its first marker */
	uint64_t held_bytes;
	struct map places; /* tid -> position in `threads` */
	struct open_thread **threads;
	size_t threads_count, threads_capacity;
	struct open_phase *ranges;
	size_t ranges_count, ranges_capacity;
	size_t phases; /* different ones */
	struct phase *others;
};

/* ---- phases by name -------------------------------------------------------------------------- */

static const char *name_of(const struct ms_marker *marker)
{
	return marker->length ? marker->name : NULL;
}

static uint64_t hash_of(const struct phases_process *process, const struct phase *parent,
			const struct ms_marker *marker, enum phase_kind kind)
{
	const uint64_t place = parent ? (uintptr_t)parent : (uintptr_t)process;
	const uint64_t secret = map_hash(map_secret(), place) ^ marker->domain ^ kind;

	return string_hash(secret, marker->name, marker->length);
}

static bool is_phase(const struct phase *phase, const struct phases_process *process,
		     const struct phase *parent, const struct ms_marker *marker,
		     enum phase_kind kind)
{
	const char *name = name_of(marker);

	return phase->parent == parent && phase->pid == process->pid &&
	       phase->start_ns == process->start_ns && phase->kind == kind &&
	       phase->domain == marker->domain && !phase->name == !name &&
	       (!name || !strcmp(phase->name, name));
}

/* Puts it into the list and, by its hash, into the map. NULL without memory. */
static struct phase *add(struct phases *phases, struct phases_process *process,
			 const struct phase *parent, enum phase_kind kind, uint64_t hash)
{
	const uint64_t *first = map_get(&phases->by_hash, hash);
	struct phase *phase = calloc(1, sizeof(*phase));

	if (!phase || memory_grow(&phases->phases, &phases->capacity, phases->count + 1,
				  sizeof(*phases->phases))) {
		free(phase);
		return NULL;
	}
	phase->parent = parent;
	phase->depth = parent ? parent->depth + 1 : 0;
	phase->pid = process->pid;
	phase->start_ns = process->start_ns;
	memcpy(phase->comm, process->comm, sizeof(phase->comm));
	phase->kind = kind;
	phase->hash = hash;
	phase->next = first ? (struct phase *)(uintptr_t)*first : NULL;
	if (kind != PHASE_OTHERS && map_set(&phases->by_hash, hash, (uintptr_t)phase)) {
		free(phase);
		return NULL;
	}
	phase->number = phases->count;
	phases->phases[phases->count++] = phase;
	return phase;
}

static struct phase *others_of(struct phases *phases, struct phases_process *process)
{
	if (!process->others)
		process->others = add(phases, process, NULL, PHASE_OTHERS, 0);
	phases->incomplete |= !process->others;
	return process->others;
}

/* NULL: there is no memory for it. */
static struct phase *phase_of(struct phases *phases, struct phases_process *process,
			      const struct phase *parent, const struct ms_marker *marker,
			      enum phase_kind kind)
{
	uint64_t hash, *first;
	struct phase *phase;

	if (parent && parent->kind == PHASE_OTHERS)
		return process->others;
	hash = hash_of(process, parent, marker, kind);
	first = map_get(&phases->by_hash, hash);
	for (phase = first ? (struct phase *)(uintptr_t)*first : NULL; phase; phase = phase->next)
		if (is_phase(phase, process, parent, marker, kind))
			return phase;
	if (process->phases >= PHASES_OF_PROCESS || phases->count >= PHASES_MOST)
		return others_of(phases, process);
	phase = add(phases, process, parent, kind, hash);
	if (!phase) {
		phases->incomplete = true;
		return NULL;
	}
	process->phases++;
	phase->first_ns = marker->event.ts_ns;
	phase->source = marker->source;
	phase->domain = marker->domain;
	phase->name_is_cut = marker->flags & MS_MARKER_CUT;
	phase->name = name_of(marker) ? strdup(marker->name) : NULL;
	phases->incomplete |= name_of(marker) && !phase->name;
	return phase;
}

/* ---- processes and threads ------------------------------------------------------------------- */

static struct phases_process *find_process(const struct phases *phases,
					   const struct ms_event *event)
{
	const uint64_t *found =
		map_get(&phases->by_process, event_process_key(event->pid, event->start_ns));

	return found ? (struct phases_process *)(uintptr_t)*found : NULL;
}

static struct phases_process *process_of(struct phases *phases, const struct ms_event *event,
					 const struct process *of)
{
	struct phases_process *process = find_process(phases, event);

	if (process)
		return process;
	if (phases->processes_count >= PHASES_PROCESSES) {
		phases->dropped++;
		return NULL;
	}
	process = calloc(1, sizeof(*process));
	if (!process ||
	    memory_grow(&phases->processes, &phases->processes_capacity,
			phases->processes_count + 1, sizeof(*phases->processes)) ||
	    map_set(&phases->by_process, event_process_key(event->pid, event->start_ns),
		    (uintptr_t)process)) {
		phases->incomplete = true;
		free(process);
		return NULL;
	}
	process->pid = event->pid;
	process->start_ns = event->start_ns;
	memcpy(process->comm, of->comm, sizeof(process->comm));
	process->held_bytes = process_held_bytes(of);
	phases->processes[phases->processes_count++] = process;
	return process;
}

static struct open_thread *find_thread(const struct phases_process *process, uint32_t tid)
{
	const uint64_t *place = map_get(&process->places, tid);

	return place ? process->threads[*place] : NULL;
}

static struct open_thread *thread_of(struct phases *phases, struct phases_process *process,
				     uint32_t tid)
{
	struct open_thread *thread = find_thread(process, tid);

	if (thread)
		return thread;
	if (process->threads_count >= PHASES_THREADS) {
		phases->dropped++;
		return NULL;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread ||
	    memory_grow(&process->threads, &process->threads_capacity, process->threads_count + 1,
			sizeof(*process->threads)) ||
	    map_set(&process->places, tid, process->threads_count)) {
		phases->incomplete = true;
		free(thread);
		return NULL;
	}
	thread->tid = tid;
	process->threads[process->threads_count++] = thread;
	return thread;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static void finish_open(const struct phases *phases, const struct phases_process *process,
			const struct open_phase *open, const struct phase_sums *now, uint64_t ts_ns,
			bool ended)
{
	phase_take(open->phase,
		   &(struct phase_time){ open->begin_ns, ts_ns, open->held_bytes,
					 process->held_bytes, open->peak_bytes, ended });
	phase_sums_add_since(&open->phase->sums, now, &open->before);
	if (phases->ended)
		phases->ended(phases->context, open->phase, open->tid, open->begin_ns, ts_ns);
}

static struct open_phase begin_of(const struct phases_process *process, struct phase *phase,
				  const struct ms_marker *marker, const struct phase_sums *now)
{
	return (struct open_phase){ .phase = phase,
				    .begin_ns = marker->event.ts_ns,
				    .held_bytes = process->held_bytes,
				    .peak_bytes = process->held_bytes,
				    .before = *now,
				    .domain = marker->domain,
				    .sp = marker->sp,
				    .id = marker->id,
				    .is_named = marker->id,
				    .source = marker->source,
				    .tid = marker->event.tid };
}

/* What the process held in it, it held in what is around it, too. */
static void remove_open(struct open_thread *thread, size_t place)
{
	struct open_phase *open = thread->open;

	if (place && open[place].peak_bytes > open[place - 1].peak_bytes)
		open[place - 1].peak_bytes = open[place].peak_bytes;
	thread->count--;
	memmove(&open[place], &open[place + 1], (thread->count - place) * sizeof(*open));
}

/* Calls that lie below one that is entered, or returns, have been left. */
static void leave_below(struct phases *phases, struct open_thread *thread, uint64_t sp,
			bool with_equal)
{
	const struct open_phase *last;

	while (sp && thread->count) {
		last = &thread->open[thread->count - 1];
		if (!last->sp || last->sp > sp || (last->sp == sp && !with_equal))
			return;
		phases->left++;
		remove_open(thread, thread->count - 1);
	}
}

static void push(struct phases *phases, struct phases_process *process,
		 const struct ms_marker *marker)
{
	struct open_thread *thread = thread_of(phases, process, marker->event.tid);
	const struct phase *parent;
	struct phase *phase;

	if (!thread)
		return;
	leave_below(phases, thread, marker->sp, true);
	if (thread->count >= PHASES_DEPTH) {
		phases->dropped++;
		thread->deeper += !marker->sp;
		return;
	}
	parent = thread->count ? thread->open[thread->count - 1].phase : NULL;
	phase = phase_of(phases, process, parent, marker, PHASE_THREAD);
	if (!phase || memory_grow(&thread->open, &thread->capacity, thread->count + 1,
				  sizeof(*thread->open))) {
		phases->incomplete = true;
		thread->deeper += !marker->sp;
		return;
	}
	thread->open[thread->count++] = begin_of(process, phase, marker, &thread->sums);
}

/* The innermost of the domain; of functions, the one that was entered there. */
static void pop(struct phases *phases, struct phases_process *process,
		const struct ms_marker *marker)
{
	struct open_thread *thread = find_thread(process, marker->event.tid);
	size_t i = thread ? thread->count : 0;

	if (thread && marker->sp) {
		leave_below(phases, thread, marker->sp, false);
		i = thread->count;
	} else if (thread && thread->deeper) {
		thread->deeper--;
		return;
	}
	while (i--) {
		const struct open_phase *open = &thread->open[i];

		if (open->sp != marker->sp || open->domain != marker->domain ||
		    open->source != marker->source)
			continue;
		finish_open(phases, process, open, &thread->sums, marker->event.ts_ns, true);
		remove_open(thread, i);
		return;
	}
	phases->unmatched++;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void start(struct phases *phases, struct phases_process *process,
		  const struct ms_marker *marker)
{
	struct phase *phase;

	if (process->ranges_count >= PHASES_RANGES) {
		phases->dropped++;
		return;
	}
	phase = phase_of(phases, process, NULL, marker, PHASE_RANGE);
	if (!phase || memory_grow(&process->ranges, &process->ranges_capacity,
				  process->ranges_count + 1, sizeof(*process->ranges))) {
		phases->incomplete = true;
		return;
	}
	process->ranges[process->ranges_count++] = begin_of(process, phase, marker, &process->sums);
}

/* What the thread has started last and has no number yet. */
static void started(struct phases_process *process, const struct ms_marker *marker)
{
	size_t i = process->ranges_count;

	while (i--) {
		struct open_phase *range = &process->ranges[i];

		if (range->tid != marker->event.tid || range->is_named)
			continue;
		range->id = marker->id;
		range->is_named = true;
		return;
	}
}

/*
 * By its number. Without a tool in the program NVTX gives none: all have the same then, and it is
 * the last one that the thread has started or, if there is none, that any has.
 */
static void end(struct phases *phases, struct phases_process *process,
		const struct ms_marker *marker)
{
	size_t i = process->ranges_count, found = SIZE_MAX, several = 0;

	while (i--) {
		const struct open_phase *range = &process->ranges[i];

		if (!range->is_named || range->id != marker->id)
			continue;
		several++;
		if (found == SIZE_MAX || (range->tid == marker->event.tid &&
					  process->ranges[found].tid != marker->event.tid))
			found = i;
	}
	if (found == SIZE_MAX) {
		phases->unmatched++;
		return;
	}
	phases->ambiguous += several > 1;
	finish_open(phases, process, &process->ranges[found], &process->sums, marker->event.ts_ns,
		    true);
	process->ranges_count--;
	memmove(&process->ranges[found], &process->ranges[found + 1],
		(process->ranges_count - found) * sizeof(*process->ranges));
}

static void instant(struct phases *phases, struct phases_process *process,
		    const struct ms_marker *marker)
{
	const struct open_thread *thread = find_thread(process, marker->event.tid);
	const struct phase *parent =
		thread && thread->count ? thread->open[thread->count - 1].phase : NULL;
	struct phase *phase = phase_of(phases, process, parent, marker, PHASE_INSTANT);

	if (!phase)
		return;
	phase_take_instant(phase, marker->event.ts_ns);
	if (phases->ended)
		phases->ended(phases->context, phase, marker->event.tid, marker->event.ts_ns,
			      marker->event.ts_ns);
}

static void take_marker(struct phases *phases, const struct ms_marker *marker,
			const struct change *change)
{
	struct phases_process *process = process_of(phases, &marker->event, change->process);

	phases->markers++;
	if (!process)
		return;
	process->held_bytes = process_held_bytes(change->process);
	switch ((enum ms_marker_action)marker->action) {
	case MS_MARKER_PUSH:
		push(phases, process, marker);
		return;
	case MS_MARKER_POP:
		pop(phases, process, marker);
		return;
	case MS_MARKER_START:
		start(phases, process, marker);
		return;
	case MS_MARKER_STARTED:
		started(process, marker);
		return;
	case MS_MARKER_END:
		end(phases, process, marker);
		return;
	case MS_MARKER_INSTANT:
		instant(phases, process, marker);
		return;
	case MS_MARKER_ACTIONS_COUNT:
		return;
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void raise_peaks(struct phases_process *process)
{
	size_t i;

	for (i = 0; i < process->threads_count; i++) {
		struct open_thread *thread = process->threads[i];
		const size_t count = thread->count;

		if (count && process->held_bytes > thread->open[count - 1].peak_bytes)
			thread->open[count - 1].peak_bytes = process->held_bytes;
	}
	for (i = 0; i < process->ranges_count; i++)
		if (process->held_bytes > process->ranges[i].peak_bytes)
			process->ranges[i].peak_bytes = process->held_bytes;
}

static void take_call(struct phases *phases, const struct event *event, const struct change *change)
{
	struct phases_process *process = find_process(phases, event->header);
	struct open_thread *thread;
	uint64_t held;

	if (!process)
		return;
	held = process_held_bytes(change->process);
	/* A sum is the call of no thread. */
	thread = event->header->type == MS_TYPE_CALLS ? NULL :
							find_thread(process, event->header->tid);
	phase_sums_call(&process->sums, event, change);
	if (thread)
		phase_sums_call(&thread->sums, event, change);
	if (held > process->held_bytes) {
		process->held_bytes = held;
		raise_peaks(process);
	}
	process->held_bytes = held;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void end_all(const struct phases *phases, struct phases_process *process, uint64_t ts_ns)
{
	size_t i;

	for (i = 0; i < process->threads_count; i++) {
		struct open_thread *thread = process->threads[i];

		while (thread->count) {
			finish_open(phases, process, &thread->open[thread->count - 1],
				    &thread->sums, ts_ns, false);
			remove_open(thread, thread->count - 1);
		}
	}
	while (process->ranges_count)
		finish_open(phases, process, &process->ranges[--process->ranges_count],
			    &process->sums, ts_ns, false);
}

/* Threads that were there are not any more, and their numbers can come back. */
static void forget_threads(struct phases_process *process)
{
	while (process->threads_count) {
		struct open_thread *thread = process->threads[--process->threads_count];

		free(thread->open);
		free(thread);
	}
	map_fini(&process->places);
}

/* What it held goes with it: that is not what its phases gave back. */
static void take_process(struct phases *phases, const struct event *event)
{
	struct phases_process *process = find_process(phases, event->header);

	if (!process ||
	    (event->header->type != MS_TYPE_EXIT && event->header->type != MS_TYPE_EXEC))
		return;
	end_all(phases, process, event->header->ts_ns);
	forget_threads(process);
	process->held_bytes = 0;
}

void phases_event(struct phases *phases, const struct event *event, const struct change *change)
{
	if (event->header->type == MS_TYPE_MARKER)
		take_marker(phases, (const struct ms_marker *)event->sample, change);
	else if (!phases->processes_count)
		return; /* as in most recordings */
	else if (event->call)
		take_call(phases, event, change);
	else if (event->process)
		take_process(phases, event);
}

void phases_gap(struct phases *phases)
{
	size_t i, j;

	for (i = 0; i < phases->processes_count; i++) {
		struct phases_process *process = phases->processes[i];

		for (j = 0; j < process->threads_count; j++)
			phases->left += process->threads[j]->count;
		phases->left += process->ranges_count;
		process->ranges_count = 0;
		forget_threads(process);
	}
}

void phases_finish(struct phases *phases, uint64_t ts_ns)
{
	size_t i;

	for (i = 0; i < phases->processes_count; i++)
		end_all(phases, phases->processes[i], ts_ns);
	for (i = 0; i < phases->count; i++)
		phase_finish(phases->phases[i]);
	if (phases->count)
		qsort(phases->phases, phases->count, sizeof(*phases->phases), phase_by_place);
}

void phases_fini(struct phases *phases)
{
	while (phases->processes_count) {
		struct phases_process *process = phases->processes[--phases->processes_count];

		forget_threads(process);
		free(process->threads);
		free(process->ranges);
		free(process);
	}
	free(phases->processes);
	while (phases->count)
		phase_free(phases->phases[--phases->count]);
	free(phases->phases);
	map_fini(&phases->by_hash);
	map_fini(&phases->by_process);
	*phases = (struct phases){ 0 };
}

size_t phases_bytes(const struct phases *phases)
{
	size_t bytes = map_bytes(&phases->by_hash) + map_bytes(&phases->by_process), i, j;

	for (i = 0; i < phases->count; i++)
		bytes += phase_bytes(phases->phases[i]);
	for (i = 0; i < phases->processes_count; i++) {
		const struct phases_process *process = phases->processes[i];

		bytes += sizeof(*process) + map_bytes(&process->places) +
			 process->ranges_capacity * sizeof(*process->ranges);
		for (j = 0; j < process->threads_count; j++)
			bytes += sizeof(struct open_thread) +
				 process->threads[j]->capacity * sizeof(struct open_phase);
	}
	return bytes;
}
