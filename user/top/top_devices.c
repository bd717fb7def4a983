// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_devices.h"

#include <string.h>

#include "ledger/usage.h"

static uint64_t difference(uint64_t one, uint64_t other)
{
	return one > other ? one - other : 0;
}

/* Takes at most what is left. */
static uint64_t take(uint64_t *left, uint64_t bytes)
{
	const uint64_t taken = bytes < *left ? bytes : *left;

	*left -= taken;
	return taken;
}

/*
 * What was seen and what NVML says are of different moments, and NVML's own numbers need not fit:
 * each part is at most what the ones before have left, so that all of them are the device. What was
 * allocated since NVML was asked is in use, and no longer free.
 */
static void divide(struct top_device *device, const struct nvml_device_account *account)
{
	const struct ms_device *last = &account->last;
	uint64_t left = last->total_bytes;

	if (last->known & MS_DEVICE_RESERVED)
		device->parts[TOP_RESERVED] = take(&left, last->reserved_bytes);
	device->used_bytes = left;
	device->parts[TOP_ALLOCATED] = take(&left, device->live_bytes);
	device->parts[TOP_FREE] = take(&left, last->free_bytes);
	device->used_bytes -= device->parts[TOP_FREE];
	device->parts[TOP_OF_TRACED] =
		take(&left, difference(account->traced_bytes, device->parts[TOP_ALLOCATED]));
	if (device->processes_known)
		device->parts[TOP_OF_OTHERS] =
			take(&left, difference(last->processes_bytes, account->traced_bytes));
	device->parts[TOP_OF_NONE] = left;
}

static void fill_nvml(struct top_device *device, const struct nvml_device_account *account)
{
	const struct ms_device *last = &account->last;

	memcpy(device->uuid, last->uuid, MS_UUID_BYTES);
	device->nvml_ns = last->event.ts_ns;
	device->processes_known = last->known & MS_DEVICE_PROCESSES;
	if (!(last->known & MS_DEVICE_MEMORY))
		return;
	device->nvml_known = device->total_known = true;
	device->told_ns = 0;
	device->total_bytes = last->total_bytes;
	memset(device->parts, 0, sizeof(device->parts));
	divide(device, account);
}

/* Whose the rest is that is in use the driver does not tell. */
static void divide_told(struct top_device *device, const struct usage_told *told)
{
	uint64_t left = told->total_bytes;

	device->told_ns = told->ts_ns;
	device->total_known = true;
	device->total_bytes = told->total_bytes;
	device->parts[TOP_ALLOCATED] = take(&left, device->live_bytes);
	device->parts[TOP_FREE] = take(&left, told->free_bytes);
	device->used_bytes = told->total_bytes - device->parts[TOP_FREE];
	device->parts[TOP_OF_NONE] = left;
}

static void fill_usage(struct top_device *device, const struct usage_totals *totals,
		       const struct usage_device *usage)
{
	const size_t place = usage - totals->devices;

	device->row = place;
	memcpy(device->name, usage->identity.name, sizeof(device->name));
	device->ordinal = usage->ordinal;
	device->pid = usage_device_number_is_unique(totals, place) ? 0 : usage->pid;
	device->live_bytes = usage->live_bytes;
	device->total_known = usage->identity.total_bytes;
	device->total_bytes = usage->identity.total_bytes;
	if (usage->told.ts_ns)
		divide_told(device, &usage->told);
}

/* As nvidia-smi has it, filled up with 0; "": not known. */
static void uuid_of(const struct usage_device *usage, char uuid[MS_UUID_BYTES])
{
	struct string text = { 0 };

	memset(uuid, 0, MS_UUID_BYTES);
	if (usage->identity.has_uuid)
		device_append_uuid(&text, &usage->identity);
	if (!text.failed && text.length && text.length <= MS_UUID_BYTES)
		memcpy(uuid, text.bytes, text.length);
	string_fini(&text);
}

/* NULL: no process has said that it uses it. */
static const struct usage_device *usage_of(const struct state *state,
					   const char uuid[MS_UUID_BYTES])
{
	const struct usage_totals *totals = state->usage;
	char own[MS_UUID_BYTES];
	size_t i;

	for (i = 0; totals && i < totals->count; i++) {
		if (!usage_device_is_listed(totals, i) || !totals->devices[i].identity.has_uuid)
			continue;
		uuid_of(&totals->devices[i], own);
		if (!memcmp(own, uuid, MS_UUID_BYTES))
			return &totals->devices[i];
	}
	return NULL;
}

