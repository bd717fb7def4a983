// SPDX-License-Identifier: BSD-2-Clause
#include "output/report_md.h"

#include <ctype.h>
#include <string.h>

#include "output/field.h"
#include "output/report_words.h"

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

static void append_escaped(struct string *out, const char *text, size_t length)
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
	append_escaped(md->out, md->scratch.bytes, md->scratch.length);
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
	struct report_verdict verdict;
	size_t i;

	report_verdict_make(&verdict, md->report);
	for (i = 0; i < verdict.count; i++) {
		append_escaped(md->out, verdict.sentences[i].bytes, verdict.sentences[i].length);
		string_append_text(md->out, i + 1 < verdict.count ? " " : "\n");
		md->out->failed |= verdict.sentences[i].failed;
	}
	report_verdict_fini(&verdict);
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
	const char *before = "| Not captured, so not in this report | ";
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!report_not_captured(&md->recording->coverage, op))
			continue;
		string_append_format(md->out, "%s%s", before, probe_op_name(op));
		before = ", ";
	}
	if (*before == ',')
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

static void note(struct md *md, uint64_t count, const char *one, const char *many)
{
	if (count)
		string_append_format(md->out, "* %s %s\n", MD_COUNT(count),
				     count == 1 ? one : many);
}

static void append_lost_calls(struct md *md)
{
	const struct ms_counters *counters = &md->recording->coverage.counters;
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (counters->lost[op])
			string_append_format(md->out, "* %s of %s %s event%s lost\n",
					     MD_COUNT(counters->lost[op]),
					     MD_COUNT(counters->seen[op]), probe_op_name(op),
					     counters->seen[op] == 1 ? " was" : "s were");
	note(md, counters->lost[MS_KIND_FREE_BEGIN], "beginning of a free was lost",
	     "beginnings of frees were lost");
	note(md, counters->lost[MS_KIND_PROCESS], "record of a process's life was lost",
	     "records of processes' lives were lost");
}

static void append_missing(struct md *md)
{
	const struct report_coverage *coverage = &md->recording->coverage;
	const struct recording_account *account = &coverage->account;

	if (account->missing_blocks) {
		string_append_format(md->out, "* %s block%s missing (%s in all), the first at ",
				     MD_COUNT(account->missing_blocks),
				     account->missing_blocks == 1 ? " is" : "s are",
				     MD_DURATION(account->missing_ns));
		md_time(md, account->first_missing_ts_ns ? account->first_missing_ts_ns :
							   account->first_ts_ns);
		string_append_text(md->out, ": totals and what is live go on from the next anchor;"
					    " what happened in between is not known\n");
	}
	if (account->damaged_places)
		string_append_format(md->out, "* %s damaged place%s, %s in all, skipped\n",
				     MD_COUNT(account->damaged_places),
				     account->damaged_places == 1 ? "" : "s",
				     MD_SIZE(account->damaged_bytes));
	note(md, coverage->unwritten_blocks, "block could not be written when it was recorded",
	     "blocks could not be written when it was recorded");
	note(md, coverage->unwritten_records, "record could not be written when it was recorded",
	     "records could not be written when it was recorded");
}

static void append_lost(struct md *md)
{
	const struct report_coverage *coverage = &md->recording->coverage;
	const struct recording_account *account = &coverage->account;
	size_t begin = md->out->length;

	append_lost_calls(md);
	append_missing(md);
	note(md, account->refused, "record was not in order and left out",
	     "records were not in order and left out");
	note(md, account->unknown_calls, "call of a function that this version does not know",
	     "calls of functions that this version does not know");
	note(md, account->unknown_records, "record of a kind that this version does not know",
	     "records of kinds that this version does not know");
	note(md, account->unknown_blocks, "block of a kind that this version does not know",
	     "blocks of kinds that this version does not know");
	note(md, account->unanchored,
	     "record from before the first segment that is whole: it cannot be used",
	     "records from before the first segment that is whole: they cannot be used");
	note(md, account->uncertain,
	     "record between a gap and the next segment: what is live is uncertain there",
	     "records between a gap and the next segment: what is live is uncertain there");
	if (account->cut_short)
		string_append_text(md->out, "* the last block is not whole: whoever wrote it was"
					    " interrupted\n");
	if (!account->has_end)
		string_append_text(md->out, "* the recording was not ended properly: what happened"
					    " after its last block is not in it\n");
	if (md->recording->incomplete)
		string_append_text(md->out, "* this report is incomplete for want of memory\n");
	if (md->out->length == begin)
		string_append_text(md->out, "* nothing\n");
}

static void append_unknown(struct md *md)
{
	const struct report_unknown sum = report_unknown(md->recording);
	size_t begin = md->out->length;

	if (!md->recording->coverage.has_beginning)
		string_append_text(md->out, "* what happened before these files begin: totals by"
					    " kind of memory include it, those by function and the"
					    " timeline do not\n");
	if (sum.was_running)
		string_append_text(md->out, "* what processes held that ran before recording"
					    " began\n");
	if (sum.entries_only)
		string_append_text(md->out, "* whether calls succeeded, and so what is live: only"
					    " the beginnings of calls were recorded\n");
	note(md, sum.pre_attach_frees, "free of memory allocated before recording began",
	     "frees of memory allocated before recording began");
	note(md, sum.unknown_frees, "free of memory that nobody saw allocated",
	     "frees of memory that nobody saw allocated");
	note(md, sum.missed_frees, "free missed: the address was handed out again",
	     "frees missed: the address was handed out again");
	note(md, sum.unknown_allocs, "allocation whose address could not be read: not counted",
	     "allocations whose address could not be read: not counted");
	note(md, sum.unknown_sizes, "live allocation of unknown size: counted as 0 bytes",
	     "live allocations of unknown size: counted as 0 bytes");
	note(md, sum.dropped_nodes, "node of a graph too many to follow",
	     "nodes of graphs too many to follow");
	note(md, sum.unclear_ends, "context ended while blocks of unknown context were live",
	     "contexts ended while blocks of unknown context were live");
	if (!md->recording->coverage.wall_known)
		string_append_text(md->out, "* the time of day: times are seconds from the"
					    " beginning\n");
	if (md->out->length == begin)
		string_append_text(md->out, "* nothing\n");
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
	const struct analysis_threshold *threshold;
	size_t i;

	string_append_text(md->out, "\n## Thresholds\n\n| Name | Value | Default | What it is |\n"
				    "|---|--:|--:|---|\n");
	md->recording = md->report->recordings[0];
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		uint64_t value;

		memcpy(&value, (const char *)options + threshold->offset, sizeof(value));
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
	string_append_text(md->out, "\nLost:\n\n");
	append_lost(md);
	string_append_text(md->out, "\nUnknown:\n\n");
	append_unknown(md);
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
