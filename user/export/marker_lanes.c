// SPDX-License-Identifier: BSD-2-Clause
#include "export/marker_lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/slices.h"

/* One inside the other, in a thread. What is further in is not drawn. */
#define DEPTH_MAX 64
/* Ranges of a process at a time. More are not drawn. */
#define RANGES_MAX 16
/* Threads and domains of a process. What further ones mark is not drawn. */
#define LANES_MAX 4096

#define GOLDEN 0x9e3779b97f4a7c15ull

/* `thread` is first: lanes are freed by it. */
struct marker_lane {
	struct traces_thread thread;
	uint64_t sps[DEPTH_MAX]; /* of functions that are marked: where their calls are */
	uint32_t depth;
	uint32_t beyond; /* begun in DEPTH_MAX others */
};

struct traces_ranges {
	struct {
		struct traces_thread *lane;
		uint64_t id;
		uint32_t tid;
		bool is_open, is_known; /* `id` is */
	} ranges[RANGES_MAX];
};

/* ---- lanes ----------------------------------------------------------------------------------- */

static struct marker_lane *lane_new(struct traces *traces, struct traces_process *process,
				    uint64_t key)
{
	struct marker_lane *lane = calloc(1, sizeof(*lane));

	if (!lane || map_set(&process->marked, key, (uintptr_t)lane)) {
		free(lane);
		traces->err = -ENOMEM;
		return NULL;
	}
	lane->thread = (struct traces_thread){ .id = traces->next_id++,
					       .process = process,
					       .tid = TRACES_TIDS_OF_MARKERS +
						      (uint32_t)process->marked.count };
	return lane;
}

/* NULL without memory, or with too many. */
static struct marker_lane *lane_of(struct traces *traces, struct traces_process *process,
				   const struct ms_marker *marker)
{
	const uint64_t key = (marker->domain + marker->event.tid * GOLDEN) * GOLDEN;
	const uint64_t *found = map_get(&process->marked, key);
	struct marker_lane *lane;

	if (found)
		return (struct marker_lane *)(uintptr_t)*found;
	if (process->marked.count >= LANES_MAX)
		return NULL;
	lane = lane_new(traces, process, key);
	if (!lane)
		return NULL;
	snprintf(lane->thread.name, sizeof(lane->thread.name), "markers of thread %u",
		 marker->event.tid);
	if (!marker->event.tid)
		snprintf(lane->thread.name, sizeof(lane->thread.name), "marks from outside");
	else if (marker->domain)
		snprintf(lane->thread.name, sizeof(lane->thread.name),
			 "markers of thread %u, domain 0x%llx", marker->event.tid,
			 (unsigned long long)marker->domain);
	traces->format->thread(traces, &lane->thread);
	return lane;
}

/* One that outlives the record. */
static const char *name_of(struct traces *traces, const struct ms_marker *marker)
{
	const char *name;

	if (!marker->length)
		return "marker";
	name = string_intern(&traces->names, marker->name, strlen(marker->name));
	if (!name)
		traces->err = -ENOMEM;
	return name ? name : "marker";
}

/* ---- what threads mark ----------------------------------------------------------------------- */

static void end_down_to(struct traces *traces, struct marker_lane *lane, uint32_t depth,
			uint64_t ts_ns)
{
	while (lane->depth > depth) {
		lane->depth--;
		traces->format->mark_end(traces, &lane->thread, ts_ns);
	}
	lane->beyond = 0;
}

static void push(struct traces *traces, struct traces_process *process,
		 const struct ms_marker *marker)
{
	struct marker_lane *lane = lane_of(traces, process, marker);
	uint32_t depth;

	if (!lane)
		return;
	/* Calls deeper in the stack have returned without notice, by an exception or longjmp. */
	for (depth = lane->depth;
	     marker->sp && depth && lane->sps[depth - 1] && lane->sps[depth - 1] <= marker->sp;)
		depth--;
	if (depth < lane->depth)
		end_down_to(traces, lane, depth, marker->event.ts_ns);
	if (lane->depth == DEPTH_MAX) {
		lane->beyond++;
		return;
	}
	lane->sps[lane->depth++] = marker->sp;
	traces->format->mark_begin(traces, &lane->thread, name_of(traces, marker),
				   marker->event.ts_ns);
}

static void pop(struct traces *traces, struct traces_process *process,
		const struct ms_marker *marker)
{
	struct marker_lane *lane = lane_of(traces, process, marker);
	uint32_t depth;

	if (!lane)
		return;
	if (!marker->sp && lane->beyond) {
		lane->beyond--;
		return;
	}
	for (depth = lane->depth; depth && lane->sps[depth - 1] != marker->sp && marker->sp;)
		depth--;
	if (depth)
		end_down_to(traces, lane, depth - 1, marker->event.ts_ns);
}

