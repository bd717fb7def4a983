// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/effort.h"

#define MOST (1u << 20) /* at once: what all graphs of a process can have */
#define NS_EACH 1000    /* of a process's time */

/* For all processes together: it is not given back. */
static bool is_too_much(const struct effort_limit *all, uint64_t count)
{
	return all && all->spent + count > all->most;
}

void effort_advance(struct process *process, uint64_t ts_ns)
{
	uint64_t earned;

	if (ts_ns <= process->effort_ts_ns)
		return;
	earned = (ts_ns - process->effort_ts_ns) / NS_EACH;
	process->effort_ts_ns += earned * NS_EACH;
	process->effort -= earned < process->effort ? earned : process->effort;
}

bool effort_pay(struct process *process, uint64_t count)
{
	if (process->effort + count > MOST || is_too_much(process->effort_of_all, count))
		return false;
	process->effort += count;
	if (process->effort_of_all)
		process->effort_of_all->spent += count;
	return true;
}
