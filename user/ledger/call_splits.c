// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/call_splits.h"

void call_splits_apply(struct process *process, const struct event *event)
{
	const struct ms_split_call *split = event->split;

	/* The time of one that another call made is a part of that one's. */
	if (!split || split->call.flags & (MS_CALL_NESTED | MS_CALL_PART))
		return;
	call_splits_add(&process->splits[event->probe->spec.op],
			&(struct call_split){ .calls = 1,
					      .total_ns = split->call.duration_ns,
					      .runnable_ns = split->runnable_ns,
					      .blocked_ns = split->blocked_ns });
}

void call_splits_add(struct call_split *to, const struct call_split *more)
{
	to->calls += more->calls;
	to->total_ns += more->total_ns;
	to->runnable_ns += more->runnable_ns;
	to->blocked_ns += more->blocked_ns;
}

uint64_t call_splits_running_ns(const struct call_split *split)
{
	const uint64_t off_ns = split->runnable_ns + split->blocked_ns;

	return off_ns < split->total_ns ? split->total_ns - off_ns : 0;
}

struct call_split call_splits_sum(const struct process *process)
{
	struct call_split sum = { 0 };
	size_t i;

	for (i = 0; i < MS_OPS_COUNT; i++)
		call_splits_add(&sum, &process->splits[i]);
	return sum;
}
