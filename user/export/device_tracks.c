// SPDX-License-Identifier: BSD-2-Clause
#include "export/device_tracks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct traces_device {
	uint64_t id; /* the next one is of what programs were told */
	uint64_t live_bytes;
	bool shown, told;
	char name[80];
};

/* `row`: of the state's usage. */
static struct traces_device *device_of(struct traces *traces, size_t row)
{
	const uint64_t *found = map_get(&traces->devices, row);
	struct traces_device *device;

	if (found)
		return (struct traces_device *)(uintptr_t)*found;
	device = calloc(1, sizeof(*device));
	if (!device || map_set(&traces->devices, row, (uintptr_t)device)) {
		free(device);
		traces->err = -ENOMEM;
		return NULL;
	}
	device->id = traces->next_id;
	traces->next_id += 2;
	string_restart(&traces->scratch, &traces->err);
	string_append_text(&traces->scratch, "device ");
	usage_device_append_label(&traces->scratch, traces->recording->state->usage, row);
	if (!traces->scratch.failed && traces->scratch.length < sizeof(device->name))
		memcpy(device->name, traces->scratch.bytes, traces->scratch.length);
	return device;
}

static void look_at_device(struct traces *traces, size_t row, uint64_t ts_ns)
{
	const struct usage_device *usage = &traces->recording->state->usage->devices[row];
	char name[128];
	struct traces_counter counter = { .name = name, .is_bytes = true };
	struct traces_device *device = usage->used ? device_of(traces, row) : NULL;

	if (!device || device->live_bytes == usage->live_bytes)
		return;
	device->live_bytes = usage->live_bytes;
	snprintf(name, sizeof(name), "%s live, of all processes", device->name);
	counter.id = device->id;
	counter.share = device->name;
	counter.is_new = !device->shown;
	device->shown = true;
	traces_count(traces, &counter, ts_ns, device->live_bytes);
}

/* Those that have changed: there may be many, and every call asks. */
void device_tracks_look(struct traces *traces, uint64_t ts_ns)
{
	const struct usage_totals *usage = traces->recording->state->usage;
	size_t i;

	if (!usage)
		return;
	if (usage->changes - traces->changes > USAGE_CHANGED) {
		for (i = 0; i < usage->count; i++)
			look_at_device(traces, i, ts_ns);
		traces->changes = usage->changes;
	}
	for (; traces->changes != usage->changes; traces->changes++)
		look_at_device(traces, usage->changed[traces->changes % USAGE_CHANGED], ts_ns);
}

/* What the program was told by cuMemGetInfo. */
void device_tracks_told(struct traces *traces, const struct event *event,
			const struct change *change, uint64_t ts_ns)
{
	const uint16_t both = MS_KNOWN_SIZE | MS_KNOWN_SRC;
	const struct ms_call *call = event->call;
	const struct usage_device *row;
	struct traces_device *device;
	char name[128];
	struct traces_counter counter = { .name = name, .is_bytes = true };

	if (event->probe->spec.action != MS_ACTION_DEVICE_INFO || !event_succeeded(call) ||
	    (call->known & both) != both || call->src > call->size)
		return;
	row = change->process->usage ? usage_device_of(change->process->usage, change->device) :
				       NULL;
	device = row ? device_of(traces, (size_t)(row - traces->recording->state->usage->devices)) :
		       NULL;
	if (!device)
		return;
	snprintf(name, sizeof(name), "%s used, as the driver reported", device->name);
	counter.id = device->id + 1;
	counter.share = device->name;
	counter.is_new = !device->told;
	device->told = true;
	traces_count(traces, &counter, ts_ns, call->size - call->src);
}

void device_tracks_forget(struct traces *traces)
{
	size_t i;

	for (i = 0; i < traces->devices.capacity; i++)
		if (map_is_used(&traces->devices, i))
			free((void *)(uintptr_t)traces->devices.slots[i].value);
	map_fini(&traces->devices);
	traces->changes = UINT64_MAX / 2; /* all are looked at */
}
