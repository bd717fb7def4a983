// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory: by the library on whose behalf it was allocated, and by call stack; and
 * where time is spent in calls.
 */
#include <stdlib.h>
#include <string.h>

#include "event/probe.h"
#include "render/report_document.h"
#include "render/report_words.h"
#include "render/stack_words.h"

#define SIZED (1u << MS_OP_ALLOC | 1u << MS_OP_COPY | 1u << MS_OP_MEMSET)

static void put_total(struct document *document, const struct site_total *total)
{
	document_cell_size(document, true, total->live_bytes);
	document_cell_count(document, true, total->live_count);
	document_cell_size(document, true, total->peak_bytes);
	document_cell_size(document, true, total->alloc_bytes);
	document_cell_count(document, true, total->allocs);
	document_row_end(document);
}

static void put_owners(struct document *document, const struct site_row *rows, size_t count)
{
	static const struct document_column columns[] = {
		{ "Owner", DOCUMENT_TEXT },
		{ "Live", DOCUMENT_NUMBER },
		{ "Blocks", DOCUMENT_NUMBER },
		{ "Peak", DOCUMENT_NUMBER },
		{ "Allocated", DOCUMENT_NUMBER },
		{ "Allocations", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	if (count) {
		string_append_text(&document->text,
				   "Memory of devices by owner, the library or program that it was"
				   " allocated for, at the end or at the exit of its process:");
		document_title(document);
	}
	document_table(document, "by-owner", "Memory by owner", columns);
	for (i = 0; i < count && i < document->top; i++) {
		document_row(document);
		document_cell_text(document, rows[i].owner);
		put_total(document, &rows[i].total);
	}
	document_table_end(document);
}

void report_document_cell_stack(struct document *document, const struct stacks *stacks,
				const struct stack *stack)
{
	struct string words = { 0 };

	stack_words_append_chain(&words, stacks, stack);
	string_append_char(&words, '\0');
	document->failed |= words.failed;
	document_cell_text(document, words.failed ? NULL : words.bytes);
	string_fini(&words);
}

static void put_sites(struct document *document, const struct stacks *stacks,
		      const struct site_row *rows, size_t count)
{
	static const struct document_column columns[] = {
		{ "Allocated in", DOCUMENT_TEXT },
		{ "Live", DOCUMENT_NUMBER },
		{ "Blocks", DOCUMENT_NUMBER },
		{ "Peak", DOCUMENT_NUMBER },
		{ "Allocated", DOCUMENT_NUMBER },
		{ "Allocations", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	if (count) {
		string_append_text(&document->text, "By call stack, the innermost function first:");
		document_title(document);
	}
	document_table(document, "by-stack", "Memory by call stack", columns);
	for (i = 0; i < count && i < document->top; i++) {
		document_row(document);
		report_document_cell_stack(document, stacks, rows[i].stack);
		put_total(document, &rows[i].total);
	}
	document_table_end(document);
}

static void put_tensors_title(struct document *document, const struct site_row *rows, size_t count)
{
	bool is_estimate = false;
	size_t i;

	for (i = 0; i < count; i++)
		is_estimate |= rows[i].total.chance.most > 0;
	string_append_text(&document->text, "Tensors by call stack, at the end or at the exit of"
					    " their process, and when it had most in tensors");
	string_append_text(&document->text,
			   is_estimate ?
				   ". Call stacks of blocks below 1 MiB were taken by chance:"
				   " these are estimates, within the error in 95 of 100 cases:" :
				   ":");
	document_title(document);
}

/* The most that one of what a row shows may be off. */
static uint64_t error_of(const struct site_total *total)
{
	const uint64_t live = site_total_live_error(total);
	const uint64_t at_peak = site_total_at_peak_error(total);

	return live > at_peak ? live : at_peak;
}

static void put_tensor_row(struct document *document, const struct stacks *stacks,
			   const struct site_row *row)
{
	const struct site_total *total = &row->total;

	document_row(document);
	report_document_cell_stack(document, stacks, row->stack);
	document_cell_size(document, true, total->live_bytes);
	document_cell_count(document, true, total->live_count);
	document_cell_size(document, true, total->at_peak_bytes);
	document_cell_size(document, true, error_of(total));
	document_cell_size(document, true, total->peak_bytes);
	document_cell_size(document, true, total->alloc_bytes);
	document_cell_count(document, true, total->allocs);
	document_row_end(document);
}

/* What the estimates lack, whatever their error is. */
static void put_lost(struct document *document, uint64_t lost)
{
	if (!lost)
		return;
	string_append_count(&document->text, lost, "block below 1 MiB that was taken by chance is",
			    "blocks below 1 MiB that were taken by chance are");
	string_append_text(&document->text,
			   " in no row, because there was no room for more call stacks: rows may"
			   " be too small by more than the error. Record for a shorter time, or"
			   " fewer processes.");
	document_paragraph(document);
}

static void put_tensors(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Tensors made in", DOCUMENT_TEXT },
		{ "Live", DOCUMENT_NUMBER },
		{ "Blocks", DOCUMENT_NUMBER },
		{ "At the peak", DOCUMENT_NUMBER },
		{ "Error", DOCUMENT_NUMBER },
		{ "Its own peak", DOCUMENT_NUMBER },
		{ "Given", DOCUMENT_NUMBER },
		{ "Blocks given", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t count, i;
	struct site_row *rows =
		sites_rows(&recording->sites, recording->state, SITES_BY_TENSOR_LINES, &count);

	document->failed |= !rows;
	if (rows && count)
		put_tensors_title(document, rows, count);
	document_table(document, "tensors-by-stack", "Tensors by call stack", columns);
	for (i = 0; rows && i < count && i < document->top; i++)
		put_tensor_row(document, &recording->state->stacks, &rows[i]);
	document_table_end(document);
	put_lost(document, recording->sites.lost_tensors);
	free(rows);
}

/* Where call stacks were recorded: what the table above does not tell. */
static void put_ends(struct document *document, const struct site_ends *ends)
{
	if (!site_ends_lack(ends))
		return;
	stack_words_append_ends(&document->text, ends);
	string_append_char(&document->text, '.');
	document_paragraph(document);
}

struct naming {
	uint64_t frames, nameless;
};

/* Of native functions that report_document_cell_stack() may show. */
static void count_nameless(struct naming *naming, const struct stacks *stacks,
			   const struct stack *stack)
{
	size_t i;

	/* Lines of Python are shown in their place. */
	for (i = 0; stack && !stack->lines && i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (!frame || stacks_is_cuda(frame->module))
			continue;
		naming->frames++;
		naming->nameless += !frame->function[0];
		if (!strcmp(frame->function, "main"))
			break;
	}
}

/* What can be done if files were stripped: most of what the table shows are addresses. */
static void put_nameless(struct document *document, const struct stacks *stacks,
			 const struct site_row *rows, size_t count)
{
	struct naming naming = { 0 };
	size_t i;

	for (i = 0; i < count && i < document->top; i++)
		count_nameless(&naming, stacks, rows[i].stack);
	if (!naming.nameless || naming.nameless < naming.frames - naming.nameless)
		return;
	string_append_format(&document->text,
			     "Functions without a name in these call stacks: %s of %s. Their files"
			     " have no symbols for them; " DOCUMENT_CODE
			     "report --symbols DIRECTORY" DOCUMENT_CODE
			     " takes the names from files of the same build that have.",
			     REPORT_COUNT(naming.nameless), REPORT_COUNT(naming.frames));
	document_paragraph(document);
}

void report_document_sites(struct document *document, const struct report_recording *recording)
{
	size_t owners_count, sites_count;
	struct site_row *owners =
		sites_rows(&recording->sites, recording->state, SITES_BY_OWNER, &owners_count);
	struct site_row *sites =
		sites_rows(&recording->sites, recording->state, SITES_BY_LINES, &sites_count);

	document->failed |= !owners || !sites;
	if (owners && sites) {
		put_owners(document, owners, owners_count);
		put_sites(document, &recording->state->stacks, sites, sites_count);
		put_nameless(document, &recording->state->stacks, sites, sites_count);
		put_ends(document, &recording->sites.ends);
	}
	free(owners);
	free(sites);
	put_tensors(document, recording);
}

/* What the rows lack of the time that is in the tables of functions. */
static void put_stackless_calls(struct document *document, const struct call_sites *sites)
{
	const struct call_site_total total = call_sites_without_stack(sites);

	if (!total.calls)
		return;
	string_append_text(&document->text, "Without a call stack, and in no row: ");
	string_append_count(&document->text, total.calls, "call", "calls");
	string_append_format(&document->text, ", for %s in all.",
			     string_duration((char[STRING_NUMBER_BYTES]){ 0 }, total.duration_ns));
	document_paragraph(document);
}

void report_document_call_sites(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Called in", DOCUMENT_TEXT },
		{ "Call", DOCUMENT_TEXT },
		{ "Calls", DOCUMENT_NUMBER },
		{ "Total time", DOCUMENT_NUMBER },
		{ "Mean", DOCUMENT_NUMBER },
		{ "Bytes", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t count, i;
	struct call_site_row *rows =
		call_sites_rows(&recording->call_sites, recording->state, true, &count);

	document->failed |= !rows;
	if (count) {
		string_append_text(&document->text,
				   "Time of threads in CUDA calls by call stack, the innermost"
				   " function first:");
		document_title(document);
	}
	document_table(document, "calls-by-stack", "Calls by call stack", columns);
	for (i = 0; rows && i < count && i < document->top; i++) {
		const struct call_site_total *total = &rows[i].total;

		document_row(document);
		report_document_cell_stack(document, &recording->state->stacks, rows[i].stack);
		document_cell_words(document, probe_at(rows[i].row)->symbol);
		document_cell_count(document, true, total->calls);
		document_cell_duration(document, true, total->duration_ns);
		document_cell_duration(document, true, call_sites_mean_ns(total));
		if (SIZED >> probe_at(rows[i].row)->spec.op & 1)
			document_cell_size(document, total->bytes, total->bytes);
		else
			document_cell_absent(document);
		document_row_end(document);
	}
	document_table_end(document);
	if (count)
		put_stackless_calls(document, &recording->call_sites);
	free(rows);
}

/* What the rows lack, whatever their error is. */
static void put_unplaced_launches(struct document *document,
				  const struct report_recording *recording)
{
	const struct call_sites *launches = &recording->launch_sites;
	const uint64_t without = launches->unplaced[MS_OP_LAUNCH].chosen;
	const uint64_t lost = recording->coverage.counters.lost[MS_KIND_LAUNCH_SAMPLE];
	struct string *out = &document->text;

	string_append_format(out, "Launches whose call stack was taken: %s",
			     REPORT_COUNT(launches->placed[MS_OP_LAUNCH].chosen + without));
	if (without)
		string_append_format(out, "; without a call stack, and in no row, are %s of them",
				     REPORT_COUNT(without));
	if (lost || launches->others)
		string_append_format(out,
				     "; %s more were lost, so that rows may be too small by more"
				     " than the error",
				     REPORT_COUNT(lost + launches->others));
	string_append_text(out,
			   ". How often each kernel was launched is not estimated, but counted:"
			   " see the tables of kernels.");
	document_paragraph(document);
}

/* What the table's numbers are, in every format. */
static void put_launches_title(struct document *document, uint64_t one_in)
{
	if (one_in > 1) {
		string_append_format(
			&document->text,
			"From where kernels were launched: the call stack of one launch"
			" in %s was taken, by chance. The numbers are estimates, within"
			" the error in 95 of 100 cases.",
			REPORT_COUNT(one_in));
		document_paragraph(document);
	}
	string_append_text(&document->text,
			   "Launches by call stack, the innermost function first:");
	document_title(document);
}

void report_document_launch_sites(struct document *document,
				  const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Launched in", DOCUMENT_TEXT },
		{ "Call", DOCUMENT_TEXT },
		{ "Launches, about", DOCUMENT_NUMBER },
		{ "Error", DOCUMENT_NUMBER },
		{ 0 },
	};
	const struct call_sites *launches = &recording->launch_sites;
	size_t count, i;
	struct call_site_row *rows = call_sites_rows(launches, recording->state, true, &count);

	document->failed |= !rows;
	if (count)
		put_launches_title(document, launches->placed[MS_OP_LAUNCH].one_in);
	document_table(document, "launches-by-stack", "Launches by call stack", columns);
	for (i = 0; rows && i < count && i < document->top; i++) {
		document_row(document);
		report_document_cell_stack(document, &recording->state->stacks, rows[i].stack);
		document_cell_words(document, probe_at(rows[i].row)->symbol);
		document_cell_count(document, true, rows[i].total.calls);
		document_cell_count(document, true, call_sites_error(&rows[i].total));
		document_row_end(document);
	}
	document_table_end(document);
	if (report_document_has_launch_sites(recording))
		put_unplaced_launches(document, recording);
	free(rows);
}

bool report_document_has_launch_sites(const struct report_recording *recording)
{
	return recording->launch_sites.placed[MS_OP_LAUNCH].chosen ||
	       recording->launch_sites.unplaced[MS_OP_LAUNCH].chosen;
}
