// SPDX-License-Identifier: BSD-2-Clause
#include "export/traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/device_tracks.h"
#include "export/gpu_lanes.h"
#include "export/marker_lanes.h"
#include "export/slices.h"
#include "render/record_field.h"

/* Those of one process at a time: with more, all are written and forgotten. */
#define THREADS_MAX 65536

/* ---- processes and threads ------------------------------------------------------------------- */

static void free_threads(struct traces *traces, struct traces_process *process)
{
	size_t i;

	for (i = 0; i < process->threads.capacity; i++) {
		if (map_is_used(&process->threads, i))
			slices_free(traces, (void *)(uintptr_t)process->threads.slots[i].value);
	}
	map_fini(&process->threads);
}

/* Each that the map has, in an order that is the same in every run. */
static void each(struct traces *traces, const struct map *map,
		 void (*visit)(struct traces *traces, void *value))
{
	struct map_pair *sorted = map_sorted(map);
	size_t i;

	if (map->count && !sorted)
		traces->err = -ENOMEM;
	for (i = 0; sorted && i < map->count; i++)
		visit(traces, (void *)(uintptr_t)sorted[i].value);
	free(sorted);
}

static void end_thread(struct traces *traces, void *thread)
{
	slices_end(traces, thread);
}

static void end_threads(struct traces *traces, struct traces_process *process)
{
	each(traces, &process->threads, end_thread);
}

static void free_process(struct traces *traces, struct traces_process *process)
{
	free_threads(traces, process);
	gpu_lanes_free(traces, process);
	marker_lanes_free(traces, process);
	free(process);
}

/* The pid may have been another process's before, or of another host. */
static uint64_t viewer_pid(struct traces *traces, uint32_t pid)
{
	uint64_t chosen = pid;

	if (traces->recordings > 1 || map_get(&traces->pids, pid))
		chosen = traces->next_viewer_pid++;
	else if (map_set(&traces->pids, pid, 1))
		traces->err = -ENOMEM;
	return chosen;
}

static struct traces_process *process_new(struct traces *traces, const struct process *process,
					  uint64_t key)
{
	struct traces_process *made = calloc(1, sizeof(*made));

	if (!made || map_set(&traces->processes, key, (uintptr_t)made)) {
		free(made);
		traces->err = -ENOMEM;
		return NULL;
	}
	made->id = traces->next_id;
	traces->next_id += TRACES_PER_PROCESS;
	made->key = key;
	made->pid = process->pid;
	made->start_ns = process->start_ns;
	made->viewer_pid = viewer_pid(traces, process->pid);
	memcpy(made->name, process->name, sizeof(made->name));
	traces->format->process(traces, made);
	return made;
}

/* NULL without memory. */
static struct traces_process *process_of(struct traces *traces, const struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *found;

	if (!traces->last || traces->last->key != key) {
		found = map_get(&traces->processes, key);
		traces->last = found ? (struct traces_process *)(uintptr_t)*found :
				       process_new(traces, process, key);
	}
	if (traces->last && strcmp(traces->last->name, process->name) != 0) {
		memcpy(traces->last->name, process->name, sizeof(traces->last->name));
		traces->format->process(traces, traces->last);
	}
	if (traces->last)
		traces->last->has_gpu = process->gpu;
	return traces->last;
}

static struct traces_thread *thread_of(struct traces *traces, struct traces_process *process,
				       uint32_t tid)
{
	const uint64_t *found = map_get(&process->threads, tid);
	struct traces_thread *thread;

	if (found)
		return (struct traces_thread *)(uintptr_t)*found;
	if (process->threads.count >= THREADS_MAX) {
		end_threads(traces, process);
		free_threads(traces, process);
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread || map_set(&process->threads, tid, (uintptr_t)thread)) {
		free(thread);
		traces->err = -ENOMEM;
		return NULL;
	}
	thread->id = traces->next_id++;
	thread->process = process;
	thread->tid = tid;
	traces->format->thread(traces, thread);
	return thread;
}

/* ---- counters -------------------------------------------------------------------------------- */

