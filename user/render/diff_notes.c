// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_notes.h"

#include <string.h>

#include "render/diff_words.h"
#include "render/document.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_words.h"
#include "render/share_words.h"
#include "render/stack_words.h"

static uint64_t amount_of(const struct diff_row *row, enum diff_metric metric)
{
	const uint64_t a = row->a[metric], b = row->b[metric];

	return a > b ? a - b : b - a;
}

/* ---- parts of a change ----------------------------------------------------------------------- */

/* Others made up for most of what changed. */
static bool is_made_up_for(const struct diff_row *part, const struct diff_row *whole,
			   enum diff_metric metric)
{
	return amount_of(part, metric) / 2 > amount_of(whole, metric);
}

/* ", in blocks of 4 MiB to 8 MiB (+15 MiB in 3 blocks more)" */
static void append_size(struct string *out, const struct diff_row *api, const struct diff_row *size,
			enum diff_metric metric)
{
	string_append_text(out, ", in blocks of ");
	diff_append_class(out, size->size_class);
	string_append_text(out, " (");
	diff_append_change(out, FINDING_BYTES, size->a[metric], size->b[metric]);
	if (size->known >> DIFF_LIVE_COUNT & 1 && metric == DIFF_LIVE_BYTES &&
	    diff_change(size, DIFF_LIVE_COUNT)) {
		uint64_t blocks = size->b[DIFF_LIVE_COUNT] > size->a[DIFF_LIVE_COUNT] ?
					  size->b[DIFF_LIVE_COUNT] - size->a[DIFF_LIVE_COUNT] :
					  size->a[DIFF_LIVE_COUNT] - size->b[DIFF_LIVE_COUNT];

		string_append_format(out, " in %s block%s %s", REPORT_COUNT(blocks),
				     blocks == 1 ? "" : "s",
				     diff_change(size, DIFF_LIVE_COUNT) > 0 ? "more" : "less");
	}
	/* Peaks of sizes are of different moments, and do not add up. */
	if (metric == DIFF_LIVE_BYTES && amount_of(size, metric) > amount_of(api, metric))
		string_append_format(out, ", while other sizes %s",
				     diff_change(size, metric) > 0 ? "shrank" : "grew");
	string_append_char(out, ')');
}

void diff_notes_append_parts(struct string *out, const struct diff *diff,
			     const struct diff_row *row, enum diff_metric metric)
{
	const struct diff_row *api = diff_part(diff, row, DIFF_API, metric);
	const struct diff_row *size = diff_part(diff, row, DIFF_SIZE, metric);

	if (!api)
		return;
	if (is_made_up_for(api, row, metric))
		string_append_text(out, "; what changed most, and others made up for, is ");
	else
		string_append_format(out, "; %s of it by ",
				     share_words(amount_of(api, metric), amount_of(row, metric)));
	string_append_text(out, probe_at(api->row)->symbol);
	if (api->device >= 0)
		string_append_format(out, " on device %d", api->device);
	string_append_text(out, " (");
	diff_append_change(out, FINDING_BYTES, api->a[metric], api->b[metric]);
	if (amount_of(api, metric) > amount_of(row, metric) && !is_made_up_for(api, row, metric))
		string_append_format(out, ", while others %s",
				     diff_change(api, metric) > 0 ? "shrank" : "grew");
	string_append_char(out, ')');
	/* A size of another function would mislead. */
	if (!size || size->row != api->row || size->device != api->device ||
	    is_made_up_for(api, row, metric))
		return;
	append_size(out, api, size, metric);
}

/* ---- call stacks ----------------------------------------------------------------------------- */

static bool has_stacks(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		if (report->recordings[i]->state->stacks.stacks_count)
			return true;
	return false;
}

void diff_notes_append_stacks(struct string *out, const struct diff *diff)
{
	const bool a = has_stacks(diff->a), b = has_stacks(diff->b);

	if ((a && b) || (!a && !b && !diff->rows_count))
		return;
	string_append_format(out,
			     " Call stacks are not compared: %s; " DOCUMENT_CODE
			     "record --stacks=alloc" DOCUMENT_CODE
			     " on both sides names the line of code.",
			     a ? "B has none" :
			     b ? "A has none" :
				 "neither side has any");
}

/* The stack whose memory of devices has changed most, in the same direction. */
static const struct diff_row *site_of(const struct diff *diff, const struct diff_row *row,
				      enum diff_metric metric)
{
	const bool grew = diff_change(row, metric) > 0;
	const struct diff_row *most = NULL;
	size_t i;

	if (row->dimension != DIFF_MEMORY && !usage_is_on_device(row->space))
		return NULL;
	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *site = &diff->rows[i];

		if (site->dimension != DIFF_SITE || site->pair != row->pair ||
		    !(site->known >> metric & 1) || !diff_change(site, metric) ||
		    (diff_change(site, metric) > 0) != grew)
			continue;
		if (!most || amount_of(site, metric) > amount_of(most, metric))
			most = site;
	}
	return most;
}

