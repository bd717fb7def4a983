// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_html.h"

#include <stdio.h>
#include <string.h>

#include "render/document_html.h"
#include "render/json_writer.h"
#include "render/lanes_json.h"
#include "render/report_document.h"
#include "render/report_json.h"
#include "render/report_notes.h"
#include "render/report_words.h"

/* ---- what it covers -------------------------------------------------------------------------- */

static void append_files(struct html *html)
{
	const struct report_coverage *coverage = &html->recording->coverage;
	size_t i;

	string_append_text(html->out, "<div><dt>Files</dt><dd>");
	for (i = 0; i < coverage->files_count; i++) {
		string_append_text(html->out, i ? ", " : "");
		html_text_or(html, coverage->files[i], "?");
	}
	string_append_text(html->out, "</dd></div>\n");
}

static void append_fact(struct html *html, const char *name, const char *text)
{
	string_append_format(html->out, "<div><dt>%s</dt><dd>", name);
	html_text_or(html, text, "?");
	string_append_text(html->out, "</dd></div>\n");
}

static void append_not_captured(struct html *html)
{
	if (report_append_not_captured(html->out, html->recording,
				       "<div><dt>Not captured</dt><dd>"))
		string_append_text(html->out, "</dd></div>\n");
}

static void append_times(struct html *html)
{
	const uint64_t begin_ns = report_begin_ns(html->recording);
	const uint64_t end_ns = report_end_ns(html->recording);

	string_append_text(html->out, "<div><dt>Time</dt><dd>");
	report_append_time(html->out, html->recording, begin_ns);
	string_append_text(html->out, " to ");
	report_append_time(html->out, html->recording, end_ns);
	string_append_format(html->out, " (%s)", REPORT_DURATION(end_ns - begin_ns));
	if (html->recording->coverage.from_ns || html->recording->coverage.until_ns) {
		string_append_text(html->out, ", of a recording from ");
		report_append_time(html->out, html->recording,
				   html->recording->coverage.account.first_ts_ns);
		string_append_text(html->out, " to ");
		report_append_time(html->out, html->recording,
				   html->recording->coverage.account.last_ts_ns);
	}
	string_append_text(html->out, "</dd></div>\n");
}

static void append_selection(struct html *html)
{
	if (!report_append_selection(&html->scratch, html->recording))
		return;
	string_append_text(html->out, "<div><dt>Only</dt><dd>");
	html_flush(html);
	string_append_text(html->out, "</dd></div>\n");
}

static void append_facts(struct html *html)
{
	const struct report_coverage *coverage = &html->recording->coverage;
	const struct recording_account *account = &coverage->account;

	string_append_text(html->out, "<dl class=\"facts\">\n");
	append_fact(html, "Host", coverage->host);
	append_fact(html, "Linux", coverage->kernel);
	append_times(html);
	append_selection(html);
	append_fact(html, "Recorded by memscope-bpf", coverage->version);
	if (coverage->targets)
		append_fact(html, "Of", coverage->targets);
	if (coverage->reason)
		append_fact(html, "It ended", coverage->reason);
	append_files(html);
	string_append_format(
		html->out,
		"<div><dt>Events</dt><dd>%s, in %s block%s and %s segment%s</dd></div>\n"
		"<div><dt>Processes</dt><dd>%zu",
		REPORT_COUNT(account->calls), REPORT_COUNT(account->blocks),
		account->blocks == 1 ? "" : "s", REPORT_COUNT(account->segments),
		account->segments == 1 ? "" : "s", html->recording->processes_count);
	if (html->recording->state->more_count)
		string_append_format(html->out, ", and %s that ended earlier and held less",
				     REPORT_COUNT(html->recording->state->more_count));
	string_append_text(html->out, "</dd></div>\n");
	append_not_captured(html);
	string_append_text(html->out, "</dl>\n");
}