void traces_count(struct traces *traces, const struct traces_counter *counter, uint64_t ts_ns,
		  uint64_t value)
{
	const uint64_t *before = map_get(&traces->counted_ns, counter->id);

	if (before && ts_ns < *before)
		ts_ns = *before;
	else if (map_set(&traces->counted_ns, counter->id, ts_ns))
		traces->err = -ENOMEM;
	traces->format->counter(traces, counter, ts_ns, value);
}

static void tell_live(struct traces *traces, struct traces_process *shown, uint32_t space,
		      uint64_t ts_ns, uint64_t bytes)
{
	char name[64];
	struct traces_counter counter = { .id = shown->id + TRACES_OF_LIVE + space,
					  .process = shown,
					  .name = name,
					  .is_bytes = true };

	snprintf(name, sizeof(name), "live %s", probe_space_name(space));
	counter.is_new = !(shown->shown >> space & 1);
	shown->shown |= 1u << space;
	traces_count(traces, &counter, ts_ns, bytes);
}

/*
 * Those that have changed by what happened from `from_ns` to `ts_ns`. A late call of a process that
 * has exited brings nothing back.
 */
static void look_at_process(struct traces *traces, struct traces_process *shown,
			    const struct process *process, uint64_t from_ns, uint64_t ts_ns)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		const uint64_t live = process->exited ? 0 : process->spaces[space].live_bytes;

		/* The launch of a graph allocates and frees at once: the peak is in between. */
		if (shown->peaks[space] < process->spaces[space].peak_bytes) {
			shown->peaks[space] = process->spaces[space].peak_bytes;
			if (shown->peaks[space] > live && !process->exited) {
				shown->live[space] = shown->peaks[space];
				tell_live(traces, shown, space, from_ns, shown->live[space]);
			}
		}
		if (shown->live[space] == live)
			continue;
		shown->live[space] = live;
		tell_live(traces, shown, space, ts_ns, live);
	}
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void note_time(struct traces *traces, uint64_t ts_ns)
{
	if (traces->newest_ns < ts_ns)
		traces->newest_ns = ts_ns;
}

static int finish_step(struct traces *traces)
{
	return traces->err ? traces->err : writer_flush_large(traces->writer);
}

static void forget_processes(struct traces *traces)
{
	size_t i;

	for (i = 0; i < traces->processes.capacity; i++)
		if (map_is_used(&traces->processes, i))
			free_process(traces,
				     (struct traces_process *)(uintptr_t)traces->processes.slots[i]
					     .value);
	map_fini(&traces->processes);
	traces->last = NULL;
}

static void end_process(struct traces *traces, void *process)
{
	end_threads(traces, process);
	gpu_lanes_end(traces, process);
	marker_lanes_end(traces, process, traces->newest_ns);
}

/* What is still kept back of all threads and streams. */
static void end_all(struct traces *traces)
{
	each(traces, &traces->processes, end_process);
}

static int take_begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct traces *traces = (struct traces *)sink;

	/* The one before may have had no end. */
	end_all(traces);
	forget_processes(traces);
	device_tracks_forget(traces);
	map_fini(&traces->own_names);
	traces->recording = recording;
	traces->newest_ns = 0;
	if (!traces->recordings++) {
		traces->first_wall_known = recording->coverage.wall_known;
		traces->first_wall_offset_ns = recording->coverage.wall_offset_ns;
	}
	traces->format->begin(traces);
	return finish_step(traces);
}

static int take_end(struct sink *sink, const struct summary *summary)
{
	struct traces *traces = (struct traces *)sink;

	(void)summary;
	end_all(traces);
	return finish_step(traces);
}

