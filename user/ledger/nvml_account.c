// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/nvml_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/driver_devices.h"
#include "ledger/limits.h"
#include "ledger/state.h"
#include "ledger/usage.h"

#define UUID_DIGITS ((size_t)2 * DEVICE_UUID_BYTES)

bool nvml_is_behind_allocations(enum driver_cause cause)
{
	return cause == DRIVER_CAUSE_ALLOCATIONS || cause == DRIVER_CAUSE_PHYSICAL ||
	       cause == DRIVER_CAUSE_POOLS;
}

/* Managed memory is nowhere for certain, and NVML does not count it (docs/real-hardware.md). */
static bool is_counted(uint8_t space)
{
	return space == MS_SPACE_DEVICE || space == MS_SPACE_ARRAY || space == MS_SPACE_PHYSICAL ||
	       space == MS_SPACE_POOL || space == MS_SPACE_GRAPH;
}

static uint64_t allocated(const struct process *process)
{
	uint64_t bytes = 0;
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (is_counted((uint8_t)space))
			bytes += process->spaces[space].live_bytes;
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

static uint64_t least(uint64_t count, uint64_t least_bytes, const struct nvml_sample *sample)
{
	const uint64_t bytes = unseen(sample);

	return count == 1 || bytes < least_bytes ? bytes : least_bytes;
}

/* ---- what is on which device ----------------------------------------------------------------- */

static struct nvml_seen *seen_on(const struct nvml_account *account, int32_t device)
{
	size_t i;

	for (i = 0; i < account->seen_count; i++)
		if (account->seen[i].device == device)
			return &account->seen[i];
	return NULL;
}

/* NULL without memory. */
static struct nvml_seen *make_seen(struct nvml_account *account, int32_t device)
{
	struct nvml_seen *seen = seen_on(account, device);

	if (seen)
		return seen;
	if (memory_grow(&account->seen, &account->seen_capacity, account->seen_count + 1,
			sizeof(*account->seen)))
		return NULL;
	seen = &account->seen[account->seen_count++];
	*seen = (struct nvml_seen){ .device = device };
	return seen;
}

static int note_allocated(struct nvml_account *account, const struct process *process)
{
	const struct usage *usage = process->usage;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; usage && i < usage->count; i++) {
		const struct usage_cell *cell = &usage->cells[i];
		struct nvml_seen *seen;

		if (!is_counted(cell->space) || !cell->live_bytes)
			continue;
		seen = make_seen(account, cell->device);
		if (!seen)
			return -ENOMEM;
		seen->allocated_bytes += cell->live_bytes;
		sum += cell->live_bytes;
	}
	account->allocations_placed = sum == account->last.allocated_bytes;
	return 0;
}

static int note_objects(struct nvml_account *account, const struct driver_objects *objects)
{
	size_t i, cause;

	for (i = 0; !objects->groups_ended && i < objects->groups_count; i++) {
		const struct driver_group *group = &objects->groups[i];
		struct nvml_seen *seen;

		if (!group->live_count)
			continue;
		seen = make_seen(account, group->device);
		if (!seen)
			return -ENOMEM;
		for (cause = 0; cause < DRIVER_CAUSES_COUNT; cause++)
			seen->causes[cause] += group->causes[cause];
	}
	return 0;
}

static bool is_current(const struct nvml_account *account, const struct nvml_place *place)
{
	return place->ts_ns == account->last.ts_ns;
}

