// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was called how often, as HTML: the overview, kernels, copies, failures, the timeline's
 * numbers, thresholds.
 */
#include "render/report_html.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- kernels --------------------------------------------------------------------------------- */

static int compare_kernels(const void *one, const void *other)
{
	const struct kernel *a = *(const struct kernel *const *)one;
	const struct kernel *b = *(const struct kernel *const *)other;

	return (a->launches < b->launches) - (a->launches > b->launches);
}

static void append_kernels_of(struct html *html, const struct process *process)
{
	const struct kernel **kernels = calloc(process->kernels_count + 1, sizeof(*kernels));
	size_t i;

	html->out->failed |= !kernels;
	for (i = 0; kernels && i < process->kernels_count; i++)
		kernels[i] = &process->kernels[i];
	if (kernels)
		qsort(kernels, process->kernels_count, sizeof(*kernels), compare_kernels);
	for (i = 0; kernels && i < process->kernels_count; i++) {
		html_row(html);
		html_cell_process(html, process->pid, process->comm);
		string_append_text(html->out, "<td>");
		if (kernels[i]->name)
			html_text_or(html, kernels[i]->name, "?");
		else
			string_append_hex(html->out, kernels[i]->handle);
		string_append_text(html->out, "</td>");
		html_cell_count(html, true, kernels[i]->launches);
		html_row_end(html);
	}
	free(kernels);
}

static void append_kernels(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Process", false }, { "Kernel", false }, { "Launches", true }, { 0 }
	};
	size_t i;

	html_table(html, "kernels", "Kernels", columns);
	for (i = 0; i < html->recording->processes_count; i++)
		append_kernels_of(html, html->recording->processes[i].process);
	html_table_end(html);
}

/* ---- copies, failures, launches -------------------------------------------------------------- */

static void append_copies_of(struct html *html, const struct process *process)
{
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const struct call_total *total = &process->copies[i];

		if (!total->count)
			continue;
		html_row(html);
		html_cell_process(html, process->pid, process->comm);
		html_cell_text(html, i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		html_cell_count(html, true, total->count);
		html_cell_size(html, true, total->bytes);
		html_cell_count(html, true, total->unknown_bytes);
		html_cell_duration(html, !process->entries_only, total->duration_ns);
		html_row_end(html);
	}
}

static void append_copies(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Process", false },
		{ "Direction", false },
		{ "Copies", true },
		{ "Bytes", true },
		{ "Of unknown size", true },
		{ "In the calls", true },
		{ 0 },
	};
	size_t i;

	html_table(html, "copies", "Copies", columns);
	for (i = 0; i < html->recording->processes_count; i++)
		append_copies_of(html, html->recording->processes[i].process);
	html_table_end(html);
}

static void append_waits(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Process", false },
		{ "Launches", true },
		{ "Graph launches", true },
		{ "Memsets", true },
		{ "Synchronisations", true },
		{ "In them", true },
		{ 0 },
	};
	const uint32_t captured = html->recording->coverage.captured_ops;
	const bool launches = captured >> MS_OP_LAUNCH & 1, syncs = captured >> MS_OP_SYNC & 1;
	size_t i;

	html_table(html, "waits", "Launches and synchronisation", columns);
	for (i = 0; i < html->recording->processes_count; i++) {
		const struct process *process = html->recording->processes[i].process;

		if (!process->calls[MS_OP_LAUNCH] && !process->calls[MS_OP_SYNC] &&
		    !process->calls[MS_OP_MEMSET])
			continue;
		html_row(html);
		html_cell_process(html, process->pid, process->comm);
		html_cell_count(html, launches, process->launches);
		html_cell_count(html, html->recording->coverage.graph_launches,
				process->graph_launches);
		html_cell_count(html, captured >> MS_OP_MEMSET & 1, process->memsets.count);
		html_cell_count(html, syncs, process->syncs.count);
		html_cell_duration(html, syncs && !process->entries_only,
				   process->syncs.duration_ns);
		html_row_end(html);
	}
	html_table_end(html);
}

static void append_failures_of(struct html *html, const struct process *process)
{
	size_t i;

	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		html_row(html);
		html_cell_process(html, process->pid, process->comm);
		html_cell_text(html, probe->symbol);
		string_append_format(html->out, "<td>%s (%d)</td>", name ? name : "unknown",
				     failure->result);
		html_cell_count(html, true, failure->count);
		html_row_end(html);
	}
}