void html_coverage(struct html *html)
{
	struct string lost = { 0 }, unknown = { 0 };

	report_append_lost(&lost, html->recording);
	report_append_unknown(&unknown, html->recording);
	html_section(html, "coverage", "What this covers");
	append_facts(html);
	string_append_format(html->out, "<div class=\"pair\"><div class=\"lost%s\"><h4>Lost</h4>\n",
			     lost.length ? " some" : "");
	html_list(html, &lost, "nothing");
	string_append_format(html->out, "</div><div class=\"lost%s\"><h4>Unknown</h4>\n",
			     unknown.length ? " some" : "");
	html_list(html, &unknown, "nothing");
	string_append_text(html->out, "</div></div>\n");
	html_section_end(html);
	string_fini(&lost);
	string_fini(&unknown);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool is_grave(const struct finding *finding)
{
	return finding->rule == FINDING_OOM && !finding_ended_well(finding);
}

/* Notes are none. */
static size_t count_findings(const struct report *report, bool oom_alone)
{
	size_t count = 0, i, j;

	for (i = 0; i < report->count; i++) {
		for (j = 0; j < report->recordings[i]->findings_count; j++) {
			const struct finding *finding = report->recordings[i]->findings[j].finding;

			count += oom_alone ? is_grave(finding) :
					     finding_topic_of(finding->rule) != FINDING_TOPIC_NOTE;
		}
	}
	return count;
}

#define JUMPS_MAX 12

/* Out of memory first, as they are listed below. */
static size_t append_jumps_of(struct html *html, const struct report_recording *recording, bool oom,
			      size_t count)
{
	size_t i;

	for (i = 0; i < recording->findings_count && count < JUMPS_MAX; i++) {
		const struct report_finding *finding = &recording->findings[i];

		if ((finding->finding->rule == FINDING_OOM) != oom)
			continue;
		string_append_format(html->out, "%s<a href=\"#F%zu\">F%zu %s</a>",
				     count++ ? " " : "<p class=\"jumps\">", finding->number,
				     finding->number, finding_rule_name(finding->finding->rule));
	}
	return count;
}

/* The way to the findings. */
static void append_jumps(struct html *html)
{
	size_t count = 0, i;

	for (i = 0; i < html->report->count; i++)
		count = append_jumps_of(html, html->report->recordings[i], true, count);
	for (i = 0; i < html->report->count; i++)
		count = append_jumps_of(html, html->report->recordings[i], false, count);
	if (count)
		string_append_text(html->out, "</p>\n");
}

/* Why it is not said that all is well although nothing was found; NULL: it is. */
static const char *doubt_of(const struct report *report)
{
	uint64_t calls = 0;
	bool inexact = false;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_coverage *coverage = &report->recordings[i]->coverage;

		if (report_has_losses(report->recordings[i]) || coverage->missed_processes ||
		    coverage->untraced)
			return "Nothing wrong was found, but something is missing";
		inexact |= report_is_inexact(report->recordings[i]) ||
			   report_lacks_children(report->recordings[i]);
		calls += coverage->account.calls;
	}
	if (report->refused)
		return "Nothing wrong in the files that could be read";
	if (!calls)
		return "No call was recorded";
	return inexact ? "Nothing wrong was found, but not everything is known" : NULL;
}

static void append_verdict(struct html *html)
{
	const size_t findings = count_findings(html->report, false);
	const bool oom = count_findings(html->report, true);
	const char *doubt = doubt_of(html->report);
	const char *grade = oom ? "bad" : findings || doubt ? "warn" : "good";
	struct verdict verdict;
	char title[80];

	if (oom)
		snprintf(title, sizeof(title), "Out of memory");
	else if (findings)
		snprintf(title, sizeof(title), "%zu finding%s", findings, findings > 1 ? "s" : "");
	else
		snprintf(title, sizeof(title), "%s", doubt ? doubt : "Nothing wrong found");
	report_verdict(&verdict, html->report);
	verdict_html(html, grade, title, &verdict);
	verdict_fini(&verdict);
	append_jumps(html);
	string_append_text(html->out, "</section>\n");
}

/* ---- several recordings ---------------------------------------------------------------------- */

static void append_fleet(struct html *html)
{
	struct document_html of;

	if (html->report->count < 2)
		return;
	html->number = 0;
	html_section(html, "fleet", "Fleet");
	document_html_init(&of, html, SIZE_MAX);
	report_document_fleet(&of.document, html->report);
	document_html_fini(&of);
	html_section_end(html);
}

static void append_recordings(struct html *html)
{
	size_t i;

	if (html->report->count < 2)
		return;
	string_append_text(html->out, "<nav id=\"recordings\" aria-label=\"Recordings\">");
	for (i = 0; i < html->report->count; i++) {
		string_append_format(html->out, "<a href=\"#r%zu\">", i + 1);
		html_text_or(html, html->report->recordings[i]->coverage.host, "unknown host");
		string_append_text(html->out, "</a> ");
	}
	string_append_text(html->out, "</nav>");
}

/* ---- one recording --------------------------------------------------------------------------- */

/* Where the script draws; without it, there is nothing there. */
static void append_chart(struct html *html, const char *name, const char *heading)
{
	string_append_text(html->out, "<div class=\"scripted\">");
	html_section(html, name, heading);
	string_append_format(html->out, "<div class=\"mount\" data-chart=\"%s\"></div>\n", name);
	html_section_end(html);
	string_append_text(html->out, "</div>\n");
}