/* What stands behind GPU- or, of a part of a device, MIG-. Returns false if it is no UUID. */
static bool read_uuid(const char text[MS_UUID_BYTES], uint8_t uuid[DEVICE_UUID_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	const char *dash = memchr(text, '-', MS_UUID_BYTES);
	size_t digits = 0, i;

	memset(uuid, 0, DEVICE_UUID_BYTES);
	for (i = dash ? (size_t)(dash - text) : MS_UUID_BYTES; i < MS_UUID_BYTES && text[i]; i++) {
		const char *digit = strchr(hex, text[i]);

		if (text[i] == '-')
			continue;
		if (!digit || digits == UUID_DIGITS)
			return false;
		uuid[digits / 2] |= (uint8_t)((digit - hex) << (digits % 2 ? 0 : 4));
		digits++;
	}
	return digits == UUID_DIGITS;
}

int32_t nvml_account_ordinal(const struct process *process, const char text[MS_UUID_BYTES])
{
	const struct process_devices *devices = &process->devices;
	uint8_t uuid[DEVICE_UUID_BYTES];
	size_t i;

	if (!read_uuid(text, uuid))
		return -1;
	for (i = 0; i < devices->count; i++)
		if (devices->devices[i].identity.has_uuid &&
		    !memcmp(devices->devices[i].identity.uuid, uuid, sizeof(uuid)))
			return devices->devices[i].ordinal;
	return -1;
}

static bool is_claimed(const struct nvml_account *account, int32_t device)
{
	size_t i;

	for (i = 0; i < account->places_count; i++)
		if (is_current(account, &account->places[i]) && account->places[i].device == device)
			return true;
	return false;
}

static size_t current_places(const struct nvml_account *account)
{
	size_t count = 0, i;

	for (i = 0; i < account->places_count; i++)
		count += is_current(account, &account->places[i]);
	return count;
}

/* What is left for a place whose device is not known, if all other places' are. */
static bool seen_by_elimination(const struct nvml_account *account, const struct nvml_seen **seen)
{
	size_t i, places = 0, left = 0;

	for (i = 0; i < account->places_count; i++)
		places += is_current(account, &account->places[i]) && account->places[i].device < 0;
	for (i = 0; i < account->seen_count; i++)
		if (!is_claimed(account, account->seen[i].device)) {
			*seen = &account->seen[i];
			left++;
		}
	return places == 1 && left <= 1;
}

/* What was seen on that device; false: not known. */
static bool sample_of(const struct nvml_account *account, const struct nvml_place *place,
		      struct nvml_sample *sample)
{
	const struct nvml_seen *seen = NULL;

	*sample = account->last;
	sample->used_bytes = place->used_bytes;
	if (current_places(account) == 1)
		return true;
	if (!account->allocations_placed || seen_on(account, -1))
		return false;
	if (place->device >= 0)
		seen = seen_on(account, place->device);
	else if (!seen_by_elimination(account, &seen))
		return false;
	sample->allocated_bytes = seen ? seen->allocated_bytes : 0;
	memset(sample->causes, 0, sizeof(sample->causes));
	if (seen)
		memcpy(sample->causes, seen->causes, sizeof(sample->causes));
	return true;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Of the last sample, before there is another one. */
static void note_least(struct nvml_account *account)
{
	struct nvml_sample sample;
	size_t i;

	if (account->count)
		account->least_bytes = least(account->count, account->least_bytes, &account->last);
	for (i = 0; i < account->places_count; i++) {
		struct nvml_place *place = &account->places[i];

		if (is_current(account, place) && sample_of(account, place, &sample))
			place->least_bytes = least(++place->count, place->least_bytes, &sample);
	}
}

static int take(struct nvml_account *account, const struct process *process, uint64_t ts_ns)
{
	struct nvml_sample *sample = &account->last;
	size_t i;

	note_least(account);
	account->count++;
	*sample = (struct nvml_sample){ .ts_ns = ts_ns,
					.allocated_bytes = allocated(process),
					.objects_seen = process->driver.seen };
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		sample->causes[i] = process->driver.causes[i].live_bytes;
	account->seen_count = 0;
	if (note_allocated(account, process) || note_objects(account, &process->driver))
		return -ENOMEM;
	return 0;
}

static int note_place(struct nvml_account *account, const struct process *process,
		      const struct ms_held *record)
{
	struct nvml_place *place = NULL;
	size_t i;

	for (i = 0; i < account->places_count && !place; i++)
		if (!memcmp(account->places[i].uuid, record->uuid, MS_UUID_BYTES))
			place = &account->places[i];
	if (!place && account->places_count >= LIMIT_NVML_DEVICES)
		return 0;
	if (!place) {
		if (memory_grow(&account->places, &account->places_capacity,
				account->places_count + 1, sizeof(*account->places)))
			return -ENOMEM;
		place = &account->places[account->places_count++];
		*place = (struct nvml_place){ .device = -1 };
		memcpy(place->uuid, record->uuid, MS_UUID_BYTES);
	}
	if (place->device < 0)
		place->device = nvml_account_ordinal(process, place->uuid);
	/* The same device twice in a sample: NVML lists parts of it. */
	if (place->ts_ns != record->event.ts_ns)
		place->used_bytes = 0;
	place->ts_ns = record->event.ts_ns;
	place->used_bytes += record->used_bytes;
	return 0;
}

int nvml_account_apply(struct process *process, const struct ms_held *record)
{
	struct nvml_account *account = &process->nvml;
	int err = 0;

	if (process->exited)
		return 0;
	if (!account->count || account->last.ts_ns != record->event.ts_ns)
		err = take(account, process, record->event.ts_ns);
	account->last.used_bytes += record->used_bytes;
	if (account->last.used_bytes > account->peak_bytes) {
		account->peak_bytes = account->last.used_bytes;
		account->peak_ts_ns = account->last.ts_ns;
	}
	return err ? err : note_place(account, process, record);
}

void nvml_account_fini(struct nvml_account *account)
{
	free(account->places);
	free(account->seen);
	*account = (struct nvml_account){ 0 };
}

void nvml_account_forget(struct nvml_account *account)
{
	nvml_account_fini(account);
}

void nvml_account_restart(struct nvml_account *account)
{
	account->peak_bytes = account->last.used_bytes;
	account->peak_ts_ns = account->last.ts_ns;
}

/* ---- taken apart ----------------------------------------------------------------------------- */

/* `before_bytes`: the least that earlier samples left unseen; UINT64_MAX: there was none. */
static void take_apart(const struct nvml_sample *sample, bool held_before, uint64_t before_bytes,
		       struct nvml_parts *parts)
{
	const uint64_t rest = unseen(sample);
	size_t i;

	*parts = (struct nvml_parts){ .used_bytes = sample->used_bytes,
				      .allocated_bytes = sample->allocated_bytes };
	if (sample->objects_seen)
		parts->slack_bytes = -(int64_t)sample->allocated_bytes;
	for (i = 0; sample->objects_seen && i < DRIVER_CAUSES_COUNT; i++)
		if (nvml_is_behind_allocations(i))
			parts->slack_bytes += (int64_t)sample->causes[i];
		else
			parts->causes[i] = sample->causes[i];
	/* What was there only becomes less: what comes on top of the least is not from before. */
	if (held_before)
		parts->before_bytes = before_bytes < rest ? before_bytes : rest;
	parts->unexplained_bytes =
		(int64_t)(sample->used_bytes - seen(sample) - parts->before_bytes);
}

/* From before its calls, or its requests of the driver, were seen. */
static bool may_hold_more(const struct process *process)
{
	return state_may_hold_more(process) || process->driver.missed_ns;
}

bool nvml_account_parts(const struct process *process, struct nvml_parts *parts)
{
	const struct nvml_account *account = &process->nvml;

	*parts = (struct nvml_parts){ 0 };
	if (!account->count)
		return false;
	take_apart(&account->last, may_hold_more(process),
		   account->count > 1 ? account->least_bytes : UINT64_MAX, parts);
	return true;
}

size_t nvml_account_devices(const struct process *process)
{
	return current_places(&process->nvml);
}

void nvml_account_device(const struct process *process, size_t which, struct nvml_on_device *out)
{
	const struct nvml_account *account = &process->nvml;
	const struct nvml_place *place = account->places;
	struct nvml_sample sample;

	while (!is_current(account, place) || which--)
		place++;
	*out = (struct nvml_on_device){ .uuid = place->uuid,
					.device = place->device,
					.used_bytes = place->used_bytes,
					.known = sample_of(account, place, &sample) };
	if (out->known)
		take_apart(&sample, may_hold_more(process),
			   place->count ? place->least_bytes : UINT64_MAX, &out->parts);
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
	if (record->known & MS_DEVICE_MEMORY)
		device->memory_ts_ns = record->event.ts_ns;
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
