// SPDX-License-Identifier: BSD-2-Clause
/*
 * The most that was held at a time: on a device by all processes, or by a process alone.
 */
#include "report/report.h"

#include "report/report_devices.h"

const struct report_device *report_fullest(const struct report_recording *recording)
{
	const struct report_device *found = NULL;
	size_t i;

	for (i = 0; i < recording->devices_count; i++)
		if (!found || recording->devices[i].peak_bytes > found->peak_bytes)
			found = &recording->devices[i];
	return found;
}

struct report_own_peak report_own_peak(const struct report_recording *recording,
				       const struct process *process)
{
	const struct holdings_process *holding =
		holdings_find(&recording->holdings, process->pid, process->start_ns);
	struct report_own_peak peak = { .process = process };
	enum ms_space space;

	if (holding) {
		peak.bytes = holding->on_devices_bytes;
		peak.ts_ns = holding->on_devices_ts_ns;
	}
	/* What was before the part that is reported is in these alone. */
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!usage_is_on_device(space) || process->spaces[space].peak_bytes <= peak.bytes)
			continue;
		peak.bytes = process->spaces[space].peak_bytes;
		peak.ts_ns = process->spaces[space].peak_ts_ns;
	}
	return peak;
}

/* Whether a part of what it held at most may have been elsewhere than on the device asked for. */
static bool may_be_elsewhere(const struct report_recording *recording,
			     const struct process *process)
{
	size_t i;

	if (recording->options.device < 0)
		return false;
	for (i = 0; process->usage && i < process->usage->count; i++)
		if (usage_is_on_device(process->usage->cells[i].space) &&
		    !report_devices_asked(recording, process->usage->cells[i].device))
			return true;
	return !process->usage;
}

struct report_own_peak report_highest_peak(const struct report_recording *recording, uint64_t least,
					   size_t *count)
{
	struct report_own_peak found = { 0 };
	size_t i;

	*count = 0;
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const struct report_own_peak peak = report_own_peak(recording, process);

		if (peak.bytes < least || may_be_elsewhere(recording, process))
			continue;
		++*count;
		if (!found.process || peak.bytes > found.bytes)
			found = peak;
	}
	return found;
}

static bool may_have_reached(const struct report_recording *recording, uint64_t least)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (report_own_peak(recording, recording->processes[i].process).bytes >= least)
			return true;
	return false;
}

/* Whether each PID that is asked for is that of a process that was recorded. */
static bool has_all_pids(const struct report_recording *recording)
{
	size_t found = 0, i, j;

	for (i = 0; i < recording->options.pids_count; i++) {
		for (j = 0; j < recording->processes_count; j++)
			if (recording->processes[j].process->pid == recording->options.pids[i])
				break;
		found += j < recording->processes_count;
	}
	return found && found == recording->options.pids_count;
}

/* Whether processes that were not recorded may be among those that are asked for. */
static bool may_lack_processes(const struct report_recording *recording)
{
	return (recording->coverage.missed_processes || recording->coverage.untraced) &&
	       !has_all_pids(recording);
}

const char *report_blind_to_peak(const struct report_recording *recording, uint64_t least)
{
	if (report_not_captured(&recording->coverage, MS_OP_ALLOC))
		return "allocations were not captured";
	if (!recording->called)
		return "no call was recorded";
	if (report_is_inexact(recording))
		return report_unknown(recording).was_running ?
			       "what processes held before they were attached to is not known, and"
			       " it may have been more" :
			       "the numbers are not exact, and it may have been more";
	if (may_lack_processes(recording))
		return "processes that use the GPU were not recorded, and it may have been more";
	return report_selects(&recording->options) && may_have_reached(recording, least) ?
		       "how much of it was on the device that --device names is not known" :
		       NULL;
}
