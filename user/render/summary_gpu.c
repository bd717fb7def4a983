// SPDX-License-Identifier: BSD-2-Clause
/*
 * What GPUs did, in the summary of a trace, and in a line of one.
 */
#include "render/summary_gpu.h"

#include <stdlib.h>

#include "render/gpu_words.h"

#define KERNELS_SHOWN 10

static void append_total(struct string *out, const struct gpu_total *total)
{
	const uint64_t timed = total->count - total->untimed;
	char count[STRING_NUMBER_BYTES], sum[STRING_NUMBER_BYTES], mean[STRING_NUMBER_BYTES];
	char most[STRING_NUMBER_BYTES];

	string_append_format(out, "  %11s %11s %11s %11s  ", string_count(count, total->count),
			     timed ? string_duration(sum, total->total_ns) : "-",
			     timed ? string_duration(mean, total->total_ns / timed) : "-",
			     timed ? string_duration(most, total->most_ns) : "-");
}

static void append_kernels(struct string *out, const struct gpu_times *times)
{
	const struct gpu_kernel **sorted = gpu_times_sorted(times);
	size_t i;

	for (i = 0; sorted && i < times->kernels_count && i < KERNELS_SHOWN; i++) {
		append_total(out, &sorted[i]->total);
		gpu_words_kernel(out, sorted[i]->name);
		string_append_char(out, '\n');
	}
	if (times->kernels_count > KERNELS_SHOWN)
		string_append_format(out, "  %11s and %zu kernels more\n", "",
				     times->kernels_count - KERNELS_SHOWN);
	free(sorted);
}

static void append_others(struct string *out, const struct gpu_times *times)
{
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		if (!times->copies[i].count)
			continue;
		append_total(out, &times->copies[i]);
		string_append_format(out, "copy %s\n",
				     i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : "?");
	}
	if (!times->memsets.count)
		return;
	append_total(out, &times->memsets);
	string_append_text(out, "memset\n");
}

static void append_device(struct string *out, const struct gpu_device *device)
{
	const uint64_t busy_ns = gpu_busy_ns(&device->busy);
	const uint64_t span_ns = device->last_ns - device->first_ns;
	char busy[STRING_NUMBER_BYTES], span[STRING_NUMBER_BYTES];

	string_append_format(out, "  Device %d was busy for %s of %s (%.1f %%).\n", device->device,
			     string_duration(busy, busy_ns), string_duration(span, span_ns),
			     span_ns ? 100.0 * (double)busy_ns / (double)span_ns : 0.0);
}

void summary_gpu_append(struct string *out, const struct process *process)
{
	const struct gpu_times *times = process->gpu;
	size_t i;

	if (!times)
		return;
	string_append_text(out, "\n  GPU TIME: ");
	gpu_words_state(out, times);
	string_append_char(out, '\n');
	if (!times->total)
		return;
	for (i = 0; i < times->devices_count; i++)
		append_device(out, &times->devices[i]);
	string_append_format(out, "  %11s %11s %11s %11s  %s\n", "COUNT", "TOTAL", "MEAN",
			     "SLOWEST", "KERNEL");
	append_kernels(out, times);
	append_others(out, times);
	string_append_text(out, "  ");
	gpu_words_joins(out, times);
	string_append_text(out, "\n  Missing: ");
	if (!gpu_words_losses(out, times))
		string_append_text(out, "nothing that is known of");
	string_append_text(out, ".\n");
}

/* "kernel fill: 12 us on device 0, stream 7, 4 us after its call" */
void summary_gpu_append_activity(struct string *out, const struct ms_activity_body *activity,
				 const struct change *change)
{
	static const char *const kinds[] = {
#define X(kind, name) name,
		MS_ACTIVITIES(X)
#undef X
	};
	const struct gpu_link *link = change->activity_of;
	const char *name = NULL;
	char text[STRING_NUMBER_BYTES];

	string_append_text(out, kinds[activity->kind]);
	string_append_char(out, ' ');
	if (activity->kind == MS_ACTIVITY_KERNEL)
		gpu_words_kernel(out, gpu_times_kernel(change->process, activity->name));
	else if (activity->kind == MS_ACTIVITY_OVERHEAD)
		name = gpu_overhead_name(activity->what);
	else if (activity->kind == MS_ACTIVITY_COPY && activity->what < MS_DIRECTIONS_COUNT)
		name = probe_direction_name(activity->what);
	string_append_text(out, name ? name : "");
	if (activity->kind == MS_ACTIVITY_COPY || activity->kind == MS_ACTIVITY_MEMSET)
		string_append_format(out, "%s%s", name ? " " : "",
				     string_size(text, activity->size));
	if (activity->flags & MS_ACTIVITY_UNTIMED)
		string_append_text(out, ": CUPTI has no times for it");
	else
		string_append_format(out, ": %s",
				     string_duration(text, activity->end_ns - activity->begin_ns));
	if (activity->device >= 0)
		string_append_format(out, " on device %d, stream %u", activity->device,
				     activity->stream);
	if (link && link->end_ns && activity->begin_ns > link->begin_ns)
		string_append_format(out, ", %s after its call",
				     string_duration(text, activity->begin_ns - link->begin_ns));
}
