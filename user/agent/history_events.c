// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_events.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/history_names.h"

#define ROWS_OF_PROCESS 16 /* at most: what fails in one process does not hide the others */

/* The row for what is alike, which may be a new one; NULL: there are too many. */
static struct history_noted *row_of(struct history_events *events, uint64_t process,
				    const char *kind, const char *what, uint64_t ts_ms)
{
	struct history_noted *noted;
	size_t i, of_process = 0;

	for (i = 0; i < events->count; i++) {
		noted = &events->noted[i];
		if (noted->process == process && !strcmp(noted->row.kind, kind) &&
		    !strcmp(noted->row.what, what))
			return noted;
		of_process += noted->process == process;
	}
	if (i == HISTORY_EVENTS || of_process == ROWS_OF_PROCESS) {
		events->missed++;
		return NULL;
	}
	events->count++;
	noted = &events->noted[i];
	*noted = (struct history_noted){ .process = process,
					 .device = SIZE_MAX,
					 .row.ts_ms = ts_ms };
	history_names_copy(noted->row.kind, sizeof(noted->row.kind), kind);
	history_names_copy(noted->row.what, sizeof(noted->row.what), what);
	return noted;
}

static uint64_t key_of(const struct ms_event *header)
{
	return event_process_key(header->pid, header->start_ns);
}

static void count(struct history_noted *noted, uint64_t times, bool known, uint64_t bytes)
{
	noted->row.count += times;
	noted->row.bytes_known |= known;
	if (known && bytes > noted->row.bytes)
		noted->row.bytes = bytes;
}

void history_events_oom(struct history_events *events, const struct event *event,
			const struct change *change, const struct usage_totals *totals,
			uint64_t ts_ms)
{
	struct history_noted *noted =
		row_of(events, key_of(event->header), "oom", event->probe->symbol, ts_ms);

	if (!noted)
		return;
	if (totals && noted->device == SIZE_MAX)
		noted->device =
			usage_device_place(totals, &change->process->devices, change->device);
	count(noted, event->count, event->call->known & MS_KNOWN_SIZE, event->call->size);
}

void history_events_exit(struct history_events *events, const struct process *process,
			 uint64_t ts_ms)
{
	struct history_noted *noted;
	uint64_t held = 0;
	uint32_t space;
	char what[32];

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (usage_is_on_device((uint8_t)space))
			held += process->spaces[space].exit_bytes;
	if (!held || process->exit_status == MS_EXIT_UNKNOWN ||
	    !WIFSIGNALED((int)process->exit_status))
		return;
	snprintf(what, sizeof(what), "signal %d", WTERMSIG((int)process->exit_status));
	noted = row_of(events, event_process_key(process->pid, process->start_ns), "killed", what,
		       ts_ms);
	if (noted)
		count(noted, 1, true, held);
}

void history_events_loss(struct history_events *events, const struct event *event, uint64_t ts_ms)
{
	const struct ms_loss *loss = event->loss;
	struct history_noted *noted =
		row_of(events, key_of(event->header), "lost",
		       loss->op < MS_OPS_COUNT ? probe_op_name(loss->op) : "", ts_ms);

	if (noted)
		count(noted, loss->lost, false, 0);
}
