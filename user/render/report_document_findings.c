// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was found, as Markdown, with the evidence for it.
 */
#include "render/report_md.h"

#include <string.h>

#include "render/report_notes.h"
#include "render/report_words.h"

/* ---- findings -------------------------------------------------------------------------------- */

static void append_about(struct md *md, const struct finding *finding)
{
	md_process(md, finding->pid, finding->comm);
	if (finding->row != MS_NO_ROW)
		string_append_format(md->out, ", %s", probe_at(finding->row)->symbol);
	if (finding->space != MS_SPACE_NONE)
		string_append_format(md->out, ", %s memory", probe_space_name(finding->space));
	if (finding->device >= 0)
		string_append_format(md->out, ", device %d", finding->device);
	if (finding->bytes)
		string_append_format(md->out, ", %s", MD_SIZE(finding->bytes));
}

static void append_finding(struct md *md, const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	size_t i;

	string_append_format(md->out, "\n**F%zu %s**: ", numbered->number,
			     finding_rule_name(finding->rule));
	append_about(md, finding);
	string_append_format(md->out, ". Confidence: %s",
			     report_confidence_name(finding->confidence));
	if (finding->lowered_by)
		string_append_format(md->out, " (%s)", finding->lowered_by);
	string_append_text(md->out, ". From ");
	md_time(md, finding->first_ts_ns);
	string_append_text(md->out, " to ");
	md_time(md, finding->last_ts_ns);
	string_append_text(md->out, ".\n\n");
	for (i = 0; i < finding->evidence_count; i++) {
		string_append_format(md->out, "* [E%zu] %s: ", numbered->first_evidence + i,
				     finding->evidence[i].what);
		report_append_value(md->out, md->recording, finding->evidence[i].unit,
				    finding->evidence[i].value);
		string_append_char(md->out, '\n');
	}
}

