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

void failures_forget(struct process *process)
{
	process->failures_count = 0;
	map_fini(&process->failure_places);
}
