// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was found, as HTML: each finding with its evidence and what to do about it, and who held
 * what when an allocation failed.
 */
#include "render/stack_words.h"
#include "render/report_html.h"

#include "render/document_html.h"
#include "render/report_document.h"
#include "render/report_notes.h"
#include "render/finding_words.h"
#include "render/report_oom_words.h"
#include "render/report_words.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

/* ---- findings -------------------------------------------------------------------------------- */

static void append_about(struct html *html, const struct finding *finding)
{
	html_process(html, finding->pid, finding->name);
	if (finding->row != MS_NO_ROW)
		string_append_format(html->out, ", <code>%s</code>",
				     probe_at(finding->row)->symbol);
	if (finding->space != MS_SPACE_NONE)
		string_append_format(html->out, ", %s memory", probe_space_name(finding->space));
	if (finding->device >= 0)
		string_append_format(html->out, ", device %d", finding->device);
	if (finding->bytes)
		string_append_format(html->out, ", <strong>%s</strong>",
				     REPORT_SIZE(finding->bytes));
	if (finding->object)
		string_append_format(html->out, ", <strong>%s %s</strong>",
				     REPORT_COUNT(finding->count), finding_words_objects(finding));
}

static void append_confidence(struct html *html, enum finding_confidence confidence,
			      const char *lowered_by)
{
	string_append_format(html->out, "confidence %s", report_confidence_name(confidence));
	if (!lowered_by)
		return;
	string_append_text(html->out, " (");
	html_words(html, lowered_by);
	string_append_char(html->out, ')');
}

/* What comes from a line of code. */
static const char *what_is_in(const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;

	if (finding->rule == FINDING_OOM)
		return "the call that failed, made";
	if (finding->rule == FINDING_FRAGMENTATION)
		return "blocks in these segments, made";
	switch (report_finding_stack_unit(numbered)) {
	case FINDING_BYTES:
		return finding->freed ? "live before it ended, allocated" : "live, allocated";
	case FINDING_COUNT:
		return "calls that were made";
	default:
		return "time of these calls that was";
	}
}

static void append_site(struct html *html, const struct report_finding *numbered)
{
	const enum finding_unit unit = report_finding_stack_unit(numbered);
	const uint64_t value = report_finding_stack_part(numbered);
	struct string words = { 0 };

	stack_words_append_chain(&words, &html->recording->state->stacks, numbered->stack);
	string_append_format(html->out, "<div><dt>%s%s in ",
			     numbered->at_least ? "at least so much: " : "", what_is_in(numbered));
	html_text(html, words.bytes, words.length);
	string_append_format(html->out, "</dt><dd data-v=\"%llu\">", (ull)value);
	html_value(html, unit, value);
	string_append_text(html->out, "</dd></div>\n");
	html->out->failed |= words.failed;
	string_fini(&words);
}

/* The evidence before a moment says how long that took which began then. */
static void append_when(struct html *html, const struct finding_evidence *evidence)
{
	const uint64_t begin_ns = evidence->value, end_ns = begin_ns + evidence[-1].value;

	if (evidence->unit == FINDING_TIME && evidence[-1].unit == FINDING_NS)
		string_append_format(html->out, " data-from=\"%llu\" data-to=\"%llu\"",
				     (ull)begin_ns, (ull)end_ns);
}

static void append_evidence(struct html *html, const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	size_t i;

	string_append_text(html->out, "<dl class=\"evidence\">\n");
	for (i = 0; i < finding->evidence_count; i++) {
		const struct finding_evidence *evidence = &finding->evidence[i];

		string_append_format(html->out,
				     "<div id=\"E%zu\"><dt><span class=\"id\">E%zu</span> ",
				     numbered->first_evidence + i, numbered->first_evidence + i);
		finding_words_evidence(&html->scratch, evidence);
		html_flush(html);
		string_append_format(html->out, "</dt><dd data-v=\"%llu\"", (ull)evidence->value);
		if (i)
			append_when(html, evidence);
		string_append_char(html->out, '>');
		html_value(html, evidence->unit, evidence->value);
		string_append_text(html->out, "</dd></div>\n");
	}
	if (numbered->stack)
		append_site(html, numbered);
	string_append_text(html->out, "</dl>\n");
}

static void append_suggestions(struct html *html, const struct report_finding *numbered)
{
	const enum finding_rule rule = numbered->finding->rule;
	const char *text;
	size_t i;

	for (i = 0; (text = report_suggestion(html->recording, rule, i)); i++) {
		string_append_text(html->out, i ? "<li>" : "<ul class=\"todo\">\n<li>");
		html_words(html, text);
		if (numbered->finding->evidence_count)
			string_append_format(
				html->out,
				" (<a href=\"#E%zu\">E%zu</a> to <a href=\"#E%zu\">E%zu</a>)",
				numbered->first_evidence, numbered->first_evidence,
				numbered->first_evidence + numbered->finding->evidence_count - 1,
				numbered->first_evidence + numbered->finding->evidence_count - 1);
		string_append_text(html->out, "</li>\n");
	}
	if (i)
		string_append_text(html->out, "</ul>\n");
}

static const char *grade_of(const struct finding *finding)
{
	if (finding_topic_of(finding->rule) == FINDING_TOPIC_NOTE)
		return "known";
	return finding->rule == FINDING_OOM && !finding_ended_well(finding) ? "bad" : "warn";
}