static void append_sections(struct html *html)
{
	static const struct {
		const char *anchor, *name;
	} sections[] = {
		{ "timeline", "Memory" },   { "coverage", "Coverage" },
		{ "findings", "Findings" }, { "overview", "Overview" },
		{ "held", "In use" },       { "spans", "Lanes" },
		{ "owners", "Owners" },     { "sites", "Lines" },
		{ "memory", "Tables" },     { "addresses", "Addresses" },
		{ "devices", "Devices" },
	};
	size_t i;

	string_append_format(html->out,
			     "<nav class=\"sections\" aria-label=\"Sections of recording %zu\">",
			     html->number);
	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (strcmp(sections[i].anchor, "held") != 0 || html->recording->nvml_series.count)
			string_append_format(html->out, "<a href=\"#r%zu-%s\">%s</a> ",
					     html->number, sections[i].anchor, sections[i].name);
	string_append_text(html->out, "<a href=\"#r0-thresholds\">Thresholds</a></nav>\n");
}

static void append_recording(struct html *html)
{
	string_append_format(html->out,
			     "<section class=\"recording\" id=\"r%zu\" data-recording=\"%zu\""
			     " aria-labelledby=\"r%zu-h\">\n<h2 id=\"r%zu-h\">",
			     html->number, html->number - 1, html->number, html->number);
	if (html->report->count > 1)
		string_append_format(html->out, "Recording %zu: ", html->number);
	else
		string_append_text(html->out, "Recorded on ");
	html_text_or(html, html->recording->coverage.host, "an unknown host");
	string_append_text(html->out, "</h2>\n");
	append_sections(html);
	/* What the verdict is about. */
	append_chart(html, "timeline", "Live memory over time");
	html_timeline(html);
	html_coverage(html);
	html_findings(html);
	html_overview(html);
	if (html->recording->nvml_series.count)
		append_chart(html, "held", "What devices hold, by NVML");
	append_chart(html, "spans", "Lanes");
	append_chart(html, "owners", "Who holds memory");
	append_chart(html, "sites", "Where in the code");
	html_memory(html);
	html_calls(html);
	html_gpu(html);
	html_phases(html);
	html_steps(html);
	append_chart(html, "addresses", "Address space");
	html_devices(html);
	string_append_text(html->out, "</section>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

static void append_body(struct html *html)
{
	size_t i;

	append_verdict(html);
	string_append_text(html->out,
			   "<noscript><p class=\"note\">Charts, sorting and filtering need"
			   " JavaScript; everything else is below.</p></noscript>\n");
	append_fleet(html);
	for (i = 0; i < html->report->count; i++) {
		html->recording = html->report->recordings[i];
		html->number = i + 1;
		append_recording(html);
	}
	html->recording = html->report->recordings[0];
	html->number = 0;
	html_thresholds(html);
}

static void append_title(struct html *html)
{
	const char *host = html->report->recordings[0]->coverage.host;

	string_append_text(html->out, "GPU memory report: ");
	if (html->report->count > 1)
		string_append_format(html->out, "%zu recordings", html->report->count);
	else
		html_text_or(html, host, "unknown host");
}

/* ---- data for the script --------------------------------------------------------------------- */

static void append_report(struct html *html)
{
	struct json json = { .out = html->out, .escapes_html = true };

	report_json_object(&json, html->report);
}

static const struct lanes_recording *lanes_of(const struct html *html,
					      const struct report_recording *recording)
{
	size_t i;

	for (i = 0; html->lanes && i < html->lanes->count; i++)
		if (html->lanes->recordings[i].recording == recording)
			return &html->lanes->recordings[i];
	return NULL;
}

static void append_lanes(struct html *html)
{
	struct json json = { .out = html->out, .escapes_html = true };
	size_t i;

	json_open(&json, '[');
	for (i = 0; i < html->report->count; i++) {
		const struct lanes_recording *lanes = lanes_of(html, html->report->recordings[i]);

		if (lanes)
			lanes_json(&json, lanes);
		else
			json_null(&json);
	}
	json_close(&json, ']');
}

void report_html(struct string *out, const struct report *report, const struct lanes *lanes)
{
	static const struct html_page page = { .title = append_title,
					       .contents = append_recordings,
					       .body = append_body,
					       .report = append_report,
					       .lanes = append_lanes };
	struct html html = { .out = out, .report = report, .lanes = lanes };

	html_page_write(&html, &page);
}
