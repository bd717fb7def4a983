/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happened in an interval of the history besides amounts: calls that failed because memory had
 * run out, processes that were killed while they held memory, and records that were lost. What is
 * alike of one process is one row.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_EVENTS_H
#define MEMSCOPE_AGENT_HISTORY_EVENTS_H

#include <stddef.h>

#include "history/batch.h"
#include "ledger/state.h"

#define HISTORY_EVENTS 64 /* rows of an interval */

struct history_noted {
	uint64_t process;         /* event_process_key() */
	size_t device;            /* position in the state's usage; SIZE_MAX: not known, or none */
	struct history_event row; /* its positions are not set */
};

/* A zeroed one is empty. */
struct history_events {
	struct history_noted noted[HISTORY_EVENTS];
	size_t count;
	uint64_t missed; /* had no place */
};

/* All take the time in milliseconds since 1970. */
void history_events_oom(struct history_events *events, const struct event *event,
			const struct change *change, const struct usage_totals *totals,
			uint64_t ts_ms);

/* Does nothing unless a signal has ended it, and it held memory of a device. */
void history_events_exit(struct history_events *events, const struct process *process,
			 uint64_t ts_ms);
void history_events_loss(struct history_events *events, const struct event *event, uint64_t ts_ms);

#endif /* MEMSCOPE_AGENT_HISTORY_EVENTS_H */