/* Processes that ended in a gap. */
static void look_at_gone(struct traces *traces, uint64_t ts_ns)
{
	static const struct process none;
	struct map_pair *sorted = map_sorted(&traces->processes);
	const size_t count = traces->processes.count;
	size_t i;

	if (count && !sorted)
		traces->err = -ENOMEM;
	for (i = 0; sorted && i < count; i++) {
		struct traces_process *shown = (struct traces_process *)(uintptr_t)sorted[i].value;
		const struct process *process =
			state_find(traces->recording->state, shown->pid, shown->start_ns);

		if (process && !process->exited)
			continue;
		look_at_process(traces, shown, &none, ts_ns, ts_ns);
		map_remove(&traces->processes, sorted[i].key);
		free_process(traces, shown);
	}
	free(sorted);
	traces->last = NULL;
}

/* Counters go on with what the state has. */
static void look_at_all(struct traces *traces, uint64_t ts_ns)
{
	const struct state *state = traces->recording->state;
	const struct report_options *options = &traces->recording->options;
	uint32_t space;
	size_t i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		struct traces_process *shown;

		if (process->exited || !report_wants(options, process))
			continue;
		shown = process_of(traces, process);
		if (!shown)
			return;
		for (space = 0; space < MS_SPACES_COUNT; space++)
			shown->peaks[space] = process->spaces[space].peak_bytes;
		look_at_process(traces, shown, process, ts_ns, ts_ns);
	}
	look_at_gone(traces, ts_ns);
	device_tracks_look(traces, ts_ns);
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	struct traces *traces = (struct traces *)sink;
	const struct traces_instant instant = { .ts_ns = ts_ns, .name = "gap in the recording" };

	end_all(traces);
	map_fini(&traces->own_names); /* the state has other copies now */
	traces->flows_from = traces->recording->state->allocations;
	if (!first) {
		if (traces->format->lost)
			traces->format->lost(traces);
		traces->format->instant(traces, &instant);
	}
	look_at_all(traces, ts_ns);
	return finish_step(traces);
}

static int take_lost(struct sink *sink, uint64_t ts_ns, uint64_t count)
{
	struct traces *traces = (struct traces *)sink;
	const struct traces_instant instant = {
		.ts_ns = ts_ns, .name = "events lost", .key = "count", .value = count
	};

	if (traces->format->lost)
		traces->format->lost(traces);
	traces->format->instant(traces, &instant);
	return finish_step(traces);
}

/* Calls that were only counted have no times of their own: their number goes up. */
static void take_calls(struct traces *traces, struct traces_process *shown,
		       const struct event *event)
{
	const uint32_t op = event->probe->spec.op;
	char name[64];
	struct traces_counter counter = { .id = shown->id + TRACES_OF_COUNTED + op,
					  .process = shown,
					  .name = name };

	snprintf(name, sizeof(name), "calls only counted: %s", probe_op_name(op));
	counter.is_new = !(shown->shown >> (MS_SPACES_COUNT + op) & 1);
	shown->shown |= 1u << (MS_SPACES_COUNT + op);
	shown->counted[op] += event->count;
	traces_count(traces, &counter, event->header->ts_ns, shown->counted[op]);
}

const char *traces_own_name(struct traces *traces, const char *name)
{
	const uint64_t *found = map_get(&traces->own_names, (uintptr_t)name);
	const char *own;

	if (found)
		return (const char *)(uintptr_t)*found;
	own = string_intern(&traces->names, name, strlen(name));
	if (!own || map_set(&traces->own_names, (uintptr_t)name, (uintptr_t)own))
		traces->err = -ENOMEM;
	return own;
}

static void take_call(struct traces *traces, struct traces_process *shown,
		      const struct event *event, const struct change *seen)
{
	struct traces_thread *thread = thread_of(traces, shown, event->header->tid);
	struct change change = *seen;
	const uint64_t end_ns = event_end_ns(event);

	if (!thread)
		return;
	if (change.kernel)
		change.kernel = traces_own_name(traces, change.kernel);
	slices_take(traces, thread, event, &change);
	look_at_process(traces, shown, seen->process, event->header->ts_ns, end_ns);
	device_tracks_look(traces, end_ns);
	device_tracks_told(traces, event, &change, end_ns);
}

static const char *happening(enum ms_type type)
{
	return type == MS_TYPE_ATTACH ? "tracing begins" : event_type_name(type);
}