static void append_failures(struct html *html)
{
	static const struct html_column columns[] = { { "Process", false },
						      { "Call", false },
						      { "Result", false },
						      { "Times", true },
						      { 0 } };
	size_t i;

	html_table(html, "failures", "Failed calls", columns);
	for (i = 0; i < html->recording->processes_count; i++)
		append_failures_of(html, html->recording->processes[i].process);
	html_table_end(html);
}

void html_calls(struct html *html)
{
	html_section(html, "calls", "Kernels, copies, failures");
	append_kernels(html);
	append_copies(html);
	append_waits(html);
	append_failures(html);
	html_section_end(html);
}

/* ---- the timeline's numbers ------------------------------------------------------------------ */

struct bucket {
	uint64_t device_bytes, allocs, frees, copied_bytes, launches, blocked_ns, lost;
};

static void add_series(struct bucket *bucket, const struct timeline_series *series, size_t place)
{
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (series->levels[i] && usage_is_on_device(i))
			bucket->device_bytes += series->levels[i]->end[place];
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		bucket->copied_bytes += series->copies[i] ? series->copies[i]->bytes[place] : 0;
	bucket->allocs += series->allocs[place];
	bucket->frees += series->frees[place];
	bucket->launches += series->launches[place];
	bucket->blocked_ns += series->blocked_ns[place];
}

static struct bucket bucket_at(const struct report_recording *recording, size_t place)
{
	struct bucket bucket = { .lost = recording->timeline.lost[place] };
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].series)
			add_series(&bucket, recording->processes[i].series, place);
	if (recording->timeline.more && !recording->options.pid)
		add_series(&bucket, recording->timeline.more, place);
	return bucket;
}

static void append_bucket(struct html *html, size_t place)
{
	const struct timeline *timeline = &html->recording->timeline;
	const struct report_coverage *coverage = &html->recording->coverage;
	const struct bucket bucket = bucket_at(html->recording, place);
	static const struct bucket nothing;

	if (!memcmp(&bucket, &nothing, sizeof(bucket)))
		return;
	html_row(html);
	html_cell_time(html, true, timeline->begin_ns + place * timeline->width_ns);
	html_cell_size(html, true, bucket.device_bytes);
	html_cell_count(html, true, bucket.allocs);
	html_cell_count(html, true, bucket.frees);
	html_cell_size(html, !report_not_captured(coverage, MS_OP_COPY), bucket.copied_bytes);
	html_cell_count(html, !report_not_captured(coverage, MS_OP_LAUNCH), bucket.launches);
	html_cell_duration(html, !report_not_captured(coverage, MS_OP_SYNC), bucket.blocked_ns);
	html_cell_count(html, true, bucket.lost);
	html_row_end(html);
}

void html_timeline(struct html *html)
{
	static const struct html_column columns[] = {
		{ "From", true },
		{ "On devices at its end", true },
		{ "Allocs", true },
		{ "Frees", true },
		{ "Copied", true },
		{ "Launches", true },
		{ "Blocked", true },
		{ "Lost", true },
		{ 0 },
	};
	const size_t length = timeline_length(&html->recording->timeline);
	size_t i;

	if (!length)
		return;
	string_append_text(html->out, "<details class=\"numbers\"><summary>The timeline as a table"
				      "</summary>\n");
	html_table(html, "buckets",
		   "What happened in each part of the time; parts without anything are left out",
		   columns);
	for (i = 0; i < length; i++)
		append_bucket(html, i);
	html_table_end(html);
	string_append_text(html->out, "</details>\n");
}

/* ---- thresholds ------------------------------------------------------------------------------ */

static void append_value(struct html *html, enum finding_unit unit, uint64_t value)
{
	string_append_format(html->out, "<td class=\"n\" data-v=\"%llu\">", (ull)value);
	html_value(html, unit, value);
	string_append_text(html->out, "</td>");
}

void html_thresholds(struct html *html)
{
	static const struct html_column columns[] = { { "Name", false },
						      { "Value", true },
						      { "Default", true },
						      { "What it is", false },
						      { 0 } };
	const struct analysis_options *options = &html->report->recordings[0]->thresholds;
	const struct threshold *threshold;
	size_t i;

	html_section(html, "thresholds", "Thresholds");
	string_append_text(html->out, "<details><summary>What the rules went by; --threshold sets"
				      " them</summary>\n");
	html_table(html, "rules", "Thresholds of the rules", columns);
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		const uint64_t value = threshold_of(threshold, options);

		html_row(html);
		html_cell_text(html, threshold->name);
		append_value(html, threshold->unit, value);
		append_value(html, threshold->unit, threshold->value);
		html_cell_text(html, threshold->help);
		html_row_end(html);
	}
	html_table_end(html);
	string_append_text(html->out, "</details>\n");
	html_section_end(html);
}
