// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_md.h"

#include <ctype.h>
#include <string.h>

#include "render/field.h"
#include "render/report_notes.h"
#include "render/report_words.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

/* ---- text that is not ours ------------------------------------------------------------------- */

static bool is_active(const char *text, size_t length, size_t i)
{
	switch (text[i]) {
	case '_': /* inside of a word it is nothing special */
		return !i || i + 1 == length || !isalnum((unsigned char)text[i - 1]) ||
		       !isalnum((unsigned char)text[i + 1]);
	case ':': /* some renderers make links of addresses */
		return i + 1 < length && text[i + 1] == '/';
	case '\\':
	case '`':
	case '*':
	case '[':
	case ']':
	case '<':
	case '>':
	case '|':
	case '~':
	case '&':
	case '!':
	case '#':
	case '$':
		return true;
	}
	return false;
}

void md_escaped(struct string *out, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (is_active(text, length, i))
			string_append_char(out, '\\');
		string_append_char(out, text[i]);
	}
}

static void flush_scratch(struct md *md)
{
	md_escaped(md->out, md->scratch.bytes, md->scratch.length);
	md->out->failed |= md->scratch.failed;
	string_clear(&md->scratch);
}

void md_text(struct md *md, const char *text, size_t length)
{
	field_append_safe(&md->scratch, text, length);
	flush_scratch(md);
}

void md_text_or(struct md *md, const char *text, const char *otherwise)
{
	if (text)
		md_text(md, text, strlen(text));
	else
		string_append_text(md->out, otherwise);
}

void md_process(struct md *md, uint32_t pid, const char comm[MS_COMM_BYTES])
{
	report_append_process(&md->scratch, pid, comm);
	flush_scratch(md);
}

void md_time(struct md *md, uint64_t ts_ns)
{
	report_append_time(md->out, md->recording, ts_ns);
}

void md_device(struct md *md, int32_t device)
{
	if (device >= 0)
		string_append_i64(md->out, device);
	else
		string_append_char(md->out, '?');
}

/* ---- what it covers -------------------------------------------------------------------------- */

static void append_verdict(struct md *md)
{
	struct verdict verdict;

	report_verdict(&verdict, md->report);
	verdict_md(md->out, &verdict);
	verdict_fini(&verdict);
}

static void append_span(struct md *md)
{
	uint64_t begin_ns = report_begin_ns(md->recording), end_ns = report_end_ns(md->recording);

	string_append_text(md->out, "| Time | ");
	md_time(md, begin_ns);
	string_append_text(md->out, " to ");
	md_time(md, end_ns);
	string_append_format(md->out, " (%s", MD_DURATION(end_ns - begin_ns));
	if (md->recording->coverage.from_ns || md->recording->coverage.until_ns) {
		string_append_text(md->out, ", of a recording from ");
		md_time(md, md->recording->coverage.account.first_ts_ns);
		string_append_text(md->out, " to ");
		md_time(md, md->recording->coverage.account.last_ts_ns);
	}
	string_append_text(md->out, ") |\n");
}

static void append_not_captured(struct md *md)
{
	if (report_append_not_captured(md->out, md->recording,
				       "| Not captured, so not in this report | "))
		string_append_text(md->out, " |\n");
}

static void append_coverage(struct md *md)
{
	const struct report_coverage *coverage = &md->recording->coverage;
	const struct recording_account *account = &coverage->account;
	size_t i;

	string_append_text(md->out, "\n| | |\n|---|---|\n| Host | ");
	md_text_or(md, coverage->host, "?");
	string_append_text(md->out, ", Linux ");
	md_text_or(md, coverage->kernel, "?");
	string_append_text(md->out, " |\n");
	append_span(md);
	string_append_text(md->out, "| Recorded by | memscope-bpf ");
	md_text_or(md, coverage->version, "?");
	string_append_format(md->out, ", recording %016llx", (ull)account->recording);
	if (coverage->targets) {
		string_append_text(md->out, ", of ");
		md_text_or(md, coverage->targets, "");
	}
	if (coverage->reason) {
		string_append_text(md->out, "; it ended: ");
		md_text_or(md, coverage->reason, "");
	}
	string_append_text(md->out, " |\n| Files | ");
	for (i = 0; i < coverage->files_count && i < md->report->options.top; i++) {
		string_append_text(md->out, i ? ", " : "");
		md_text_or(md, coverage->files[i], "?");
	}
	if (i < coverage->files_count)
		string_append_format(md->out, " and %zu more", coverage->files_count - i);
	string_append_format(
		md->out, " |\n| Events | %s, in %s block%s and %s segment%s |\n| Processes | %zu",
		MD_COUNT(account->calls), MD_COUNT(account->blocks),
		account->blocks == 1 ? "" : "s", MD_COUNT(account->segments),
		account->segments == 1 ? "" : "s", md->recording->processes_count);
	if (md->recording->state->more_count)
		string_append_format(md->out, ", and %s that ended earlier and held less",
				     MD_COUNT(md->recording->state->more_count));
	string_append_text(md->out, " |\n");
	append_not_captured(md);
}

