// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_document.h"

#include <stdio.h>
#include <string.h>

#include "render/report_groups.h"
#include "render/report_host.h"
#include "render/report_notes.h"
#include "render/report_words.h"
#include "report/suppressions.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

/* ---- what it covers -------------------------------------------------------------------------- */

/* Begins a row; what it says is text that follows. */
static void begin_fact(struct document *document, const char *name)
{
	document_row(document);
	document_cell_words(document, name);
}

static void end_fact(struct document *document)
{
	document_cell(document);
	document_row_end(document);
}

static void say_span(struct document *document, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const uint64_t begin_ns = report_begin_ns(recording), end_ns = report_end_ns(recording);
	struct string *text = &document->text;

	begin_fact(document, "Time");
	report_append_time(text, recording, begin_ns);
	string_append_text(text, " to ");
	report_append_time(text, recording, end_ns);
	string_append_format(text, " (%s", REPORT_DURATION(end_ns - begin_ns));
	if (coverage->from_ns || coverage->until_ns) {
		string_append_text(text, ", of a recording from ");
		report_append_time(text, recording, coverage->account.first_ts_ns);
		string_append_text(text, " to ");
		report_append_time(text, recording, coverage->account.last_ts_ns);
	}
	string_append_char(text, ')');
	end_fact(document);
}

static void say_selection(struct document *document, const struct report_recording *recording)
{
	if (!report_selects(&recording->options))
		return;
	begin_fact(document, "Only");
	report_append_selection(&document->text, recording);
	end_fact(document);
}

static void say_origin(struct document *document, const struct report_coverage *coverage)
{
	begin_fact(document, "Recorded by");
	string_append_text(&document->text, "memscope-bpf ");
	document_append(document, coverage->version, "?");
	string_append_format(&document->text, ", recording %016llx",
			     (ull)coverage->account.recording);
	if (coverage->targets) {
		string_append_text(&document->text, ", of ");
		document_append(document, coverage->targets, "");
	}
	if (coverage->reason) {
		string_append_text(&document->text, "; it ended: ");
		document_append(document, coverage->reason, "");
	}
	end_fact(document);
}

static void say_files(struct document *document, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	size_t i;

	begin_fact(document, "Files");
	for (i = 0; i < coverage->files_count && i < recording->options.top; i++) {
		string_append_text(&document->text, i ? ", " : "");
		document_append(document, coverage->files[i], "?");
	}
	if (i < coverage->files_count)
		string_append_format(&document->text, " and %zu more", coverage->files_count - i);
	end_fact(document);
}

static void say_amounts(struct document *document, const struct report_recording *recording)
{
	const struct recording_account *account = &recording->coverage.account;
	struct string *text = &document->text;

	begin_fact(document, "Events");
	string_append_format(text, "%s, in %s block%s and %s segment%s",
			     REPORT_COUNT(account->calls), REPORT_COUNT(account->blocks),
			     account->blocks == 1 ? "" : "s", REPORT_COUNT(account->segments),
			     account->segments == 1 ? "" : "s");
	end_fact(document);
	begin_fact(document, "Processes");
	string_append_format(text, "%zu", recording->processes_count);
	if (recording->state->more_count)
		string_append_format(text, ", and %s that ended earlier and held less",
				     REPORT_COUNT(recording->state->more_count));
	end_fact(document);
}

static void say_not_captured(struct document *document, const struct report_recording *recording)
{
	struct string kinds = { 0 };

	if (report_append_not_captured(&kinds, recording, "")) {
		begin_fact(document, "Not captured, so not in this report");
		string_append(&document->text, kinds.bytes, kinds.length);
		end_fact(document);
	}
	document->failed |= kinds.failed;
	string_fini(&kinds);
}

static void say_facts(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = { { "What", DOCUMENT_OBVIOUS },
							  { "Value", DOCUMENT_OBVIOUS },
							  { 0 } };

	document_table(document, "facts", "What this covers", columns);
	begin_fact(document, "Host");
	document_append(document, recording->coverage.host, "?");
	string_append_text(&document->text, ", Linux ");
	document_append(document, recording->coverage.kernel, "?");
	end_fact(document);
	say_span(document, recording);
	say_selection(document, recording);
	say_origin(document, &recording->coverage);
	say_files(document, recording);
	say_amounts(document, recording);
	say_not_captured(document, recording);
	document_table_end(document);
}