static void append_finding(struct html *html, const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	const enum finding_topic topic = finding_topic_of(finding->rule);
	const bool of_time = topic == FINDING_TOPIC_BOTTLENECK || topic == FINDING_TOPIC_COPIES;

	string_append_format(html->out,
			     "<article class=\"finding %s\" id=\"F%zu\" data-from=\"%llu\""
			     " data-to=\"%llu\"%s aria-labelledby=\"F%zu-h\">\n"
			     "<h4 id=\"F%zu-h\"><span class=\"id\">F%zu</span> %s</h4>\n<p>",
			     grade_of(finding), numbered->number, (ull)finding->first_ts_ns,
			     (ull)finding->last_ts_ns, of_time ? " data-time" : "",
			     numbered->number, numbered->number, numbered->number,
			     finding_rule_name(finding->rule));
	append_about(html, finding);
	string_append_text(html->out, "</p>\n<p class=\"when\">From ");
	html_time(html, finding->first_ts_ns);
	string_append_text(html->out, " to ");
	html_time(html, finding->last_ts_ns);
	string_append_text(html->out, "; ");
	if (finding->pattern)
		string_append_format(html->out, "%s; ", finding->pattern);
	append_confidence(html, finding->confidence, finding->lowered_by);
	string_append_text(html->out, "</p>\n");
	append_suggestions(html, numbered);
	append_evidence(html, numbered);
	string_append_text(html->out, "</article>\n");
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void append_request(struct html *html, const struct analysis_oom *oom, size_t place)
{
	string_append_format(html->out,
			     "<article class=\"oom\" id=\"r%zu-oom-%zu\" data-from=\"%llu\""
			     " data-to=\"%llu\">\n<h4>Failure %zu at ",
			     html->number, place, (ull)oom->ts_ns, (ull)oom->last_ts_ns, place);
	html_time(html, oom->last_ts_ns);
	string_append_text(html->out, "</h4>\n<p>");
	report_append_oom_request(&html->scratch, oom);
	if (oom->device >= 0)
		string_append_i64(&html->scratch, oom->device);
	else
		string_append_char(&html->scratch, '?');
	report_append_oom_repeats(&html->scratch, oom);
	string_append_text(&html->scratch, ". How it ended: ");
	report_append_oom_outcome(&html->scratch, html->recording, oom);
	html_flush(html);
	string_append_format(html->out, ". Cause: <strong>%s</strong>, ",
			     analysis_oom_cause_name(oom->cause));
	append_confidence(html, oom->confidence, oom->lowered_by);
	string_append_text(html->out, ". ");
	if (oom->series.live.count) {
		string_append_text(&html->scratch, "It");
		report_append_oom_series(&html->scratch, html->recording, oom);
		string_append_text(&html->scratch, ". ");
	}
	report_append_oom_remedies(&html->scratch, html->recording, oom);
	html_flush(html);
	string_append_text(html->out, "</p>\n");
}

static void append_oom(struct html *html, const struct analysis_oom *oom, size_t place)
{
	struct document_html of;

	document_html_init(&of, html, SIZE_MAX);
	append_request(html, oom, place);
	string_append_text(html->out, "<div class=\"cards\">\n");
	report_document_oom_holders(&of.document, html->recording, oom, place);
	string_append_text(html->out,
			   "</div>\n<details><summary>The largest and the newest blocks then"
			   "</summary>\n<div class=\"cards\">\n");
	report_document_oom_blocks(&of.document, html->recording, oom, place);
	string_append_text(html->out, "</div>\n</details>\n</article>\n");
	document_html_fini(&of);
}

/* ---- the section ----------------------------------------------------------------------------- */

static void append_not_looked_for(struct html *html)
{
	enum finding_topic topic;
	struct string lines = { 0 };

	for (topic = 0; topic < FINDING_TOPICS_COUNT; topic++) {
		size_t begin = lines.length;

		report_append_not_looked_for(&lines, html->recording, topic);
		if (lines.length > begin)
			string_append_char(&lines, '\n');
	}
	if (lines.length) {
		string_append_text(html->out, "<div class=\"note\">\n");
		html_list(html, &lines, "");
		string_append_text(html->out, "</div>\n");
	}
	html->out->failed |= lines.failed;
	string_fini(&lines);
}

/* Out of memory is what people call for: with who held what then, it comes first. */
static void append_all(struct html *html)
{
	const struct report_recording *recording = html->recording;
	const struct analysis_account *account = analysis_account(recording->analysis);
	size_t i;

	for (i = 0; i < recording->findings_count; i++)
		if (recording->findings[i].finding->rule == FINDING_OOM)
			append_finding(html, &recording->findings[i]);
	for (i = 0; i < recording->ooms_count; i++)
		append_oom(html, recording->ooms[i], i + 1);
	if (account->oom_not_listed)
		string_append_format(
			html->out,
			"<p>Memory ran out %s more times, which are not listed here.</p>\n",
			REPORT_COUNT(account->oom_not_listed));
	for (i = 0; i < recording->findings_count; i++)
		if (recording->findings[i].finding->rule != FINDING_OOM)
			append_finding(html, &recording->findings[i]);
	if (account->findings_dropped)
		string_append_format(html->out, "<p>%s lesser finding%s not listed.</p>\n",
				     REPORT_COUNT(account->findings_dropped),
				     account->findings_dropped == 1 ? " is" : "s are");
}

void html_findings(struct html *html)
{
	html_section(html, "findings", "Findings");
	append_all(html);
	if (!html->recording->findings_count)
		string_append_text(html->out, "<p>None found.</p>\n");
	append_not_looked_for(html);
	html_section_end(html);
}
