// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_used.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/limits.h"

#define SAYS_NS 20000000000ull /* so long a sample, one each ten seconds, says something */

static struct history_used_device *device_of(struct history_used *used, const char *uuid)
{
	struct history_used_device *device;
	size_t i;

	for (i = 0; i < used->count; i++)
		if (!memcmp(used->devices[i].uuid, uuid, MS_UUID_BYTES))
			return &used->devices[i];
	if (used->count >= LIMIT_NVML_DEVICES ||
	    memory_grow(&used->devices, &used->capacity, used->count + 1, sizeof(*device)))
		return NULL;
	device = &used->devices[used->count++];
	*device = (struct history_used_device){ 0 };
	memcpy(device->uuid, uuid, MS_UUID_BYTES);
	return device;
}

int history_used_note(struct history_used *used, const struct event *event, uint64_t ts_ns)
{
	const struct ms_device *record = (const struct ms_device *)event->sample;
	struct history_used_device *device;

	if (event_type(event) != MS_TYPE_DEVICE || !(record->known & MS_DEVICE_MEMORY))
		return 0;
	device = device_of(used, record->uuid);
	if (!device)
		return -ENOMEM;
	device->total_bytes = record->total_bytes;
	device->sampled_ns = ts_ns;
	held_sum_set(&device->sum, record->used_bytes, ts_ns);
	return 0;
}

int history_used_take(struct history_used_device *device, uint64_t end_ns,
		      struct history_device *out)
{
	if (!device->sum.there)
		return -ENODATA;
	if (device->sampled_ns + SAYS_NS < end_ns) {
		device->sum = (struct held_sum){ 0 };
		return -ENODATA;
	}
	held_sum_advance(&device->sum, end_ns);
	*out = (struct history_device){ .total_bytes = device->total_bytes, .used_known = 1 };
	snprintf(out->key, sizeof(out->key), "%.*s", (int)sizeof(device->uuid), device->uuid);
	out->used = held_sum_take(&device->sum);
	return 0;
}

void history_used_fini(struct history_used *used)
{
	free(used->devices);
	*used = (struct history_used){ 0 };
}