void diff_notes_append_site(struct string *out, const struct diff *diff, const struct diff_row *row,
			    enum diff_metric metric)
{
	const struct diff_row *site = site_of(diff, row, metric);
	struct string chain = { 0 };

	if (!site || !site->stack)
		return;
	if (is_made_up_for(site, row, metric))
		return;
	if (site->no_line)
		stack_words_append_functions(&chain, site->stacks, site->stack);
	else
		stack_words_append_chain(&chain, site->stacks, site->stack);
	string_append_format(out, "; %s of it was allocated in ",
			     share_words(amount_of(site, metric), amount_of(row, metric)));
	field_append_safe(out, chain.bytes, chain.length);
	string_append_text(out, " (");
	diff_append_change(out, FINDING_BYTES, site->a[metric], site->b[metric]);
	string_append_char(out, ')');
	out->failed |= chain.failed;
	string_fini(&chain);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* What all processes of a recording had not freed when they ended. */
static uint64_t held_at_exit(const struct report *report)
{
	const struct report_recording *recording = report->recordings[0];
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->exited)
			bytes += report_held_on_devices(recording->processes[i].process);
	return bytes;
}

void diff_notes_append_ended(struct string *out, const struct diff *diff)
{
	const bool a = held_at_exit(diff->a), b = held_at_exit(diff->b);

	if (!a && !b)
		return;
	string_append_format(out,
			     "This is at the end of the recordings. What processes of %s held when"
			     " they ended is not on a device any more: it is in the tables below,"
			     " which have what each process held at its own end.",
			     a && b ? "both sides" :
			     a      ? "A" :
				      "B");
}

void diff_notes_append_programs(struct string *out, const struct diff *diff)
{
	const struct diff_pair *first = NULL;
	size_t count = 0, i;

	for (i = 0; i < diff->pairs_count; i++) {
		if (!diff_runs_another(&diff->pairs[i]))
			continue;
		count++;
		first = first ? first : &diff->pairs[i];
	}
	if (!first)
		return;
	identity_words_process(out, first->a.process);
	string_append_text(out, " in A and ");
	identity_words_process(out, first->b.process);
	string_append_text(out, " in B are different programs by their names, and are compared"
				" because both are ");
	field_append_safe(out, first->a.process->comm,
			  strnlen(first->a.process->comm, MS_COMM_BYTES));
	if (count > 1)
		string_append_format(out, "; so are %zu more", count - 1);
	string_append_char(out, '.');
}

/* ---- times ----------------------------------------------------------------------------------- */

void diff_notes_append_times(struct string *out, const struct diff *diff)
{
	const char *before = " but times, which are not judged: ";
	enum diff_time which;

	for (which = 0; which < DIFF_TIMES_COUNT; which++) {
		const struct diff_time_change change = diff_time_change(diff, which);

		if (!change.pair)
			continue;
		string_append_format(out, "%s%s%s of ", before,
				     which == DIFF_TIME_RUN ? "the " : "", diff_time_name(which));
		diff_append_pair(out, change.pair);
		string_append_format(out, " took %s in B, %s in A", REPORT_DURATION(change.b_ns),
				     REPORT_DURATION(change.a_ns));
		if (change.row != MS_NO_ROW || change.uncertain)
			string_append_format(
				out, " (%s%s%s)",
				change.row == MS_NO_ROW ? "" : probe_at(change.row)->symbol,
				change.row == MS_NO_ROW || !change.uncertain ? "" : "; ",
				change.uncertain ? "not exact" : "");
		before = "; ";
	}
}

/* ---- losses ---------------------------------------------------------------------------------- */

void diff_notes_append_lost(struct string *out, const struct report_recording *recording)
{
	const uint64_t lost = report_lost(&recording->coverage);
	const uint64_t missed = recording->coverage.missed_processes;
	const uint64_t untraced = recording->coverage.untraced;
	const uint64_t forks = untraced_forks_sum(&recording->coverage.forks);

	string_append_text(out, report_has_losses(recording) ? "something" : "nothing");
	if (lost)
		string_append_format(out, " (%s record%s)", REPORT_COUNT(lost),
				     lost == 1 ? "" : "s");
	if (report_is_inexact(recording))
		string_append_text(out, "; what is live is not exact");
	if (missed)
		string_append_format(out, "; at least %s process%s", REPORT_COUNT(missed),
				     missed == 1 ? "" : "es");
	if (untraced)
		string_append_format(out, "; at least %s descendant%s not recorded",
				     REPORT_COUNT(untraced), untraced == 1 ? "" : "s");
	if (forks)
		string_append_format(out,
				     "; whether at least %s child%s, which %s not recorded, used"
				     " CUDA is not known",
				     REPORT_COUNT(forks), forks == 1 ? "" : "ren",
				     forks == 1 ? "was" : "were");
}
