// SPDX-License-Identifier: BSD-2-Clause
#include "render/json_nvml.h"

#include <string.h>

static void put_i64(struct json *json, const char *name, int64_t value)
{
	json_name(json, name);
	json_i64(json, value);
}

static void put_causes(struct json *json, const struct nvml_parts *parts)
{
	size_t i;

	json_name(json, "other_bytes");
	json_open(json, '{');
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		if (!nvml_is_behind_allocations(i))
			json_put_u64(json, driver_cause_name(i), parts->causes[i]);
	json_close(json, '}');
}

static void put_parts(struct json *json, const struct process *process,
		      const struct nvml_parts *parts)
{
	json_put_u64(json, "allocated_bytes", parts->allocated_bytes);
	put_i64(json, "slack_bytes", parts->slack_bytes);
	if (process->nvml.last.objects_seen) {
		put_causes(json, parts);
	} else {
		json_name(json, "other_bytes");
		json_null(json);
	}
	json_put_u64(json, "before_attach_bytes", parts->before_bytes);
	put_i64(json, "unexplained_bytes", parts->unexplained_bytes);
}

static void put_null_parts(struct json *json)
{
	static const char *const names[] = { "allocated_bytes", "slack_bytes", "other_bytes",
					     "before_attach_bytes", "unexplained_bytes" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		json_name(json, names[i]);
		json_null(json);
	}
}

static void put_on_device(struct json *json, const struct process *process, size_t which)
{
	struct nvml_on_device device;

	nvml_account_device(process, which, &device);
	json_open(json, '{');
	json_name(json, "uuid");
	json_text(json, device.uuid, strnlen(device.uuid, MS_UUID_BYTES));
	json_put_if(json, "device", device.device >= 0, (uint64_t)device.device);
	json_put_u64(json, "used_bytes", device.used_bytes);
	if (device.known)
		put_parts(json, process, &device.parts);
	else
		put_null_parts(json);
	json_close(json, '}');
}

void json_nvml_process(struct json *json, const struct process *process)
{
	const struct nvml_account *account = &process->nvml;
	struct nvml_parts parts;
	size_t i;

	json_name(json, "nvml");
	if (!nvml_account_parts(process, &parts)) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "samples", account->count);
	json_put_u64(json, "ts_ns", account->last.ts_ns);
	json_put_u64(json, "used_bytes", parts.used_bytes);
	put_parts(json, process, &parts);
	json_put_u64(json, "peak_bytes", account->peak_bytes);
	json_put_u64(json, "peak_ts_ns", account->peak_ts_ns);
	json_name(json, "devices");
	json_open(json, '[');
	for (i = 0; i < nvml_account_devices(process); i++)
		put_on_device(json, process, i);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_device(struct json *json, const struct nvml_device_account *device)
{
	const struct ms_device *last = &device->last;
	const bool memory = last->known & MS_DEVICE_MEMORY;
	const bool processes = last->known & MS_DEVICE_PROCESSES;

	json_open(json, '{');
	json_name(json, "uuid");
	json_text(json, last->uuid, strnlen(last->uuid, sizeof(last->uuid)));
	json_put_u64(json, "samples", device->count);
	json_put_u64(json, "ts_ns", last->event.ts_ns);
	json_put_if(json, "total_bytes", memory, last->total_bytes);
	json_put_if(json, "used_bytes", memory, last->used_bytes);
	json_put_if(json, "free_bytes", memory, last->free_bytes);
	json_put_if(json, "reserved_bytes", last->known & MS_DEVICE_RESERVED, last->reserved_bytes);
	json_put_if(json, "processes", processes, last->processes);
	json_put_if(json, "processes_bytes", processes, last->processes_bytes);
	json_put_u64(json, "traced_processes", device->traced_count);
	json_put_u64(json, "traced_bytes", device->traced_bytes);
	json_put_if(json, "peak_used_bytes", memory, device->peak_bytes);
	json_put_if(json, "peak_ts_ns", memory && device->peak_bytes, device->peak_ts_ns);
	json_close(json, '}');
}

void json_nvml_devices(struct json *json, const struct state *state)
{
	size_t i;

	json_name(json, "nvml_devices");
	json_open(json, '[');
	for (i = 0; i < state->nvml_devices.count; i++)
		put_device(json, &state->nvml_devices.devices[i]);
	json_close(json, ']');
}

static void put_moments(struct json *json, const struct nvml_series_device *device)
{
	size_t i, share;

	json_name(json, "ts_ns");
	json_open(json, '[');
	for (i = 0; i < device->count; i++)
		json_u64(json, device->moments[i].ts_ns);
	json_close(json, ']');
	for (share = 0; share < NVML_SHARES_COUNT; share++) {
		json_name(json, nvml_share_name(share));
		json_open(json, '[');
		for (i = 0; i < device->count; i++)
			json_u64(json, device->moments[i].shares[share]);
		json_close(json, ']');
	}
}

void json_nvml_series(struct json *json, const struct nvml_series *series)
{
	size_t i;

	json_name(json, "nvml_timeline");
	json_open(json, '[');
	for (i = 0; i < series->count; i++) {
		const struct nvml_series_device *device = &series->devices[i];
		const struct ms_device *last = &device->last;

		json_open(json, '{');
		json_name(json, "uuid");
		json_text(json, last->uuid, strnlen(last->uuid, sizeof(last->uuid)));
		json_put_if(json, "total_bytes", last->known & MS_DEVICE_MEMORY, last->total_bytes);
		json_put_if(json, "reserved_bytes", last->known & MS_DEVICE_RESERVED,
			    last->reserved_bytes);
		put_moments(json, device);
		json_close(json, '}');
	}
	json_close(json, ']');
}
