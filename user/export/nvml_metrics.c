// SPDX-License-Identifier: BSD-2-Clause
#include "export/nvml_metrics.h"

#include <string.h>

/* The device that processes mean by this UUID; NULL: none has used it, or has asked for it. */
static const struct report_device *
find_device(struct metrics *metrics, const struct report_recording *recording, const char *uuid)
{
	const struct report_device *found = NULL;
	struct string text = { 0 };
	size_t i;

	for (i = 0; i < recording->devices_count && !found; i++) {
		const struct report_device *device = &recording->devices[i];
		const struct device_identity *known =
			&report_device_row(recording, device)->identity;

		if (device->device < 0 || !known->has_uuid)
			continue;
		string_clear(&text);
		device_append_uuid(&text, known);
		string_append_char(&text, '\0');
		if (text.failed)
			metrics_lack(metrics);
		else if (!strcmp(text.bytes, uuid))
			found = device;
	}
	string_fini(&text);
	return found;
}

static const struct report_device *find_of(struct metrics *metrics,
					   const struct report_recording *recording,
					   const struct ms_device *told,
					   char uuid[static MS_UUID_BYTES + 1])
{
	memset(uuid, 0, MS_UUID_BYTES + 1);
	memcpy(uuid, told->uuid, strnlen(told->uuid, MS_UUID_BYTES));
	return find_device(metrics, recording, uuid);
}

static void put(struct metrics *metrics, size_t family, const struct report_device *device,
		const char *uuid, uint64_t value)
{
	if (device)
		metrics_label_number(metrics, "gpu", (uint64_t)device->device);
	metrics_label(metrics, "UUID", uuid);
	metrics_add(metrics, family, value);
}

static void add(struct metrics *metrics, size_t first, const struct report_recording *recording,
		const struct nvml_device_account *account)
{
	const struct ms_device *told = &account->last;
	const uint64_t bytes[] = { told->total_bytes, told->used_bytes, told->reserved_bytes };
	const size_t reserved = !!(told->known & MS_DEVICE_RESERVED);
	const size_t count = told->known & MS_DEVICE_MEMORY ? 2 + reserved : 0;
	char uuid[MS_UUID_BYTES + 1];
	const struct report_device *device = find_of(metrics, recording, told, uuid);
	size_t i;

	for (i = 0; i < count; i++)
		put(metrics, first + i, device, uuid, bytes[i]);
	if (account->memory_ts_ns && recording->coverage.wall_known)
		put(metrics, first + 3, device, uuid,
		    account->memory_ts_ns + recording->coverage.wall_offset_ns);
}

void nvml_metrics_add(struct metrics *metrics, size_t first,
		      const struct report_recording *recording)
{
	const struct nvml_devices *nvml = &recording->state->nvml_devices;
	size_t i;

	for (i = 0; i < nvml->count; i++)
		add(metrics, first, recording, &nvml->devices[i]);
}

/* Whether all devices that memory is held of are NVML's, by their UUIDs. */
static bool are_all_known(struct metrics *metrics, const struct report_recording *recording)
{
	const struct nvml_devices *nvml = &recording->state->nvml_devices;
	size_t i, holding = 0, known = 0;

	for (i = 0; i < recording->devices_count; i++)
		holding += recording->devices[i].live_bytes != 0;
	for (i = 0; i < nvml->count; i++) {
		char uuid[MS_UUID_BYTES + 1];
		const struct report_device *device =
			find_of(metrics, recording, &nvml->devices[i].last, uuid);

		known += device && device->live_bytes;
	}
	return holding == known;
}

void nvml_metrics_add_explained(struct metrics *metrics, size_t explained,
				const struct report_recording *recording)
{
	const struct nvml_devices *nvml = &recording->state->nvml_devices;
	char uuid[MS_UUID_BYTES + 1];
	size_t i;

	if (!are_all_known(metrics, recording))
		return;
	for (i = 0; i < nvml->count; i++) {
		const struct ms_device *told = &nvml->devices[i].last;

		if (!(told->known & MS_DEVICE_MEMORY) || find_of(metrics, recording, told, uuid))
			continue;
		metrics_label(metrics, "UUID", uuid);
		metrics_add(metrics, explained, 0);
	}
}