/* Returns whether there was any. */
static bool append_topic(struct md *md, enum finding_topic topic)
{
	size_t i, count = 0;

	for (i = 0; i < md->recording->findings_count; i++) {
		const struct report_finding *finding = &md->recording->findings[i];

		if (finding_topic_of(finding->finding->rule) != topic)
			continue;
		append_finding(md, finding);
		count++;
	}
	return count;
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void append_request(struct md *md, const struct analysis_oom *oom, size_t number)
{
	string_append_format(md->out, "\n**Failure %zu** at ", number);
	md_time(md, oom->ts_ns);
	string_append_text(md->out, ": ");
	md_process(md, oom->pid, oom->comm);
	string_append_format(md->out, ", thread %u, asked %s for %s of %s memory on device ",
			     oom->tid, probe_at(oom->row)->symbol,
			     oom->requested_known ? MD_SIZE(oom->requested_bytes) :
						    "an unknown number of bytes",
			     probe_space_name(oom->space));
	md_device(md, oom->device);
	if (oom->failures > 1)
		string_append_format(md->out, ", %s times", MD_COUNT(oom->failures));
	string_append_format(md->out, ". Cause: **%s**, confidence %s",
			     analysis_oom_cause_name(oom->cause),
			     report_confidence_name(oom->confidence));
	if (oom->lowered_by)
		string_append_format(md->out, " (%s)", oom->lowered_by);
	string_append_text(md->out, ".\n\n");
}

static void append_oom_row(void *context, const struct report_row *row)
{
	struct md *md = context;

	string_append_format(md->out, "| %s | %s | %s%s|\n", row->what,
			     row->bytes_known ? MD_SIZE(row->bytes) : "?",
			     row->has_count ? MD_COUNT(row->count) : "", row->has_count ? " " : "");
}

static void append_state_of(struct md *md, const struct analysis_oom *oom)
{
	string_append_text(md->out, "| At that moment | Bytes | Blocks |\n|---|--:|--:|\n");
	if (!report_oom_rows(md->recording, oom, append_oom_row, md))
		md->out->failed = true;
}

static void append_owners(struct md *md, const struct analysis_oom *oom)
{
	size_t i;

	if (oom->processes_count)
		string_append_text(md->out, "\n| Process | Held | Blocks |\n|---|--:|--:|\n");
	for (i = 0; i < oom->processes_count; i++) {
		string_append_text(md->out, "| ");
		md_process(md, oom->processes[i].pid, oom->processes[i].comm);
		string_append_format(md->out, "%s | %s | %s |\n",
				     oom->processes[i].pid == oom->pid &&
						     oom->processes[i].start_ns == oom->start_ns ?
					     " (it failed)" :
					     "",
				     MD_SIZE(oom->processes[i].live.bytes),
				     MD_COUNT(oom->processes[i].live.count));
	}
	if (oom->more_processes)
		string_append_format(md->out, "\n%zu more processes held less.\n",
				     oom->more_processes);
	if (oom->kinds_count)
		string_append_text(
			md->out, "\n| Allocated by | Space | Held | Blocks |\n|---|---|--:|--:|\n");
	for (i = 0; i < oom->kinds_count; i++)
		string_append_format(md->out, "| %s | %s | %s | %s |\n",
				     probe_at(oom->kinds[i].row)->symbol,
				     probe_space_name(oom->kinds[i].space),
				     MD_SIZE(oom->kinds[i].live.bytes),
				     MD_COUNT(oom->kinds[i].live.count));
}

static void append_blocks(struct md *md, const struct analysis_oom *oom, const char *which,
			  const struct oom_block *blocks, size_t count)
{
	size_t i;

	if (!count)
		return;
	string_append_format(md->out,
			     "\n| %s | Process | Allocated by | Space | Address | Age |\n"
			     "|--:|--:|---|---|--:|--:|\n",
			     which);
	for (i = 0; i < count && i < md->report->options.top; i++) {
		const struct allocation *allocation = &blocks[i].allocation;

		string_append_format(md->out, "| %s | %u | %s | %s | 0x%llx | %s |\n",
				     allocation->size_known ? MD_SIZE(allocation->size_bytes) : "?",
				     blocks[i].pid, probe_at(allocation->row)->symbol,
				     probe_space_name(allocation->space),
				     (unsigned long long)allocation->addr,
				     MD_DURATION(report_age_ns(allocation, oom->ts_ns)));
	}
}

static void append_ooms(struct md *md)
{
	const struct analysis_account *account = analysis_account(md->recording->analysis);
	size_t i;

	for (i = 0; i < md->recording->ooms_count; i++) {
		const struct analysis_oom *oom = md->recording->ooms[i];

		append_request(md, oom, i + 1);
		append_state_of(md, oom);
		append_owners(md, oom);
		append_blocks(md, oom, "Largest", oom->largest, oom->largest_count);
		append_blocks(md, oom, "Newest", oom->newest, oom->newest_count);
	}
	if (account->oom_not_listed)
		string_append_format(md->out,
				     "\n%s more failures of allocations are not listed here.\n",
				     MD_COUNT(account->oom_not_listed));
}

/* ---- sections -------------------------------------------------------------------------------- */

static void append_blind(struct md *md, enum finding_topic topic)
{
	struct string note = { 0 };

	report_append_not_looked_for(&note, md->recording, topic);
	if (note.length)
		string_append_format(md->out, "\n%.*s\n", (int)note.length, note.bytes);
	md->out->failed |= note.failed;
	string_fini(&note);
}

static void append_none(struct md *md, bool found)
{
	if (!found)
		string_append_text(md->out, "\nNone found.\n");
}

void md_findings(struct md *md)
{
	const uint64_t dropped = analysis_account(md->recording->analysis)->findings_dropped;
	bool found;

	string_append_text(md->out, "\n### 4. Leaks\n");
	append_none(md, append_topic(md, FINDING_TOPIC_LEAK));
	append_blind(md, FINDING_TOPIC_LEAK);
	string_append_text(md->out, "\n### 5. Out of memory\n");
	append_none(md, append_topic(md, FINDING_TOPIC_OOM));
	append_ooms(md);
	append_blind(md, FINDING_TOPIC_OOM);
	string_append_text(md->out, "\n### 6. Temporary allocations, storms, copies\n");
	found = append_topic(md, FINDING_TOPIC_CHURN);
	append_none(md, append_topic(md, FINDING_TOPIC_COPIES) || found);
	append_blind(md, FINDING_TOPIC_CHURN);
	append_blind(md, FINDING_TOPIC_COPIES);
	string_append_text(md->out, "\n### 7. Bottlenecks\n");
	append_none(md, append_topic(md, FINDING_TOPIC_BOTTLENECK));
	append_blind(md, FINDING_TOPIC_BOTTLENECK);
	if (dropped)
		string_append_format(md->out, "\n%s lesser finding%s not listed.\n",
				     MD_COUNT(dropped), dropped == 1 ? " is" : "s are");
}
