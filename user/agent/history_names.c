// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_names.h"

#include <stdio.h>
#include <string.h>

#include "history/schema.h"

void history_names_copy(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

void history_names_process(const struct process *process, struct history_process *out)
{
	const char *const *items = process->identity.known.items;
	uint32_t uid;

	memset(out, 0, sizeof(*out));
	out->pid = process->pid;
	out->start_ns = process->start_ns;
	if (process->was_running || process->was_running_earlier)
		out->inexact |= HISTORY_HELD_BEFORE;
	if (process_counters_are_inexact(process->counters))
		out->inexact |= HISTORY_MORE_OR_LESS;
	history_names_copy(out->name, sizeof(out->name), process->name);
	history_names_copy(out->user, sizeof(out->user), items[IDENTITY_USER]);
	if (!*out->user && identity_number(&process->identity.known, IDENTITY_UID, &uid))
		snprintf(out->user, sizeof(out->user), "%u", uid);
	history_names_copy(out->container, sizeof(out->container), items[IDENTITY_CONTAINER]);
	history_names_copy(out->pod, sizeof(out->pod), items[IDENTITY_POD]);
	history_names_copy(out->namespace, sizeof(out->namespace), items[IDENTITY_NAMESPACE]);
	history_names_copy(out->job, sizeof(out->job), items[IDENTITY_JOB]);
}

void history_names_device(struct history_device *out, const struct usage_totals *totals,
			  size_t place)
{
	const struct usage_device *device = &totals->devices[place];
	struct string text = { 0 };

	if (device->identity.has_uuid) {
		device_append_uuid(&text, &device->identity);
	} else if (device->identity.pci.known) {
		device_append_pci(&text, &device->identity);
	} else if (device->ordinal >= 0) {
		string_append_format(&text, "device %d", device->ordinal);
	} else {
		string_append_text(&text, "device unknown");
	}
	snprintf(out->key, sizeof(out->key), "%.*s", (int)text.length,
		 text.length ? text.bytes : "");
	string_fini(&text);
}
