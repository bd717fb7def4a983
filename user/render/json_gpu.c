// SPDX-License-Identifier: BSD-2-Clause
#include "render/json_gpu.h"

#include <stdlib.h>

#include "base/demangle.h"
#include "render/gpu_words.h"

static void put_total(struct json *json, const struct gpu_total *total)
{
	const bool timed = total->count > total->untimed;

	json_put_u64(json, "count", total->count);
	json_put_u64(json, "untimed", total->untimed);
	json_put_if(json, "total_ns", timed, total->total_ns);
	json_put_if(json, "min_ns", timed, total->least_ns);
	json_put_if(json, "max_ns", timed, total->most_ns);
}

static void put_bytes(struct json *json, const char *name, const struct gpu_total *total)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_u64(json, "bytes", total->bytes);
	put_total(json, total);
	json_close(json, '}');
}

/* As CUPTI says it, and as people write it. */
static void put_kernel_name(struct json *json, const char *name)
{
	struct string text = { 0 };

	if (name)
		demangle_append(&text, name);
	string_append_char(&text, '\0');
	json_put_text(json, "name", name);
	json_put_text(json, "short_name", name && !text.failed ? text.bytes : NULL);
	string_fini(&text);
}

static void put_kernels(struct json *json, const struct gpu_times *times)
{
	const struct gpu_kernel **sorted = gpu_times_sorted(times);
	size_t i;

	json_name(json, "kernels");
	json_open(json, '[');
	for (i = 0; sorted && i < times->kernels_count; i++) {
		json_open(json, '{');
		put_kernel_name(json, sorted[i]->name);
		put_total(json, &sorted[i]->total);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_u64(json, "other_kernels", times->others.count);
	free(sorted);
}

static void put_copies(struct json *json, const struct gpu_times *times)
{
	size_t i;

	json_name(json, "copies");
	json_open(json, '[');
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		if (!times->copies[i].count)
			continue;
		json_open(json, '{');
		json_put_text(json, "direction",
			      i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		json_put_u64(json, "bytes", times->copies[i].bytes);
		put_total(json, &times->copies[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	put_bytes(json, "pageable_copies", &times->pageable);
	put_bytes(json, "memsets", &times->memsets);
}

static void put_devices(struct json *json, const struct gpu_times *times)
{
	size_t i;

	json_name(json, "devices");
	json_open(json, '[');
	for (i = 0; i < times->devices_count; i++) {
		const struct gpu_device *device = &times->devices[i];

		json_open(json, '{');
		json_put_if(json, "device", device->device >= 0, (uint64_t)device->device);
		json_put_u64(json, "first_ns", device->first_ns);
		json_put_u64(json, "last_ns", device->last_ns);
		json_put_u64(json, "busy_ns", gpu_busy_ns(&device->busy));
		json_put_u64(json, "kernels_ns", device->kernels_ns);
		json_put_u64(json, "copies_ns", device->copies_ns);
		json_put_u64(json, "memsets_ns", device->memsets_ns);
		json_put_u64(json, "late", device->busy.late);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_status(struct json *json, const struct ms_gpu_status_body *status)
{
	json_put_text(json, "state", gpu_words_state_name(status->state));
	json_put_text(json, "why", gpu_words_reason_name(status->reason));
	json_put_text(json, "who", *status->who ? status->who : NULL);
	json_put_if(json, "cupti_version", status->version, status->version);
	json_put_u64(json, "handed", status->handed);
	json_put_u64(json, "dropped", status->dropped);
	json_put_u64(json, "untimed", status->untimed);
	json_put_u64(json, "no_buffer", status->no_buffer);
	json_put_u64(json, "no_name", status->no_name);
	json_put_u64(json, "set_up_ns", status->took);
	json_put_bool(json, "clock_is_converted", status->converted);
	json_put_u64(json, "clock_error_ns", status->clock_error);
}

static void put_joins(struct json *json, const struct gpu_joins *joins,
		      const struct ms_gpu_status_body *status)
{
	uint64_t call_ns = 0, gpu_ns = 0;
	const bool call = gpu_joins_call_error(joins, status->clock_error, &call_ns);
	const bool gpu = gpu_joins_gpu_error(joins, status->clock_error, &gpu_ns);

	json_name(json, "joins");
	json_open(json, '{');
	json_put_u64(json, "activities", joins->activities);
	json_put_u64(json, "with_call", joins->with_call);
	json_put_u64(json, "with_probed_call", joins->with_probed);
	json_put_u64(json, "calls", joins->calls);
	json_put_u64(json, "probed_calls", joins->probed);
	json_put_u64(json, "outside_of_call", joins->entry.outside + joins->leave.outside);
	json_put_u64(json, "before_call", joins->start.outside);
	json_put_u64(json, "after_wait", joins->end.outside);
	json_put_if(json, "call_error_ns", call, call_ns);
	json_put_if(json, "gpu_error_ns", gpu, gpu_ns);
	json_put_if(json, "mean_delay_ns", joins->started,
		    joins->started ? joins->delay_ns / joins->started : 0);
	json_close(json, '}');
}

void json_gpu_process(struct json *json, const struct process *process)
{
	const struct gpu_times *times = process->gpu;

	json_name(json, "gpu");
	if (!times) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_status(json, &times->status);
	json_put_u64(json, "activities", times->total);
	put_devices(json, times);
	put_kernels(json, times);
	put_copies(json, times);
	json_name(json, "overheads");
	json_open(json, '{');
	put_total(json, &times->overheads);
	json_close(json, '}');
	json_put_u64(json, "launched_by_kernels", times->device_launched);
	json_put_u64(json, "in_graphs", times->in_graphs);
	put_joins(json, &times->joins, &times->status);
	json_close(json, '}');
}
