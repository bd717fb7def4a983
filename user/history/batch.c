// SPDX-License-Identifier: BSD-2-Clause
#include "history/batch.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x314853434d454dull /* "MEMCSH1" */

struct head {
	uint64_t magic;
	uint64_t start_ms, ms;
	char boot[40];
	uint32_t devices, processes, memory, events;
};

void history_batch_append(struct string *out, const struct history_batch *batch)
{
	struct head head = {
		.magic = MAGIC,
		.start_ms = batch->start_ms,
		.ms = batch->ms,
		.devices = batch->devices_count,
		.processes = batch->processes_count,
		.memory = batch->memory_count,
		.events = batch->events_count,
	};

	memcpy(head.boot, batch->boot, sizeof(head.boot));
	string_append(out, (const char *)&head, sizeof(head));
	string_append(out, (const char *)batch->devices,
		      batch->devices_count * sizeof(*batch->devices));
	string_append(out, (const char *)batch->processes,
		      batch->processes_count * sizeof(*batch->processes));
	string_append(out, (const char *)batch->memory,
		      batch->memory_count * sizeof(*batch->memory));
	string_append(out, (const char *)batch->events,
		      batch->events_count * sizeof(*batch->events));
}

#define IS_TEXT(array) (memchr(array, '\0', sizeof(array)) != NULL)

static bool is_position(uint32_t position, uint32_t count)
{
	return position == HISTORY_NONE || position < count;
}

static bool are_texts(const struct history_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->devices_count; i++)
		if (!IS_TEXT(batch->devices[i].key) || !IS_TEXT(batch->devices[i].name))
			return false;
	for (i = 0; i < batch->processes_count; i++) {
		const struct history_process *process = &batch->processes[i];

		if (!IS_TEXT(process->name) || !IS_TEXT(process->user) ||
		    !IS_TEXT(process->container) || !IS_TEXT(process->pod) ||
		    !IS_TEXT(process->namespace) || !IS_TEXT(process->job))
			return false;
	}
	return IS_TEXT(batch->boot);
}

static bool are_references(const struct history_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->memory_count; i++)
		if (batch->memory[i].process >= batch->processes_count ||
		    !is_position(batch->memory[i].device, batch->devices_count) ||
		    !IS_TEXT(batch->memory[i].space))
			return false;
	for (i = 0; i < batch->events_count; i++)
		if (!is_position(batch->events[i].process, batch->processes_count) ||
		    !is_position(batch->events[i].device, batch->devices_count) ||
		    !IS_TEXT(batch->events[i].kind) || !IS_TEXT(batch->events[i].what))
			return false;
	return true;
}

int history_batch_parse(struct history_batch *batch, const void *bytes, size_t length)
{
	const struct head *head = bytes;
	size_t expected = sizeof(*head);

	if (length < expected || head->magic != MAGIC)
		return -EINVAL;
	/* Counts of 32 bits, times less than a KiB: this does not overflow. */
	expected += head->devices * sizeof(struct history_device) +
		    head->processes * sizeof(struct history_process) +
		    head->memory * sizeof(struct history_memory) +
		    head->events * sizeof(struct history_event);
	if (length != expected)
		return -EINVAL;
	*batch = (struct history_batch){ .start_ms = head->start_ms,
					 .ms = head->ms,
					 .devices_count = head->devices,
					 .processes_count = head->processes,
					 .memory_count = head->memory,
					 .events_count = head->events };
	memcpy(batch->boot, head->boot, sizeof(batch->boot));
	batch->devices = (const void *)(head + 1);
	batch->processes = (const void *)(batch->devices + head->devices);
	batch->memory = (const void *)(batch->processes + head->processes);
	batch->events = (const void *)(batch->memory + head->memory);
	return are_texts(batch) && are_references(batch) ? 0 : -EINVAL;
}