static void take_process(struct traces *traces, struct traces_process *shown,
			 const struct event *event, const struct change *change)
{
	struct traces_instant instant = { .ts_ns = event->header->ts_ns,
					  .process = shown,
					  .name = happening(event_type(event)) };

	if (event->header->type == MS_TYPE_FORK) {
		instant.key = "child_pid";
		instant.value = event->process->child_pid;
	} else if (event->header->type == MS_TYPE_EXIT &&
		   event->process->value != MS_EXIT_UNKNOWN) {
		instant.key = "wait_status";
		instant.value = event->process->value;
	}
	if (event->header->type == MS_TYPE_EXIT)
		end_process(traces, shown);
	traces->format->instant(traces, &instant);
	look_at_process(traces, shown, change->process, event->header->ts_ns, event->header->ts_ns);
	device_tracks_look(traces, event->header->ts_ns);
	if (event->header->type != MS_TYPE_EXIT)
		return;
	map_remove(&traces->processes, shown->key);
	free_process(traces, shown);
	traces->last = NULL;
}

/* Whether an instant can show it. */
static bool is_number(enum field_kind kind)
{
	return kind == FIELD_COUNT || kind == FIELD_SIZE || kind == FIELD_DURATION;
}

/* An instant, with the first of its numbers. */
static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct traces *traces = (struct traces *)sink;
	struct traces_instant instant = { .ts_ns = event->header->ts_ns,
					  .name = event_type_name(event_type(event)) };
	size_t i;

	note_time(traces, event->header->ts_ns);
	if (change->process) {
		instant.process = process_of(traces, change->process);
		if (!instant.process)
			return traces->err;
	}
	/* It has a beginning and an end, and is heard of later: no instant shows that. */
	if (event->header->type == MS_TYPE_ACTIVITY) {
		gpu_lanes_take(traces, traces->last, event, change);
		return finish_step(traces);
	}
	if (event->header->type == MS_TYPE_MARKER) {
		marker_lanes_take(traces, traces->last, event);
		return finish_step(traces);
	}
	for (i = 0; i < record_fields_count && !instant.key; i++) {
		if (record_fields[i].type != event->header->type ||
		    !is_number(record_fields[i].kind))
			continue;
		instant.key = record_fields[i].name;
		instant.value = record_field_value(&record_fields[i], event, change).number;
	}
	if (!traces->err)
		traces->format->instant(traces, &instant);
	return finish_step(traces);
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct traces *traces = (struct traces *)sink;
	struct traces_process *shown = process_of(traces, change->process);

	if (!shown)
		return traces->err;
	note_time(traces, event->call ? event_end_ns(event) : event->header->ts_ns);
	if (event->header->type == MS_TYPE_CALLS)
		take_calls(traces, shown, event);
	else if (event->call)
		take_call(traces, shown, event, change);
	else
		take_process(traces, shown, event, change);
	return finish_step(traces);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int64_t traces_shift_ns(const struct traces *traces)
{
	const struct report_coverage *coverage = &traces->recording->coverage;

	return traces->first_wall_known && coverage->wall_known ?
		       (int64_t)(coverage->wall_offset_ns - traces->first_wall_offset_ns) :
		       0;
}

void traces_init(struct traces *traces, const struct traces_format *format, struct writer *writer)
{
	traces->sink.begin = take_begin;
	traces->sink.call = traces->sink.process = take_event;
	traces->sink.sample = take_sample;
	traces->sink.gap = take_gap;
	traces->sink.lost = take_lost;
	traces->sink.end = take_end;
	traces->format = format;
	traces->writer = writer;
	traces->next_id = 2; /* 1: the recording as a whole */
	traces->next_viewer_pid = 1ull << MS_PID_BITS;
	slices_choose_fields(traces);
}

void traces_fini(struct traces *traces)
{
	forget_processes(traces);
	device_tracks_forget(traces);
	map_fini(&traces->pids);
	map_fini(&traces->counted_ns);
	map_fini(&traces->own_names);
	map_fini(&traces->readable_names);
	string_table_fini(&traces->names);
	string_fini(&traces->scratch);
}
