// SPDX-License-Identifier: BSD-2-Clause
/*
 * What processes held when they ended by themselves: what nothing had freed by then.
 */
#include "report/report.h"

#include <sys/wait.h>

bool report_ended_by_itself(const struct process *process)
{
	return process->exited && process->exit_status != MS_EXIT_UNKNOWN &&
	       WIFEXITED(process->exit_status);
}

const struct process *report_left_most(const struct report_recording *recording, uint64_t least,
				       size_t *count)
{
	const struct process *found = NULL;
	size_t i;

	*count = 0;
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const uint64_t bytes = report_held_on_devices(process);

		if (!report_ended_by_itself(process) || bytes < least)
			continue;
		++*count;
		if (!found || bytes > report_held_on_devices(found))
			found = process;
	}
	return found;
}

/* Processes that are only summed up: how much each of them left is not known. */
static bool may_hide(const struct report_recording *recording, uint64_t least)
{
	return report_has_more(recording) &&
	       report_held_on_devices(recording->state->more) >= least;
}

const char *report_blind_to_left(const struct report_recording *recording, uint64_t least)
{
	const struct report_coverage *coverage = &recording->coverage;
	size_t ended = 0;

	if (report_not_captured(coverage, MS_OP_ALLOC) || report_not_captured(coverage, MS_OP_FREE))
		return "allocations or frees were not captured";
	if (!recording->called)
		return "no call was recorded";
	report_left_most(recording, 0, &ended);
	if (!ended && !report_has_more(recording))
		return "no process ended by itself in that time";
	if (report_lacks_memory(coverage) || report_lacks_blocks(recording))
		return "records were lost";
	return may_hide(recording, least) ?
		       "processes that are only summed up left so much together" :
		       NULL;
}
