// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was called how often, as HTML: the overview, and around tables of calls, of the timeline and
 * of thresholds.
 */
#include "render/report_html.h"

#include "render/document_html.h"
#include "render/report_document.h"
#include "render/report_host.h"
#include "render/report_words.h"

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

/* ---- overview -------------------------------------------------------------------------------- */

struct totals {
	uint64_t allocs, alloc_bytes, frees, copies, copied_bytes, launches, syncs, sync_ns,
		failures;
};

static void add_process(struct totals *totals, const struct process *process)
{
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		totals->allocs += process->spaces[i].allocs;
		totals->alloc_bytes += usage_is_on_device(i) ? process->spaces[i].alloc_bytes : 0;
		totals->frees += process->spaces[i].frees;
	}
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		totals->copies += process->copies[i].count;
		totals->copied_bytes += process->copies[i].bytes;
	}
	for (i = 0; i < process->failures_count; i++)
		totals->failures += process->failures[i].count;
	totals->launches += process->launches;
	totals->syncs += process->syncs.count;
	totals->sync_ns += process->syncs.duration_ns;
}

static struct totals totals_of(const struct report_recording *recording)
{
	struct totals totals = { 0 };
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		add_process(&totals, recording->processes[i].process);
	if (report_has_more(recording))
		add_process(&totals, recording->state->more);
	return totals;
}

/*
 * `op`: what must have been captured for the value to be known, or it is left out; MS_OPS_COUNT: it
 * is known in any case.
 */
static void append_tile(struct html *html, const char *name, enum ms_op op, uint64_t value,
			const char *shown, const char *more)
{
	const bool known =
		op == MS_OPS_COUNT || !report_not_captured(&html->recording->coverage, op);

	string_append_format(html->out, "<div><dt>%s</dt><dd data-v=\"%llu\">%s", name, (ull)value,
			     known ? shown : "?");
	if (known && *more)
		string_append_format(html->out, " <small>%s</small>", more);
	string_append_text(html->out, "</dd></div>\n");
}

static void append_device(struct html *html, const struct report_device *device)
{
	string_append_text(html->out, "<div class=\"device\"><dt>Peak on device ");
	if (device->device >= 0)
		report_device_append_label(html->out, html->recording, device);
	else
		string_append_char(html->out, '?');
	string_append_format(html->out, "</dt><dd data-v=\"%llu\">%s", (ull)device->peak_bytes,
			     REPORT_SIZE(device->peak_bytes));
	string_append_text(html->out, " <small>");
	if (device->peak_bytes) {
		string_append_text(html->out, "at ");
		html_time(html, device->peak_ts_ns);
		string_append_text(html->out, ", ");
	}
	string_append_format(html->out, "%s at the end</small></dd></div>\n",
			     REPORT_SIZE(device->live_bytes));
}

void html_overview(struct html *html)
{
	const struct totals totals = totals_of(html->recording);
	struct string more = { 0 };
	size_t i;

	html_section(html, "overview", "Overview");
	string_append_text(html->out, "<dl class=\"tiles\">\n");
	for (i = 0; i < html->recording->devices_count; i++)
		append_device(html, &html->recording->devices[i]);
	string_append_format(&more, "%s on devices%c", REPORT_SIZE(totals.alloc_bytes), '\0');
	append_tile(html, "Allocations", MS_OP_ALLOC, totals.allocs, REPORT_COUNT(totals.allocs),
		    more.failed ? "" : more.bytes);
	append_tile(html, "Frees", MS_OP_FREE, totals.frees, REPORT_COUNT(totals.frees), "");
	append_tile(html, "Copied", MS_OP_COPY, totals.copied_bytes,
		    REPORT_SIZE(totals.copied_bytes), "");
	append_tile(html, "Copies", MS_OP_COPY, totals.copies, REPORT_COUNT(totals.copies), "");
	append_tile(html, "Launches", MS_OP_LAUNCH, totals.launches, REPORT_COUNT(totals.launches),
		    "");
	append_tile(html, "In synchronisation", MS_OP_SYNC, totals.sync_ns,
		    REPORT_DURATION(totals.sync_ns), "threads added up");
	append_tile(html, "Failed calls", MS_OPS_COUNT, totals.failures,
		    REPORT_COUNT(totals.failures), "");
	append_tile(html, "Records lost", MS_OPS_COUNT, report_lost(&html->recording->coverage),
		    REPORT_COUNT(report_lost(&html->recording->coverage)), "");
	string_append_text(html->out, "</dl>\n");
	html_section_end(html);
	html->out->failed |= more.failed;
	string_fini(&more);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void html_calls(struct html *html)
{
	struct document_html of;

	html_section(html, "calls", "Kernels, copies, failures");
	document_html_init(&of, html, SIZE_MAX);
	report_document_all_processes(&of.document, html->recording, REPORT_DOCUMENT_CALLS);
	report_document_call_sites(&of.document, html->recording);
	if (report_document_has_launch_sites(html->recording))
		report_document_launch_sites(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}

void html_gpu(struct html *html)
{
	struct document_html of;

	if (!report_document_has_gpu(html->recording))
		return;
	html_section(html, "gpu", "GPU time");
	document_html_init(&of, html, SIZE_MAX);
	report_document_gpu(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}

void html_timeline(struct html *html)
{
	struct document_html of;

	if (!timeline_length(&html->recording->timeline))
		return;
	string_append_text(html->out, "<details class=\"numbers\"><summary>The timeline as a table"
				      "</summary>\n");
	document_html_init(&of, html, SIZE_MAX);
	report_document_timeline(&of.document, html->recording);
	report_host_tables(&of.document, html->recording);
	document_html_fini(&of);
	string_append_text(html->out, "</details>\n");
}

void html_phases(struct html *html)
{
	struct document_html of;

	if (!report_document_has_phases(html->recording))
		return;
	html_section(html, "phases-of-programs", "Phases");
	document_html_init(&of, html, SIZE_MAX);
	report_document_phases(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}

void html_steps(struct html *html)
{
	struct document_html of;

	if (!report_document_has_steps(html->recording))
		return;
	html_section(html, "steps-of-programs", "Steps");
	document_html_init(&of, html, SIZE_MAX);
	report_document_steps(&of.document, html->recording);
	document_html_fini(&of);
	html_section_end(html);
}

/* All of them: they are folded. */
void html_thresholds(struct html *html)
{
	struct document_html of;

	html_section(html, "thresholds", "Thresholds");
	string_append_text(html->out, "<details><summary>What the rules went by; --threshold sets"
				      " them</summary>\n");
	document_html_init(&of, html, SIZE_MAX);
	report_document_thresholds(&of.document, html->report, true);
	report_document_suppressions(&of.document, html->report);
	document_html_fini(&of);
	string_append_text(html->out, "</details>\n");
	html_section_end(html);
}
