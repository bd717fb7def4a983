// SPDX-License-Identifier: BSD-2-Clause
/*
 * What GPUs did, by CUPTI's times, as spans: kernels and memsets of each stream, and copies by
 * direction, as each device has engines for them. A part of the spans.
 */
#include <errno.h>

#include "base/string.h"
#include "ledger/gpu_times.h"
#include "ledger/process.h"
#include "timeline/span_names.h"
#include "timeline/spans.h"

static int copy_name(struct span_names *names, const struct ms_activity_body *activity)
{
	const bool pageable =
		activity->from == MS_GPU_MEMORY_PAGEABLE || activity->to == MS_GPU_MEMORY_PAGEABLE;
	struct string text = { 0 };
	int name;

	string_append_text(&text, "copy");
	if (activity->what < MS_DIRECTIONS_COUNT)
		string_append_format(&text, " %s", probe_direction_name(activity->what));
	if (pageable)
		string_append_text(&text, ", pageable memory");
	string_append_char(&text, '\0');
	name = text.failed ? -ENOMEM : span_names_text(names, text.bytes);
	string_fini(&text);
	return name;
}

static int name_of(struct span_names *names, const struct ms_activity_body *activity,
		   const struct change *change)
{
	const char *kernel;

	if (activity->kind == MS_ACTIVITY_MEMSET)
		return span_names_text(names, "memset");
	if (activity->kind == MS_ACTIVITY_COPY)
		return copy_name(names, activity);
	kernel = gpu_times_kernel(change->process, activity->name);
	return kernel ? span_names_kernel(names, kernel) : span_names_text(names, "kernel");
}

int spans_activity(struct spans *spans, const struct event *event, const struct change *change)
{
	const struct ms_activity_body *activity = &((const struct ms_activity *)event->sample)->is;
	struct spans_lane lane = spans_lane_of(SPANS_GPU, event->header, change);
	struct span span = { .count = 1, .bytes = activity->size };
	int name;

	if (!gpu_times_is_work(activity))
		return 0;
	name = name_of(spans_names(spans), activity, change);
	if (name < 0)
		return name;
	lane.device = lane.gpu = activity->device;
	if (activity->kind == MS_ACTIVITY_COPY) {
		lane.handle = SPANS_COPIES | activity->what;
	} else {
		lane.handle = activity->stream;
		lane.context = activity->context;
	}
	span.begin_ns = spans_until_end_of_time(activity->begin_ns);
	span.end_ns = spans_until_end_of_time(activity->end_ns);
	span.names[0] = (uint16_t)name;
	span.votes[0] = (float)(span.end_ns - span.begin_ns) + 1;
	return spans_add(spans, &lane, &span, span.end_ns - span.begin_ns);
}
