// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_exactness.h"

#include "render/identity_words.h"
#include "render/losses_words.h"
#include "render/report_notes.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

/* What a reader must know before trusting the numbers, over all recordings. */
struct lacks {
	struct losses lost; /* only its sums */
	uint64_t unwritten, missing, damaged, missed, untraced, forks, leavers;
	size_t interrupted, written, lacking, inexact, held_before;
	const char *cut_sums; /* what was only counted, in a part of the time */

	/* The processes that called anything, if only some of them are inexact. */
	size_t inexact_processes, exact_processes;
	const struct process *one; /* that is inexact */
};

static bool calls_anything(const struct process *process)
{
	size_t i;

	for (i = 0; i < MS_OPS_COUNT; i++)
		if (process->calls[i])
			return true;
	return false;
}

static void add_processes(struct lacks *lacks, const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const bool inexact = report_process_is_inexact(recording, process);

		if (!inexact && !calls_anything(process))
			continue;
		lacks->inexact_processes += inexact;
		lacks->exact_processes += !inexact;
		if (inexact)
			lacks->one = process;
	}
}

static struct lacks lacks_of(const struct report *report)
{
	struct lacks lacks = { 0 };
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];
		const struct losses lost = losses_of(&recording->coverage.counters);

		lacks.lost.calls += lost.calls;
		lacks.lost.others += lost.others;
		lacks.unwritten += recording->coverage.unwritten_records;
		lacks.missing += recording->coverage.account.missing_blocks;
		lacks.damaged += recording->coverage.account.damaged_places;
		lacks.missed += recording->coverage.missed_processes;
		lacks.untraced += recording->coverage.untraced;
		lacks.forks += untraced_forks_sum(&recording->coverage.forks);
		lacks.leavers += recording->coverage.leavers.count;
		lacks.written += recording->coverage.being_written;
		lacks.interrupted +=
			!recording->coverage.account.has_end && !recording->coverage.being_written;
		lacks.lacking += recording->coverage.being_written ?
					 report_lost(&recording->coverage) ||
						 report_lacks_blocks(recording) :
					 report_has_losses(recording);
		lacks.inexact += report_is_inexact(recording);
		lacks.held_before += report_unknown(recording).was_running;
		if (report_cut_sums(recording))
			lacks.cut_sums = report_cut_sums(recording);
		add_processes(&lacks, recording);
	}
	return lacks;
}

static void append_untraced(struct string *out, const struct lacks *lacks, const char *before,
			    const char *after)
{
	const bool one = lacks->untraced == 1;

	if (lacks->untraced)
		string_append_format(out,
				     "%sat least %llu descendant%s of the recorded processes used"
				     " CUDA and %s not recorded%s",
				     before, (ull)lacks->untraced, one ? "" : "s",
				     one ? "was" : "were", after);
}

static void append_counts(struct string *out, const struct report *report,
			  const struct lacks *lacks)
{
	if (report->refused)
		string_append_format(out, " %zu file%s could not be used,", report->refused,
				     report->refused == 1 ? "" : "s");
	if (lacks->unwritten)
		string_append_format(out, " %llu record%s could not be written,",
				     (ull)lacks->unwritten, lacks->unwritten == 1 ? "" : "s");
	if (losses_count(&lacks->lost)) {
		string_append_char(out, ' ');
		losses_append_amount(out, &lacks->lost);
		string_append_text(out,
				   losses_count(&lacks->lost) == 1 ? " was lost," : " were lost,");
	}
	if (lacks->missing)
		string_append_format(out, " %llu block%s missing,", (ull)lacks->missing,
				     lacks->missing == 1 ? " is" : "s are");
	if (lacks->damaged)
		string_append_format(out, " %llu place%s damaged,", (ull)lacks->damaged,
				     lacks->damaged == 1 ? " is" : "s are");
	if (lacks->missed)
		string_append_format(out,
				     " at least %llu process%s could not be attached to in time,",
				     (ull)lacks->missed, lacks->missed == 1 ? "" : "es");
	append_untraced(out, lacks, " ", ",");
	if (lacks->interrupted && report->count == 1)
		string_append_text(out, " it was not ended properly, so the last moments are"
					" missing,");
	else if (lacks->interrupted)
		string_append_format(out,
				     " %zu of %zu recordings %s not ended properly, so their last"
				     " moments are missing,",
				     lacks->interrupted, report->count,
				     lacks->interrupted == 1 ? "was" : "were");
}