static void instant(struct traces *traces, struct traces_process *process,
		    const struct ms_marker *marker)
{
	const struct marker_lane *lane = lane_of(traces, process, marker);
	struct traces_instant instant = { .ts_ns = marker->event.ts_ns,
					  .process = process,
					  .thread = lane ? &lane->thread : NULL,
					  .name = "marker" };

	string_restart(&traces->scratch, &traces->err);
	if (marker->length)
		field_append_safe(&traces->scratch, marker->name, strlen(marker->name));
	string_append_char(&traces->scratch, '\0');
	if (marker->length && !traces->scratch.failed)
		instant.name = traces->scratch.bytes;
	traces->format->instant(traces, &instant);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void start(struct traces *traces, struct traces_process *process,
		  const struct ms_marker *marker)
{
	struct marker_lane *lane;
	size_t i;

	if (!process->ranges)
		process->ranges = calloc(1, sizeof(*process->ranges));
	if (!process->ranges) {
		traces->err = -ENOMEM;
		return;
	}
	for (i = 0; i < RANGES_MAX && process->ranges->ranges[i].is_open; i++)
		;
	if (i == RANGES_MAX)
		return;
	if (!process->ranges->ranges[i].lane) {
		lane = lane_new(traces, process, i);
		if (!lane)
			return;
		snprintf(lane->thread.name, sizeof(lane->thread.name), "ranges%s",
			 i ? ", overlapping" : "");
		traces->format->thread(traces, &lane->thread);
		process->ranges->ranges[i].lane = &lane->thread;
	}
	process->ranges->ranges[i].is_open = true;
	process->ranges->ranges[i].is_known = marker->id;
	process->ranges->ranges[i].id = marker->id;
	process->ranges->ranges[i].tid = marker->event.tid;
	traces->format->mark_begin(traces, process->ranges->ranges[i].lane, name_of(traces, marker),
				   marker->event.ts_ns);
}

/* A thread is given the number of a range when it has begun. */
static void started(const struct traces_process *process, const struct ms_marker *marker)
{
	size_t i;

	for (i = 0; process->ranges && i < RANGES_MAX; i++) {
		if (!process->ranges->ranges[i].is_open || process->ranges->ranges[i].is_known ||
		    process->ranges->ranges[i].tid != marker->event.tid)
			continue;
		process->ranges->ranges[i].is_known = true;
		process->ranges->ranges[i].id = marker->id;
		return;
	}
}

static void end(struct traces *traces, const struct traces_process *process,
		const struct ms_marker *marker)
{
	size_t i;

	for (i = 0; process->ranges && i < RANGES_MAX; i++) {
		if (!process->ranges->ranges[i].is_open || !process->ranges->ranges[i].is_known ||
		    process->ranges->ranges[i].id != marker->id)
			continue;
		process->ranges->ranges[i].is_open = false;
		traces->format->mark_end(traces, process->ranges->ranges[i].lane,
					 marker->event.ts_ns);
		return;
	}
}

/* ---------------------------------------------------------------------------------------------- */

void marker_lanes_take(struct traces *traces, struct traces_process *process,
		       const struct event *event)
{
	const struct ms_marker *marker = (const void *)event->sample;

	switch ((enum ms_marker_action)marker->action) {
	case MS_MARKER_PUSH:
		push(traces, process, marker);
		return;
	case MS_MARKER_POP:
		pop(traces, process, marker);
		return;
	case MS_MARKER_START:
		start(traces, process, marker);
		return;
	case MS_MARKER_STARTED:
		started(process, marker);
		return;
	case MS_MARKER_END:
		end(traces, process, marker);
		return;
	case MS_MARKER_INSTANT:
		instant(traces, process, marker);
		return;
	case MS_MARKER_ACTIONS_COUNT:
		return;
	}
}

void marker_lanes_end(struct traces *traces, struct traces_process *process, uint64_t ts_ns)
{
	struct map_pair *sorted = map_sorted(&process->marked);
	size_t i;

	if (process->marked.count && !sorted)
		traces->err = -ENOMEM;
	for (i = 0; sorted && i < process->marked.count; i++)
		end_down_to(traces, (struct marker_lane *)(uintptr_t)sorted[i].value, 0, ts_ns);
	free(sorted);
	for (i = 0; process->ranges && i < RANGES_MAX; i++) {
		if (process->ranges->ranges[i].is_open)
			traces->format->mark_end(traces, process->ranges->ranges[i].lane, ts_ns);
		process->ranges->ranges[i].is_open = false;
	}
}

void marker_lanes_free(struct traces *traces, struct traces_process *process)
{
	size_t i;

	for (i = 0; i < process->marked.capacity; i++)
		if (map_is_used(&process->marked, i))
			slices_free(traces, (void *)(uintptr_t)process->marked.slots[i].value);
	map_fini(&process->marked);
	free(process->ranges);
}
