// SPDX-License-Identifier: BSD-2-Clause
#include "export/gpu_lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/memory.h"
#include "export/slices.h"
#include "render/record_field.h"

/* Kept back of all processes together; then all but the newest of the process are written. */
#define KEPT_MAX 32768
#define KEPT_ON(count) ((count) / 4)
/* Lanes that a process may have for its streams; the last one is of all further streams. */
#define STREAMS_MAX 4096

#define FLOW_IS_OF_GPU (1ull << 63)
#define GOLDEN 0x9e3779b97f4a7c15ull /* spreads consecutive numbers */

struct traces_kept {
	struct ms_activity record;
	struct traces_activity activity;
	struct traces_thread *lane;
};

uint64_t gpu_lanes_flow(const struct traces_process *process, uint64_t call_begin_ns)
{
	return ((call_begin_ns + process->id * GOLDEN) * GOLDEN) | FLOW_IS_OF_GPU;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static uint64_t stream_key(const struct ms_activity_body *activity)
{
	return (((uint64_t)(uint32_t)activity->device * GOLDEN) ^ activity->context) * GOLDEN ^
	       activity->stream;
}

static void name_lane(struct traces_thread *lane, const struct ms_activity_body *activity,
		      bool of_more)
{
	char device[24] = "GPU ?";

	if (activity->device >= 0)
		snprintf(device, sizeof(device), "GPU %d", activity->device);
	if (of_more)
		snprintf(lane->name, sizeof(lane->name), "further streams");
	else
		snprintf(lane->name, sizeof(lane->name), "%s, context %u, stream %u", device,
			 activity->context, activity->stream);
}

/* NULL without memory. */
static struct traces_thread *lane_of(struct traces *traces, struct traces_process *process,
				     const struct ms_activity_body *activity)
{
	const bool of_more = process->streams.count >= STREAMS_MAX - 1;
	uint64_t key = stream_key(activity);
	const uint64_t *found = map_get(&process->streams, key);
	struct traces_thread *lane;

	if (!found && of_more) {
		key = UINT64_MAX;
		found = map_get(&process->streams, key);
	}
	if (found)
		return (struct traces_thread *)(uintptr_t)*found;
	lane = calloc(1, sizeof(*lane));
	if (!lane || map_set(&process->streams, key, (uintptr_t)lane)) {
		free(lane);
		traces->err = -ENOMEM;
		return NULL;
	}
	*lane = (struct traces_thread){ .id = traces->next_id++,
					.process = process,
					.tid = (uint32_t)process->streams.count };
	name_lane(lane, activity, of_more);
	traces->format->thread(traces, lane);
	return lane;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Demangled; one that outlives the state. NULL without memory. */
static const char *kernel_name(struct traces *traces, const char *kernel)
{
	const char *own = traces_own_name(traces, kernel);
	const uint64_t *found = own ? map_get(&traces->readable_names, (uintptr_t)own) : NULL;
	const char *readable;

	if (found)
		return (const char *)(uintptr_t)*found;
	string_restart(&traces->scratch, &traces->err);
	demangle_append(&traces->scratch, kernel);
	readable = traces->scratch.failed ? NULL :
					    string_intern(&traces->names, traces->scratch.bytes,
							  traces->scratch.length);
	if (!own || !readable ||
	    map_set(&traces->readable_names, (uintptr_t)own, (uintptr_t)readable))
		traces->err = -ENOMEM;
	return readable;
}

static const char *copy_name(struct traces *traces, uint16_t direction)
{
	const char *name;

	if (direction >= MS_DIRECTIONS_COUNT)
		return "copy";
	string_restart(&traces->scratch, &traces->err);
	string_append_format(&traces->scratch, "copy %s", probe_direction_name(direction));
	name = traces->scratch.failed ?
		       NULL :
		       string_intern(&traces->names, traces->scratch.bytes, traces->scratch.length);
	if (!name)
		traces->err = -ENOMEM;
	return name ? name : "copy";
}

static const char *name_of(struct traces *traces, const struct ms_activity_body *activity,
			   const struct change *change)
{
	const char *kernel;

	if (activity->kind == MS_ACTIVITY_COPY)
		return copy_name(traces, activity->what);
	if (activity->kind == MS_ACTIVITY_MEMSET)
		return "memset";
	kernel = gpu_times_kernel(change->process, activity->name);
	kernel = kernel ? kernel_name(traces, kernel) : NULL;
	return kernel ? kernel : "kernel";
}

static int compare(const void *a, const void *b)
{
	const struct traces_activity *one = &((const struct traces_kept *)a)->activity;
	const struct traces_activity *other = &((const struct traces_kept *)b)->activity;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	/* The longer one is around the other, if both are in one stream. */
	return (one->end_ns < other->end_ns) - (one->end_ns > other->end_ns);
}

/* CUPTI's record of the call may have come after those of what it did. */
static void join(struct traces_activity *activity, const struct traces_process *process,
		 const struct process *known, uint32_t correlation)
{
	const struct gpu_link *link =
		known && known->gpu ? gpu_joins_find(&known->gpu->joins, correlation) : NULL;

	activity->change.activity_of = link;
	activity->flow = link && link->end_ns ? gpu_lanes_flow(process, link->begin_ns) : 0;
}

/* Tells the earliest, as many as that. */
static void tell(struct traces *traces, struct traces_process *process, size_t count)
{
	const struct process *known =
		state_find(traces->recording->state, process->pid, process->start_ns);
	struct traces_kept *kept = process->kept;
	size_t i;

	if (!count)
		return;
	qsort(kept, process->kept_count, sizeof(*kept), compare);
	for (i = 0; i < count; i++) {
		struct traces_thread *lane =
			slices_lane(traces, kept[i].lane, kept[i].activity.begin_ns);
		struct event event = { .header = &kept[i].record.event,
				       .sample = &kept[i].record.event };

		kept[i].activity.event = &event;
		join(&kept[i].activity, process, known, kept[i].record.is.correlation);
		if (lane->end_ns < kept[i].activity.end_ns)
			lane->end_ns = kept[i].activity.end_ns;
		traces->format->activity(traces, lane, &kept[i].activity);
	}
	process->kept_count -= count;
	traces->activities_kept -= count;
	memmove(kept, kept + count, process->kept_count * sizeof(*kept));
}

void gpu_lanes_take(struct traces *traces, struct traces_process *process,
		    const struct event *event, const struct change *change)
{
	const struct ms_activity *record = (const void *)event->sample;
	const struct ms_activity_body *is = &record->is;
	struct traces_thread *lane;
	struct traces_kept *kept;

	if (!gpu_times_is_work(is))
		return;
	if (traces->activities_kept >= KEPT_MAX)
		tell(traces, process, process->kept_count - KEPT_ON(process->kept_count));
	lane = lane_of(traces, process, is);
	if (!lane)
		return;
	if (memory_grow(&process->kept, &process->kept_capacity, process->kept_count + 1,
			sizeof(*process->kept))) {
		traces->err = -ENOMEM;
		return;
	}
	kept = &process->kept[process->kept_count++];
	traces->activities_kept++;
	*kept = (struct traces_kept){ .record = *record, .lane = lane };
	kept->activity = (struct traces_activity){ .name = name_of(traces, is, change),
						   .begin_ns = is->begin_ns,
						   .end_ns = is->end_ns };
}

void gpu_lanes_end(struct traces *traces, struct traces_process *process)
{
	tell(traces, process, process->kept_count);
}

void gpu_lanes_free(struct traces *traces, struct traces_process *process)
{
	size_t i;

	traces->activities_kept -= process->kept_count;
	free(process->kept);
	for (i = 0; i < process->streams.capacity; i++)
		if (map_is_used(&process->streams, i))
			slices_free(traces, (void *)(uintptr_t)process->streams.slots[i].value);
	map_fini(&process->streams);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* What its lane, its name or its place says anyway. */
static bool is_shown_by_lane(const char *name)
{
	static const char *const others[] = { "activity", "kernel_name",    "begin_ns",
					      "end_ns",   "activity_ns",    "copy_direction",
					      "ordinal",  "context_number", "stream_number" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i], name))
			return true;
	return false;
}

void traces_activity_fields(const struct traces_activity *activity,
			    void (*put)(void *context, size_t field, struct field_value value),
			    void *context)
{
	size_t i;

	for (i = 0; i < record_fields_count; i++) {
		const struct record_field *field = &record_fields[i];
		struct field_value value;

		if (field->type != MS_TYPE_ACTIVITY || is_shown_by_lane(field->name))
			continue;
		value = record_field_value(field, activity->event, &activity->change);
		/* Flags that are not set, and graphs that there are none of. */
		if (value.known && (value.number || field->kind == FIELD_TEXT))
			put(context, i, value);
	}
}