static void list_notes(struct document *document, const char *heading,
		       void (*append)(struct string *out, const struct report_recording *recording),
		       const struct report_recording *recording)
{
	struct string notes = { 0 };
	const char *place, *end;

	document_say(document, heading);
	append(&notes, recording);
	if (!notes.length)
		string_append_text(&notes, "nothing\n");
	document->failed |= notes.failed;
	for (place = notes.bytes; place && place < notes.bytes + notes.length; place = end + 1) {
		end = memchr(place, '\n', notes.bytes + notes.length - place);
		if (!end)
			break;
		string_append(&document->text, place, end - place);
		document_block(document, DOCUMENT_ITEM);
	}
	string_fini(&notes);
}

/* ---- several recordings ---------------------------------------------------------------------- */

static void list_fleet_process(struct document *document, const struct report *report, size_t place,
			       const struct report_process *shown)
{
	const struct process *process = shown->process;
	const bool known = !process->entries_only;
	char link[STRING_NUMBER_BYTES];
	uint32_t space;

	snprintf(link, sizeof(link), "r%zu", place + 1);
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!report_has_space(process, space) || !document_row(document))
			continue;
		document_append(document, report->recordings[place]->coverage.host, "?");
		document_cell_as(document, (struct document_cell){ .link = link });
		document_cell_process(document, process);
		document_cell_words(document, probe_space_name(space));
		document_cell_size(document, known, report_held(process, space).bytes);
		document_cell_size(document, known, process->spaces[space].peak_bytes);
		document_cell_count(document, true, shown->findings);
		document_row_end(document);
	}
}

void report_document_fleet(struct document *document, const struct report *report)
{
	static const struct document_column columns[] = {
		{ "Host", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },
		{ "Space", DOCUMENT_TEXT },
		{ "At the end", DOCUMENT_NUMBER },
		{ "Peak", DOCUMENT_NUMBER },
		{ "Findings", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i, j;

	document_table(document, "processes", "Processes of all recordings", columns);
	document_table_open(document);
	for (i = 0; i < report->count; i++)
		for (j = 0; j < report->recordings[i]->processes_count; j++)
			list_fleet_process(document, report, i,
					   &report->recordings[i]->processes[j]);
	document_table_end(document);
}

/* ---- suggestions, thresholds ----------------------------------------------------------------- */

/* The findings behind it, by the numbers of their evidence. */
static void append_evidence(struct document *document, const struct report_recording *recording,
			    enum finding_rule rule)
{
	struct string *text = &document->text;
	const char *before = " (";
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct report_finding *finding = &recording->findings[i];
		const size_t first = finding->first_evidence;
		const size_t count = finding->finding->evidence_count;

		if (finding->finding->rule != rule)
			continue;
		string_append_format(text, "%sF%zu: " DOCUMENT_CITE "E%zu" DOCUMENT_CITE, before,
				     finding->number, first);
		if (count > 1)
			string_append_format(text, " to " DOCUMENT_CITE "E%zu" DOCUMENT_CITE,
					     first + count - 1);
		before = "; ";
	}
	string_append_char(text, ')');
}

static void list_suggestions(struct document *document, const struct report_recording *recording)
{
	enum finding_rule rule;
	size_t count = 0, i;
	const char *text;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		for (i = 0; (text = report_suggestion(recording, rule, i)); i++, count++) {
			string_append_text(&document->text, text);
			append_evidence(document, recording, rule);
			document_block(document, DOCUMENT_STEP);
		}
	}
	if (!count)
		document_say(document, "None.");
}

static bool is_shown(const struct threshold *threshold, const struct report *report, bool all)
{
	return all ||
	       threshold_of(threshold, &report->recordings[0]->thresholds) != threshold->value;
}

bool report_document_has_thresholds(const struct report *report, bool all)
{
	const struct threshold *threshold;
	size_t i;

	for (i = 0; (threshold = analysis_threshold_at(i)); i++)
		if (is_shown(threshold, report, all))
			return true;
	return false;
}

void report_document_thresholds(struct document *document, const struct report *report, bool all)
{
	static const struct document_column columns[] = { { "Name", DOCUMENT_TEXT },
							  { "Value", DOCUMENT_NUMBER },
							  { "Default", DOCUMENT_NUMBER },
							  { "What it is", DOCUMENT_TEXT },
							  { 0 } };
	const struct analysis_options *options = &report->recordings[0]->thresholds;
	const struct threshold *threshold;
	size_t i;

	document_table(document, "rules", "Thresholds of the rules", columns);
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		if (!is_shown(threshold, report, all) || !document_row(document))
			continue;
		document_cell_words(document, threshold->name);
		document_cell_value(document, true, threshold->unit,
				    threshold_of(threshold, options));
		document_cell_value(document, true, threshold->unit, threshold->value);
		document_cell_words(document, threshold->help);
		document_row_end(document);
	}
	document_table_end(document);
}