static void append_notes(struct md *md, const char *heading,
			 void (*append)(struct string *out,
					const struct report_recording *recording))
{
	const char *place, *end;
	struct string notes = { 0 };

	string_append_format(md->out, "\n%s:\n\n", heading);
	append(&notes, md->recording);
	md->out->failed |= notes.failed;
	for (place = notes.bytes; place && place < notes.bytes + notes.length; place = end + 1) {
		end = memchr(place, '\n', notes.bytes + notes.length - place);
		string_append_text(md->out, "* ");
		string_append(md->out, place, end + 1 - place);
	}
	if (!notes.length)
		string_append_text(md->out, "* nothing\n");
	string_fini(&notes);
}

/* ---- several recordings ---------------------------------------------------------------------- */

static void append_fleet_process(struct md *md, const struct report_process *shown)
{
	const struct process *process = shown->process;
	uint32_t space, headed = 0;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!process->spaces[space].allocs && !process->spaces[space].peak_bytes)
			continue;
		string_append_text(md->out, "| ");
		md_text_or(md, md->recording->coverage.host, "?");
		string_append_text(md->out, " | ");
		md_process(md, process->pid, process->comm);
		string_append_format(
			md->out, " | %s | %s | %s | ", probe_space_name(space),
			process->entries_only ? "?" : MD_SIZE(report_held(process, space).bytes),
			process->entries_only ? "?" : MD_SIZE(process->spaces[space].peak_bytes));
		if (!headed++)
			string_append_format(md->out, "%zu", shown->findings);
		string_append_text(md->out, " |\n");
	}
}

static void append_fleet(struct md *md)
{
	size_t i, j;

	if (md->report->count < 2)
		return;
	string_append_format(md->out,
			     "\n## Fleet: %zu recordings\n\n"
			     "| Host | Process | Space | At the end | Peak | Findings |\n"
			     "|---|---|---|--:|--:|--:|\n",
			     md->report->count);
	for (i = 0; i < md->report->count; i++) {
		md->recording = md->report->recordings[i];
		for (j = 0; j < md->recording->processes_count; j++)
			append_fleet_process(md, &md->recording->processes[j]);
	}
}

/* ---- suggestions, thresholds ----------------------------------------------------------------- */

/* The findings behind it, by the numbers of their evidence. */
static void append_evidence(struct md *md, enum finding_rule rule)
{
	const char *before = " (";
	size_t i;

	for (i = 0; i < md->recording->findings_count; i++) {
		const struct report_finding *finding = &md->recording->findings[i];
		size_t count = finding->finding->evidence_count;

		if (finding->finding->rule != rule)
			continue;
		string_append_format(md->out, "%sF%zu: [E%zu]", before, finding->number,
				     finding->first_evidence);
		if (count > 1)
			string_append_format(md->out, " to [E%zu]",
					     finding->first_evidence + count - 1);
		before = "; ";
	}
	string_append_text(md->out, ")\n");
}

static void append_suggestions(struct md *md)
{
	enum finding_rule rule;
	size_t count = 0, i;
	const char *text;

	string_append_text(md->out, "\n### 8. Suggestions\n\n");
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		for (i = 0; (text = report_suggestion(md->recording, rule, i)); i++) {
			string_append_format(md->out, "%zu. %s", ++count, text);
			append_evidence(md, rule);
		}
	}
	if (!count)
		string_append_text(md->out, "None.\n");
}

static void append_thresholds(struct md *md)
{
	const struct analysis_options *options = &md->report->recordings[0]->thresholds;
	const struct threshold *threshold;
	size_t i;

	string_append_text(md->out, "\n## Thresholds\n\n| Name | Value | Default | What it is |\n"
				    "|---|--:|--:|---|\n");
	md->recording = md->report->recordings[0];
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		const uint64_t value = threshold_of(threshold, options);

		string_append_format(md->out, "| %s | ", threshold->name);
		report_append_value(md->out, md->recording, threshold->unit, value);
		string_append_text(md->out, " | ");
		report_append_value(md->out, md->recording, threshold->unit, threshold->value);
		string_append_format(md->out, " | %s |\n", threshold->help);
	}
}

static void append_recording(struct md *md, size_t number)
{
	if (md->report->count > 1) {
		string_append_format(md->out, "\n## Recording %zu: ", number + 1);
		md_text_or(md, md->recording->coverage.host, "unknown host");
		string_append_char(md->out, '\n');
	}
	string_append_text(md->out, "\n### 1. What this covers\n");
	append_coverage(md);
	append_notes(md, "Lost", report_append_lost);
	append_notes(md, "Unknown", report_append_unknown);
	md_memory(md);
	md_timeline(md);
	md_findings(md);
	append_suggestions(md);
}

void report_md(struct string *out, const struct report *report, bool ascii)
{
	struct md md = { .out = out, .report = report, .ascii = ascii };
	size_t i;

	string_append_text(out, "# GPU memory report\n\n");
	append_verdict(&md);
	if (report->refused)
		string_append_format(out,
				     "\n%zu of the files could not be used and %s not in here.\n",
				     report->refused, report->refused > 1 ? "are" : "is");
	append_fleet(&md);
	for (i = 0; i < report->count; i++) {
		md.recording = report->recordings[i];
		append_recording(&md, i);
	}
	append_thresholds(&md);
	string_fini(&md.scratch);
}
