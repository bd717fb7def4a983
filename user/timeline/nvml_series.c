// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/nvml_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char *const names[] = {
#define X(share, name, description) name,
	NVML_SHARES(X)
#undef X
};

static const char *const descriptions[] = {
#define X(share, name, description) description,
	NVML_SHARES(X)
#undef X
};

const char *nvml_share_name(enum nvml_share share)
{
	return names[share];
}

const char *nvml_share_description(enum nvml_share share)
{
	return descriptions[share];
}

static struct nvml_series_device *find(struct nvml_series *series, const char *uuid)
{
	size_t i;

	for (i = 0; i < series->count; i++)
		if (!memcmp(series->devices[i].last.uuid, uuid, MS_UUID_BYTES))
			return &series->devices[i];
	return NULL;
}

/* ---- a sample, taken apart ------------------------------------------------------------------- */

/* What is left of a process's number is divided up, part by part. */
static void divide(struct nvml_moment *moment, enum nvml_share share, uint64_t bytes,
		   uint64_t *left)
{
	const uint64_t part = bytes < *left ? bytes : *left;

	moment->shares[share] += part;
	*left -= part;
}

static void add_process(struct nvml_moment *moment, const struct nvml_on_device *device)
{
	const struct nvml_parts *parts = &device->parts;
	uint64_t left = device->used_bytes, allocated = parts->allocated_bytes, rest = 0;

	if (!device->known) {
		moment->shares[NVML_SHARE_UNKNOWN] += left;
		return;
	}
	/* Pieces that were there before have the rest of what is allocated. */
	if (parts->slack_bytes < 0)
		allocated -= (uint64_t)-parts->slack_bytes;
	else
		rest = (uint64_t)parts->slack_bytes;
	divide(moment, NVML_SHARE_ALLOCATED, allocated, &left);
	divide(moment, NVML_SHARE_CONTEXTS,
	       parts->causes[DRIVER_CAUSE_CONTEXTS] + parts->causes[DRIVER_CAUSE_CODE] +
		       parts->causes[DRIVER_CAUSE_LAUNCHES],
	       &left);
	divide(moment, NVML_SHARE_OTHER_CALLS,
	       parts->causes[DRIVER_CAUSE_OTHER_CALLS] + parts->causes[DRIVER_CAUSE_NO_CALL],
	       &left);
	divide(moment, NVML_SHARE_SLACK, rest, &left);
	divide(moment, NVML_SHARE_BEFORE, parts->before_bytes, &left);
	moment->shares[NVML_SHARE_UNEXPLAINED] += left;
}

static void add_processes(struct nvml_moment *moment, const struct nvml_series_device *device,
			  const struct state *state)
{
	struct nvml_on_device on;
	size_t i, j;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (!process->nvml.count || process->nvml.last.ts_ns != moment->ts_ns)
			continue;
		for (j = 0; j < nvml_account_devices(process); j++) {
			nvml_account_device(process, j, &on);
			if (!memcmp(on.uuid, device->last.uuid, MS_UUID_BYTES))
				add_process(moment, &on);
		}
	}
}

/* Every second one goes. */
static void thin_out(struct nvml_series_device *device)
{
	size_t i;

	for (i = 0; 2 * i < device->count; i++)
		device->moments[i] = device->moments[2 * i];
	device->count = i;
	device->step *= 2;
}

static uint64_t difference(uint64_t one, uint64_t other)
{
	return one > other ? one - other : 0;
}

static void settle(struct nvml_series *series, struct nvml_series_device *device,
		   const struct state *state)
{
	const struct ms_device *last = &device->last;
	struct nvml_moment moment = { .ts_ns = last->event.ts_ns };
	uint64_t traced = 0, told = 0;
	size_t i;

	if (!device->pending)
		return;
	device->pending = false;
	if (device->seen++ % device->step)
		return;
	if (device->count == NVML_SERIES_MOST)
		thin_out(device);
	if (memory_grow(&device->moments, &device->capacity, device->count + 1,
			sizeof(*device->moments))) {
		series->incomplete = true;
		return;
	}
	add_processes(&moment, device, state);
	for (i = 0; i < NVML_SHARES_COUNT; i++)
		traced += moment.shares[i];
	moment.shares[NVML_SHARE_UNKNOWN] += difference(device->traced_bytes, traced);
	traced += difference(device->traced_bytes, traced);
	if (last->known & MS_DEVICE_PROCESSES)
		told = last->processes_bytes;
	moment.shares[NVML_SHARE_OTHERS] = difference(told, traced);
	if (last->known & MS_DEVICE_MEMORY)
		moment.shares[NVML_SHARE_NO_PROCESS] =
			difference(last->used_bytes, told > traced ? told : traced);
	device->moments[device->count++] = moment;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The devices of a moment come before their processes. */
static void note_device(struct nvml_series *series, const struct state *state,
			const struct ms_device *record)
{
	struct nvml_series_device *device = find(series, record->uuid);

	if (!device && series->count >= NVML_SERIES_DEVICES)
		return;
	if (!device) {
		if (memory_grow(&series->devices, &series->capacity, series->count + 1,
				sizeof(*series->devices))) {
			series->incomplete = true;
			return;
		}
		device = &series->devices[series->count++];
		*device = (struct nvml_series_device){ .step = 1 };
	}
	settle(series, device, state);
	device->last = *record;
	device->traced_bytes = 0;
	device->pending = true;
}

void nvml_series_record(struct nvml_series *series, const struct state *state,
			const struct event *event)
{
	const struct ms_held *held = (const struct ms_held *)event->sample;
	struct nvml_series_device *device;

	if (event->header->type == MS_TYPE_DEVICE) {
		note_device(series, state, (const struct ms_device *)event->sample);
		return;
	}
	if (event->header->type != MS_TYPE_HELD)
		return;
	device = find(series, held->uuid);
	if (device && device->last.event.ts_ns == held->event.ts_ns)
		device->traced_bytes += held->used_bytes;
}

void nvml_series_finish(struct nvml_series *series, const struct state *state)
{
	size_t i;

	for (i = 0; i < series->count; i++)
		settle(series, &series->devices[i], state);
}

size_t nvml_series_bytes(const struct nvml_series *series)
{
	size_t bytes = series->capacity * sizeof(*series->devices), i;

	for (i = 0; i < series->count; i++)
		bytes += series->devices[i].capacity * sizeof(struct nvml_moment);
	return bytes;
}

void nvml_series_fini(struct nvml_series *series)
{
	size_t i;

	for (i = 0; i < series->count; i++)
		free(series->devices[i].moments);
	free(series->devices);
	*series = (struct nvml_series){ 0 };
}