/* One process of which something is unknown does not make the numbers of the others worse. */
static void append_inexact_processes(struct string *out, const struct lacks *lacks)
{
	const bool one = lacks->inexact_processes == 1;
	char count[STRING_NUMBER_BYTES];

	string_append_text(out,
			   lacks->held_before ? "; what " : "; what is live and the peaks of ");
	if (one)
		identity_words_process(out, lacks->one);
	else
		string_append_format(out, "%s of the processes",
				     string_count(count, lacks->inexact_processes));
	if (lacks->held_before)
		string_append_format(out, " held before %s attached to is not known",
				     one ? "it was" : "they were");
	else
		string_append_text(out, " are not exact: see what is unknown");
	string_append_format(out, "; the numbers of the other process%s are exact",
			     lacks->exact_processes == 1 ? "" : "es");
}

/* For recordings that have all that was captured. */
static void append_unknown(struct string *out, const struct lacks *lacks)
{
	string_append_text(out, "Nothing was lost");
	if (lacks->inexact_processes && lacks->exact_processes)
		append_inexact_processes(out, lacks);
	else if (lacks->held_before)
		string_append_text(out, "; what processes held before they were attached to is not"
					" known");
	else if (lacks->inexact)
		string_append_text(out, ", but what is live and the peaks are not exact: see what"
					" is unknown");
	if (lacks->missed)
		string_append_format(out,
				     "; calls may be missing, as at least %llu process%s could not"
				     " be attached to in time",
				     (ull)lacks->missed, lacks->missed == 1 ? "" : "es");
	append_untraced(out, lacks, "; ", "");
	if (!lacks->inexact && !lacks->missed && !lacks->untraced)
		string_append_format(out, ": the numbers %sare exact",
				     lacks->forks || lacks->leavers ? "of the recorded processes " :
								      "");
	if (lacks->cut_sums)
		string_append_format(
			out,
			"; but how many %s were in this time is not known, as they were"
			" only counted",
			lacks->cut_sums);
	if (lacks->forks)
		string_append_format(out,
				     "; whether at least %llu child%s that they forked used CUDA"
				     " is not known",
				     (ull)lacks->forks, lacks->forks == 1 ? "" : "ren");
	if (lacks->leavers)
		string_append_format(
			out,
			"; %llu of them %s outside of what was chosen at the end, and in"
			" these numbers all the same",
			(ull)lacks->leavers, lacks->leavers == 1 ? "was" : "were");
	string_append_char(out, '.');
}

/* The largest part may be missing, and what was found be about the rest. */
void report_append_unwritten(struct string *out, const struct report *report)
{
	const uint64_t unwritten = lacks_of(report).unwritten;

	if (unwritten)
		string_append_format(out,
				     "%llu record%s could not be written when this was recorded (a"
				     " full disk?): all that is said here is of the rest. ",
				     (ull)unwritten, unwritten == 1 ? "" : "s");
}

/* Who reads no further must not take it to be about what nothing has recorded. */
void report_append_nothing_found(struct string *out, const struct report *report)
{
	const struct lacks lacks = lacks_of(report);

	string_append_text(out, "Nothing wrong was found");
	if (lacks.held_before || lacks.forks)
		string_append_text(out, " in what was recorded, which lacks ");
	if (lacks.held_before)
		string_append_text(out, "what processes held before they were attached to");
	if (lacks.forks)
		string_append_format(out,
				     "%sat least %llu child%s that they forked (whether %s used"
				     " CUDA is not known; record -f includes children)",
				     lacks.held_before ? " and " : "", (ull)lacks.forks,
				     lacks.forks == 1 ? "" : "ren",
				     lacks.forks == 1 ? "it" : "they");
}

void report_append_exactness(struct string *out, const struct report *report)
{
	const struct lacks lacks = lacks_of(report);
	size_t begin;

	if (lacks.written && report->count == 1)
		string_append_text(out, "It is still being written: this is what there was. ");
	else if (lacks.written)
		string_append_format(out, "%zu of %zu recordings %s still being written. ",
				     lacks.written, report->count,
				     lacks.written == 1 ? "is" : "are");
	if (!lacks.lacking && !report->refused) {
		append_unknown(out, &lacks);
		return;
	}
	string_append_text(out, "The recording lacks something:");
	begin = out->length;
	append_counts(out, report, &lacks);
	if (out->length == begin)
		string_append_text(out, " see what was lost,");
	string_append_text(out, lacks.inexact ?
					" and what is live and the peaks are not exact." :
					" but no allocation or free is known to be missing.");
}
