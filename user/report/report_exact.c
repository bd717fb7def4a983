// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is missing or not known, of a recording and of each of its processes: whether its numbers
 * are exact. Which words say so is up to render/report_exactness.h.
 */
#include "event/losses.h"
#include "ledger/process.h"
#include "report/report.h"

static void add_unknown(struct report_unknown *sum, const struct process *process)
{
	size_t i;

	/* One that never called since it was attached to may have done so before. */
	sum->was_running |=
		process->was_running || process->was_running_earlier || process->only_begun;
	sum->entries_only |= process->entries_only;
	for (i = 0; i < COUNTERS_COUNT; i++)
		sum->counters[i] += process->counters[i];
}

struct report_unknown report_unknown(const struct report_recording *recording)
{
	struct report_unknown sum = { 0 };
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		add_unknown(&sum, recording->processes[i].process);
	if (recording->state->more && !report_selects(&recording->options))
		add_unknown(&sum, recording->state->more);
	return sum;
}

bool report_lacks_parts(const struct report_coverage *coverage)
{
	const struct recording_account *account = &coverage->account;

	return account->missing_blocks || account->damaged_places || account->refused ||
	       account->cut_short || account->unknown_calls || account->unknown_blocks ||
	       coverage->unwritten_blocks || coverage->unwritten_records;
}

bool report_has_losses(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	return report_lost(coverage) || report_lacks_parts(coverage) ||
	       !coverage->account.has_end || recording->incomplete;
}

bool report_lacks_memory(const struct report_coverage *coverage)
{
	return losses_of_memory(&coverage->counters);
}

static bool is_inexact(const struct report_unknown *unknown)
{
	return unknown->was_running || unknown->entries_only ||
	       process_counters_are_inexact(unknown->counters);
}

bool report_lacks_blocks(const struct report_recording *recording)
{
	return report_lacks_parts(&recording->coverage) || recording->incomplete;
}

bool report_names_no_process(const struct report_recording *recording)
{
	return !recording->coverage.account.has_end && !recording->state->processes_count &&
	       !recording->state->more;
}

/* What of all recorded processes is counted one by one, as far as they could be told apart. */
static uint64_t of_all(const struct state *state, enum process_counter counter)
{
	uint64_t sum = state->more ? state->more->counters[counter] : 0;
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		sum += state->processes[i]->counters[counter];
	return sum;
}

/*
 * Whether it is not known whose calls something was: more were counted than those of all processes,
 * as in recordings that do not say whose, or until the next look at whose they are.
 */
static bool lacks_calls_of_some(const struct report_recording *recording)
{
	const struct ms_counters *counters = &recording->coverage.counters;
	const uint64_t lost = losses_of_memory(counters), abandoned = counters->abandoned;

	return report_lacks_blocks(recording) || recording->coverage.runtime_alone ||
	       (lost && lost > of_all(recording->state, COUNTER_LOST_MEMORY)) ||
	       (abandoned && abandoned > of_all(recording->state, COUNTER_ABANDONED_CALLS));
}

bool report_process_is_inexact(const struct report_recording *recording,
			       const struct process *process)
{
	struct report_unknown unknown = { 0 };

	add_unknown(&unknown, process);
	return is_inexact(&unknown) || lacks_calls_of_some(recording);
}

static bool lacks_calls_of_memory(const struct report_recording *recording)
{
	return report_lacks_memory(&recording->coverage) ||
	       recording->coverage.counters.abandoned || lacks_calls_of_some(recording);
}

bool report_is_inexact(const struct report_recording *recording)
{
	const struct report_unknown unknown = report_unknown(recording);

	return lacks_calls_of_memory(recording) || !recording->coverage.has_beginning ||
	       report_names_no_process(recording) || is_inexact(&unknown);
}

bool report_lacks_children(const struct report_recording *recording)
{
	return untraced_forks_sum(&recording->coverage.forks);
}

bool report_all_is_exact(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		if (report_has_losses(recording) || report_is_inexact(recording) ||
		    recording->coverage.missed_processes || recording->coverage.untraced)
			return false;
	}
	return !report->refused;
}
