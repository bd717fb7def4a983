// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/nvml_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/limits.h"
#include "ledger/state.h"

bool nvml_is_behind_allocations(enum driver_cause cause)
{
	return cause == DRIVER_CAUSE_ALLOCATIONS || cause == DRIVER_CAUSE_PHYSICAL ||
	       cause == DRIVER_CAUSE_POOLS;
}

/* Managed memory is nowhere for certain, and NVML does not count it (docs/real-hardware.md). */
static uint64_t allocated(const struct process *process)
{
	static const uint8_t spaces[] = { MS_SPACE_DEVICE, MS_SPACE_ARRAY, MS_SPACE_PHYSICAL,
					  MS_SPACE_POOL, MS_SPACE_GRAPH };
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < sizeof(spaces); i++)
		bytes += process->spaces[spaces[i]].live_bytes;
	return bytes;
}

static uint64_t seen(const struct nvml_sample *sample)
{
	uint64_t bytes = 0;
	size_t i;

	if (!sample->objects_seen)
		return sample->allocated_bytes;
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		bytes += sample->causes[i];
	return bytes;
}

static uint64_t unseen(const struct nvml_sample *sample)
{
	const uint64_t bytes = seen(sample);

	return sample->used_bytes > bytes ? sample->used_bytes - bytes : 0;
}

static void take(struct nvml_account *account, const struct process *process, uint64_t ts_ns)
{
	struct nvml_sample *sample = &account->last;
	size_t i;

	if (account->count) {
		const uint64_t bytes = unseen(sample);

		if (account->count == 1 || bytes < account->least_bytes)
			account->least_bytes = bytes;
	}
	account->count++;
	*sample = (struct nvml_sample){ .ts_ns = ts_ns,
					.allocated_bytes = allocated(process),
					.objects_seen = process->driver.seen };
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		sample->causes[i] = process->driver.causes[i].live_bytes;
}

void nvml_account_apply(struct process *process, const struct ms_held *record)
{
	struct nvml_account *account = &process->nvml;

	if (process->exited)
		return;
	if (!account->count || account->last.ts_ns != record->event.ts_ns)
		take(account, process, record->event.ts_ns);
	account->last.used_bytes += record->used_bytes;
	if (account->last.used_bytes > account->peak_bytes) {
		account->peak_bytes = account->last.used_bytes;
		account->peak_ts_ns = account->last.ts_ns;
	}
}

void nvml_account_forget(struct nvml_account *account)
{
	*account = (struct nvml_account){ 0 };
}

void nvml_account_restart(struct nvml_account *account)
{
	account->peak_bytes = account->last.used_bytes;
	account->peak_ts_ns = account->last.ts_ns;
}

bool nvml_account_parts(const struct process *process, struct nvml_parts *parts)
{
	const struct nvml_account *account = &process->nvml;
	const struct nvml_sample *sample = &account->last;
	const uint64_t rest = unseen(sample);
	size_t i;

	*parts = (struct nvml_parts){ .used_bytes = sample->used_bytes,
				      .allocated_bytes = sample->allocated_bytes };
	if (!account->count)
		return false;
	if (sample->objects_seen)
		parts->slack_bytes = -(int64_t)sample->allocated_bytes;
	for (i = 0; sample->objects_seen && i < DRIVER_CAUSES_COUNT; i++)
		if (nvml_is_behind_allocations(i))
			parts->slack_bytes += (int64_t)sample->causes[i];
		else
			parts->causes[i] = sample->causes[i];
	/* What was there only becomes less: what comes on top of the least is not from before. */
	if (state_may_hold_more(process))
		parts->before_bytes = account->count > 1 && account->least_bytes < rest ?
					      account->least_bytes :
					      rest;
	parts->unexplained_bytes =
		(int64_t)(sample->used_bytes - seen(sample) - parts->before_bytes);
	return true;
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct nvml_device_account *find(struct nvml_devices *devices, const char *uuid)
{
	size_t i;

	for (i = 0; i < devices->count; i++)
		if (!memcmp(devices->devices[i].last.uuid, uuid, MS_UUID_BYTES))
			return &devices->devices[i];
	return NULL;
}

int nvml_devices_apply(struct nvml_devices *devices, const struct ms_device *record)
{
	struct nvml_device_account *device = find(devices, record->uuid);

	if (!device && devices->count >= LIMIT_NVML_DEVICES)
		return 0;
	if (!device) {
		if (memory_grow(&devices->devices, &devices->capacity, devices->count + 1,
				sizeof(*devices->devices)))
			return -ENOMEM;
		device = &devices->devices[devices->count++];
		*device = (struct nvml_device_account){ 0 };
	}
	device->last = *record;
	device->traced_bytes = device->traced_count = 0;
	device->count++;
	if (record->known & MS_DEVICE_MEMORY && record->used_bytes > device->peak_bytes) {
		device->peak_bytes = record->used_bytes;
		device->peak_ts_ns = record->event.ts_ns;
	}
	return 0;
}

void nvml_devices_held(struct nvml_devices *devices, const struct ms_held *record)
{
	struct nvml_device_account *device = find(devices, record->uuid);

	if (!device || device->last.event.ts_ns != record->event.ts_ns)
		return;
	device->traced_bytes += record->used_bytes;
	device->traced_count++;
}

void nvml_devices_restart(struct nvml_devices *devices)
{
	size_t i;

	for (i = 0; i < devices->count; i++) {
		struct nvml_device_account *device = &devices->devices[i];

		device->peak_bytes = device->last.used_bytes;
		device->peak_ts_ns = device->last.event.ts_ns;
	}
}

void nvml_devices_fini(struct nvml_devices *devices)
{
	free(devices->devices);
	*devices = (struct nvml_devices){ 0 };
}