/* NULL: it has none by this UUID. */
static const struct ms_device *nvml_of(const struct nvml_devices *nvml,
				       const char uuid[MS_UUID_BYTES])
{
	size_t i;

	for (i = 0; *uuid && i < nvml->count; i++)
		if (!memcmp(nvml->devices[i].last.uuid, uuid, MS_UUID_BYTES))
			return &nvml->devices[i].last;
	return NULL;
}

struct alone {
	const struct usage_device *usage; /* what is known of it; NULL: there are several devices */
	uint64_t live_bytes, inferred_bytes;
};

/* The first one; better, one that says more. */
static bool says_more(const struct usage_device *than, const struct usage_device *one)
{
	return !than || (than->ordinal < 0 && one->ordinal >= 0) ||
	       (!than->identity.has_uuid && one->identity.has_uuid);
}

/*
 * If NVML has one device, and no process means another one, that is the one of those that did not
 * ask for its UUID, and of contexts that were not seen. A part of a device is another one.
 */
static struct alone find_alone(const struct state *state)
{
	const struct usage_totals *totals = state->usage;
	const struct nvml_devices *nvml = &state->nvml_devices;
	struct alone alone = { 0 };
	size_t i;

	if (!totals || nvml->count != 1)
		return alone;
	for (i = 0; i < totals->count; i++) {
		const struct usage_device *usage = &totals->devices[i];
		char uuid[MS_UUID_BYTES];

		if (!usage_device_is_listed(totals, i))
			continue;
		uuid_of(usage, uuid);
		if (usage->identity.has_uuid && !nvml_of(nvml, uuid))
			return (struct alone){ 0 };
		if (says_more(alone.usage, usage))
			alone.usage = usage;
		alone.live_bytes += usage->live_bytes;
		alone.inferred_bytes += usage->ordinal < 0 ? usage->live_bytes : 0;
	}
	return alone;
}

static size_t list_nvml(const struct state *state, struct top_device *devices, size_t max,
			const struct alone *alone, size_t *left_out)
{
	const struct nvml_devices *nvml = &state->nvml_devices;
	size_t count = 0, i;

	for (i = 0; i < nvml->count; i++) {
		const struct usage_device *usage = usage_of(state, nvml->devices[i].last.uuid);

		if (count == max) {
			++*left_out;
			continue;
		}
		devices[count] = (struct top_device){ .ordinal = -1, .row = SIZE_MAX };
		if (usage || alone->usage)
			fill_usage(&devices[count], state->usage,
				   alone->usage ? alone->usage : usage);
		if (alone->usage) {
			devices[count].is_only = true;
			devices[count].live_bytes = alone->live_bytes;
			devices[count].inferred_bytes = alone->inferred_bytes;
		}
		fill_nvml(&devices[count++], &nvml->devices[i]);
	}
	return count;
}

size_t top_devices_list(const struct state *state, struct top_device *devices, size_t max,
			size_t *left_out)
{
	const struct alone alone = find_alone(state);
	char uuid[MS_UUID_BYTES];
	size_t count, i;

	*left_out = 0;
	count = list_nvml(state, devices, max, &alone, left_out);
	for (i = 0; !alone.usage && state->usage && i < state->usage->count; i++) {
		const struct usage_device *usage = &state->usage->devices[i];

		if (!usage_device_is_listed(state->usage, i))
			continue;
		uuid_of(usage, uuid);
		if (nvml_of(&state->nvml_devices, uuid))
			continue;
		if (count == max) {
			++*left_out;
			continue;
		}
		devices[count] = (struct top_device){ 0 };
		fill_usage(&devices[count], state->usage, usage);
		memcpy(devices[count++].uuid, uuid, MS_UUID_BYTES);
	}
	return count;
}

uint64_t top_devices_told_ns(const struct state *state)
{
	const struct alone alone = find_alone(state);
	const struct nvml_devices *nvml = &state->nvml_devices;
	uint64_t oldest_ns = 0;
	size_t i;

	for (i = 0; state->usage && i < state->usage->count; i++) {
		const struct usage_device *usage = &state->usage->devices[i];
		const struct ms_device *said;
		char uuid[MS_UUID_BYTES];

		if (!usage->told.ts_ns || !usage_device_is_listed(state->usage, i))
			continue;
		uuid_of(usage, uuid);
		said = alone.usage ? &nvml->devices[0].last : nvml_of(nvml, uuid);
		if (said && said->known & MS_DEVICE_MEMORY)
			continue;
		if (!oldest_ns || usage->told.ts_ns < oldest_ns)
			oldest_ns = usage->told.ts_ns;
	}
	return oldest_ns;
}
