// SPDX-License-Identifier: BSD-2-Clause
/*
 * What processes held when they ended by themselves: what nothing had freed by then.
 */
#include "report/report.h"

#include <sys/wait.h>

#include "ledger/process.h"

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

uint64_t report_left_bytes(const struct report_recording *recording)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		bytes += process_left_bytes(recording->processes[i].process);
	return bytes;
}

uint64_t report_grown_bytes(const struct report_recording *recording)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule == FINDING_LEAK_GROWTH && !finding->freed &&
		    usage_is_on_device(finding->space))
			bytes += finding->bytes;
	}
	return bytes;
}

static bool called(const struct process *process)
{
	enum ms_op op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (process->calls[op])
			return true;
	return false;
}

/* A shell that only starts the program has nothing to leave. */
static bool had_memory(const struct process *process)
{
	return process->calls[MS_OP_ALLOC] || report_held_on_devices(process) ||
	       (process->was_running && called(process));
}

/* Why it is not known whether the process ended by itself and left so much; NULL: it is. */
static const char *unsure_of(const struct process *process, uint64_t least)
{
	const bool end_known = process->exit_status != MS_EXIT_UNKNOWN;

	if (!had_memory(process) || !process->exited ||
	    (end_known && !report_ended_by_itself(process)))
		return NULL;
	if (process->entries_only)
		return "only the beginnings of calls were recorded";
	if (process->was_running)
		return "what processes held before they were attached to is not known";
	return !end_known && report_held_on_devices(process) >= least ?
		       "whether a process that held so much ended by itself is not known" :
		       NULL;
}

static const char *blind_to_ends(const struct report_recording *recording, uint64_t least)
{
	size_t had = 0, ended = 0, i;
	const char *why = NULL;

	for (i = 0; !why && i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		why = unsure_of(process, least);
		had += had_memory(process);
		ended += had_memory(process) && report_ended_by_itself(process);
	}
	if (why || !report_has_more(recording))
		return why || ended || !had ?
			       why :
			       "no process that allocated memory ended by itself in that time";
	return unsure_of(recording->state->more, least);
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
	const char *why;

	if (report_not_captured(coverage, MS_OP_ALLOC) || report_not_captured(coverage, MS_OP_FREE))
		return "allocations or frees were not captured";
	if (!recording->called)
		return "no call was recorded";
	why = blind_to_ends(recording, least);
	if (why)
		return why;
	if (report_lacks_memory(coverage) || report_lacks_blocks(recording))
		return "records were lost";
	return may_hide(recording, least) ?
		       "processes that are only summed up left so much together" :
		       NULL;
}
