// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/failures.h"

#include <errno.h>

#include "base/memory.h"

int failures_add(struct process *process, const struct failure *failure)
{
	const uint64_t key = (uint64_t)failure->row << 32 | (uint32_t)failure->result;
	const uint64_t *place = map_get(&process->failure_places, key);

	if (place) {
		process->failures[*place].count += failure->count;
		return 0;
	}
	if (process->failures_count >= LIMIT_FAILURES) {
		process->counters[COUNTER_OTHER_FAILURES] += failure->count;
		return 0;
	}
	if (memory_grow(&process->failures, &process->failures_capacity,
			process->failures_count + 1, sizeof(*process->failures)) ||
	    map_set(&process->failure_places, key, process->failures_count))
		return -ENOMEM;
	process->failures[process->failures_count++] = *failure;
	return 0;
}

static void note_refused(struct process *process, const struct event *event)
{
	struct refused *refused = &process->refused;

	if (event->call->flags & MS_CALL_PART || !(event->call->known & MS_KNOWN_RESULT) ||
	    event->call->result != MS_CUDA_OUT_OF_MEMORY)
		return;
	if (!refused->count)
		refused->first_ts_ns = event->header->ts_ns;
	refused->last_ts_ns = event->header->ts_ns;
	refused->count += event->count;
}

/* Whether memory of a device was asked for, and there was none left. */
static bool is_out_of_memory(const struct event *event)
{
	const struct ms_spec *spec = &event->probe->spec;

	return event->header->type == MS_TYPE_CALL && spec->op == MS_OP_ALLOC &&
	       (spec->space == MS_SPACE_DEVICE || spec->space == MS_SPACE_PHYSICAL) &&
	       event->call->known & MS_KNOWN_RESULT && event->call->result == MS_CUDA_OUT_OF_MEMORY;
}

int failures_note(struct process *process, const struct event *event, int32_t device)
{
	const struct failure failure = { .row = event->call->row,
					 .result = event->call->result,
					 .count = event->count };
	const int err = failures_add(process, &failure);

	note_refused(process, event);
	return !err && is_out_of_memory(event) ? tensors_call_failed(process, event, device) : err;
}

void failures_forget(struct process *process)
{
	process->failures_count = 0;
	process->refused = (struct refused){ 0 };
	map_fini(&process->failure_places);
}