static void list_suppression(struct document *document, const struct suppression *one)
{
	if (!document_row(document))
		return;
	document_cell_count(document, true, one->line);
	document_append(document, one->rule, "");
	document_cell(document);
	document_append(document, *one->process ? one->process : "*", "");
	document_cell(document);
	document_append(document, *one->function ? one->function : "*", "");
	document_cell(document);
	document_cell_count(document, true, one->used);
	document_row_end(document);
}

void report_document_suppressions(struct document *document, const struct report *report)
{
	static const struct document_column columns[] = {
		{ "Line", DOCUMENT_NUMBER },     { "Rule", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },    { "Function", DOCUMENT_TEXT },
		{ "Findings", DOCUMENT_NUMBER }, { 0 }
	};
	const struct suppressions *suppressions = report->options.suppressions;
	size_t i;

	if (!suppressions || !suppressions->count)
		return;
	document_say(document, "What --suppress names is not among the findings:");
	document_table(document, "suppressed", "Suppressed findings", columns);
	for (i = 0; i < suppressions->count; i++)
		list_suppression(document, &suppressions->list[i]);
	document_table_end(document);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void begin_section(struct document *document, int level, const char *name, const char *text)
{
	string_append_text(&document->text, text);
	document_heading(document, level, name);
}

static void say_recording(struct document *document, const struct report *report, size_t place)
{
	const struct report_recording *recording = report->recordings[place];

	if (report->count > 1) {
		string_append_format(&document->text, "Recording %zu: ", place + 1);
		document_append(document, recording->coverage.host, "unknown host");
		document_heading(document, 2, "recording");
	}
	begin_section(document, 3, "coverage", "1. What this covers");
	say_facts(document, recording);
	list_notes(document, "Lost:", report_append_lost, recording);
	list_notes(document, "Unknown:", report_append_unknown, recording);
	begin_section(document, 3, "memory", "2. Who holds memory");
	report_groups_document(document, recording);
	report_document_oom_moments(document, recording);
	report_document_devices(document, recording);
	report_document_all_devices(document, recording);
	report_document_processes(document, recording);
	report_document_sites(document, recording);
	report_document_largest(document, recording);
	begin_section(document, 3, "timeline", "3. Timeline");
	report_document_timeline(document, recording);
	report_host_tables(document, recording);
	if (report_document_has_gpu(recording)) {
		begin_section(document, 3, "gpu", "GPU time");
		report_document_gpu(document, recording);
	}
	if (recording->call_sites.count) {
		begin_section(document, 3, "calls-by-stack", "Time in CUDA calls");
		report_document_call_sites(document, recording);
	}
	if (report_document_has_launch_sites(recording)) {
		begin_section(document, 3, "launches-by-stack", "Launches by call stack");
		report_document_launch_sites(document, recording);
	}
	if (report_document_has_phases(recording)) {
		begin_section(document, 3, "phases-of-programs", "Phases");
		report_document_phases(document, recording);
	}
	if (report_document_has_steps(recording)) {
		begin_section(document, 3, "steps-of-programs", "Steps");
		report_document_steps(document, recording);
	}
	report_document_findings(document, recording);
	begin_section(document, 3, "suggestions", "8. Suggestions");
	list_suggestions(document, recording);
}

static void say_suppressions(struct document *document, const struct report *report)
{
	const struct suppressions *suppressions = report->options.suppressions;

	if (!suppressions || !suppressions->count)
		return;
	begin_section(document, 2, "suppressions", "Suppressed");
	report_document_suppressions(document, report);
}

void report_document(struct document *document, const struct report *report, bool thresholds)
{
	struct verdict verdict;
	size_t i;

	begin_section(document, 1, "report", "GPU memory report");
	report_verdict(&verdict, report);
	verdict_document(document, &verdict);
	verdict_fini(&verdict);
	if (report->refused) {
		string_append_format(&document->text,
				     "%zu of the files could not be used and %s not in here.",
				     report->refused, report->refused > 1 ? "are" : "is");
		document_paragraph(document);
	}
	if (report->count > 1) {
		string_append_format(&document->text, "Fleet: %zu recordings", report->count);
		document_heading(document, 2, "fleet");
		report_document_fleet(document, report);
	}
	for (i = 0; i < report->count; i++)
		say_recording(document, report, i);
	say_suppressions(document, report);
	if (!report_document_has_thresholds(report, thresholds))
		return;
	begin_section(document, 2, "thresholds", "Thresholds");
	report_document_thresholds(document, report, thresholds);
}
