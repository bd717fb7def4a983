// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, as HTML: processes, what allocated it, the largest blocks, devices, pools.
 */
#include "render/report_html.h"

#include <stdio.h>
#include <stdlib.h>

#include "render/report_device_words.h"
#include "render/report_notes.h"
#include "render/report_words.h"

/* ---- processes ------------------------------------------------------------------------------- */

/* Of one process, or of those that are not listed (`process` has no pid then). */
static void append_space(struct html *html, const struct process *process, uint8_t space,
			 const char *name)
{
	const struct space_total *total = &process->spaces[space];
	const struct amount held = report_held(process, space);
	const bool known = !process->entries_only;

	html_row(html);
	if (name)
		html_cell_text(html, name);
	else
		html_cell_process(html, process->pid, process->comm);
	html_cell_text(html, probe_space_name(space));
	html_cell_size(html, known, held.bytes);
	html_cell_count(html, known, held.count);
	html_cell_size(html, known, total->peak_bytes);
	html_cell_time(html, known && total->peak_bytes && total->peak_ts_ns, total->peak_ts_ns);
	html_cell_count(html, true, total->allocs);
	html_cell_size(html, true, total->alloc_bytes);
	html_cell_count(html, known, total->frees);
	html_cell_count(html, known, total->implicit_frees);
	html_row_end(html);
}

static void append_spaces(struct html *html, const struct process *process, const char *name)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (report_has_space(process, space))
			append_space(html, process, space, name);
}

static void append_processes(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Process", false },
		{ "Space", false },
		{ "Live", true },
		{ "Blocks", true },
		{ "Peak", true },
		{ "Peak at", true },
		{ "Allocs", true },
		{ "Allocated", true },
		{ "Frees", true },
		{ "Implicit", true },
		{ 0 },
	};
	const struct state *state = html->recording->state;
	char name[STRING_NUMBER_BYTES + 32];
	size_t i;

	html_table(html, "processes",
		   "Processes, by kind of memory (live: at the end, or when the process ended)",
		   columns);
	for (i = 0; i < html->recording->processes_count; i++)
		append_spaces(html, html->recording->processes[i].process, NULL);
	if (report_has_more(html->recording)) {
		snprintf(name, sizeof(name), "%s more", REPORT_COUNT(state->more_count));
		append_spaces(html, state->more, name);
	}
	html_table_end(html);
}

static void append_ends(struct html *html)
{
	size_t i;

	string_append_text(html->out, "<ul class=\"ends\">\n");
	for (i = 0; i < html->recording->processes_count; i++) {
		const struct process *process = html->recording->processes[i].process;

		string_append_text(html->out, "<li>");
		html_process(html, process->pid, process->comm);
		string_append_text(html->out, ": ");
		report_append_end(html->out, process);
		report_append_held_before(html->out, process);
		string_append_text(html->out, "</li>\n");
	}
	string_append_text(html->out, "</ul>\n");
}

/* ---- what allocated it ----------------------------------------------------------------------- */

static void append_cell(struct html *html, const struct process *process,
			const struct usage_cell *cell)
{
	html_row(html);
	html_cell_process(html, process->pid, process->comm);
	html_cell_text(html, probe_at(cell->row)->symbol);
	html_cell_text(html, probe_space_name(cell->space));
	html_cell_device(html, cell->device);
	html_cell_size(html, true, cell->live_bytes);
	html_cell_count(html, true, cell->live_count);
	/* Of a peak before the first anchor, nobody knows what it was made of. */
	html_cell_size(html, process->usage->spaces[cell->space].known, cell->peak_bytes);
	html_cell_count(html, true, cell->allocs);
	html_cell_size(html, true, cell->alloc_bytes);
	html_cell_count(html, true, cell->frees);
	if (cell->frees)
		html_cell_duration(html, true, cell->lifetime_ns / cell->frees);
	else
		html_cell_none(html);
	html_row_end(html);
}

static void append_apis(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Process", false }, { "Allocated by", false }, { "Space", false },
		{ "Device", true },   { "Live", true },          { "Blocks", true },
		{ "In peak", true },  { "Allocs", true },        { "Allocated", true },
		{ "Frees", true },    { "Mean life", true },     { 0 },
	};
	size_t i, j;

	html_table(html, "apis", "By function that allocated", columns);
	for (i = 0; i < html->recording->processes_count; i++) {
		const struct report_process *shown = &html->recording->processes[i];

		for (j = 0; !shown->process->entries_only && j < shown->cells_count; j++)
			append_cell(html, shown->process, &shown->cells[j]);
	}
	html_table_end(html);
}

/* ---- the largest blocks ---------------------------------------------------------------------- */

struct holding {
	const struct process *process;
	const struct allocation *allocation;
};

static int compare_holdings(const void *one, const void *other)
{
	const struct allocation *a = ((const struct holding *)one)->allocation;
	const struct allocation *b = ((const struct holding *)other)->allocation;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

static void append_holding(struct html *html, const struct holding *holding)
{
	const struct allocation *allocation = holding->allocation;
	const uint64_t now_ns = report_held_ns(html->recording, holding->process);

	html_row(html);
	html_cell_size(html, allocation->size_known, allocation->size_bytes);
	html_cell_process(html, holding->process->pid, holding->process->comm);
	html_cell_text(html, probe_at(allocation->row)->symbol);
	html_cell_text(html, probe_space_name(allocation->space));
	html_cell_device(html, allocation->device);
	string_append_text(html->out, "<td class=\"n a\">");
	string_append_hex(html->out, allocation->addr);
	string_append_text(html->out, "</td>");
	html_cell_time(html, true, allocation->ts_ns);
	html_cell_duration(html, true, report_age_ns(allocation, now_ns));
	html_row_end(html);
}

static void append_largest(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Size", true },   { "Process", false }, { "Allocated by", false },
		{ "Space", false }, { "Device", true },   { "Address", true },
		{ "At", true },     { "Age", true },      { 0 },
	};
	const struct report_recording *recording = html->recording;
	struct holding *holdings;
	size_t count = 0, i, j;

	for (i = 0; i < recording->processes_count; i++)
		count += recording->processes[i].largest_count;
	holdings = calloc(count + 1, sizeof(*holdings));
	html->out->failed |= !holdings;
	if (!holdings || !count)
		goto out;
	count = 0;
	for (i = 0; i < recording->processes_count; i++)
		for (j = 0; j < recording->processes[i].largest_count; j++)
			holdings[count++] = (struct holding){ recording->processes[i].process,
							      &recording->processes[i].largest[j] };
	qsort(holdings, count, sizeof(*holdings), compare_holdings);
	html_table(html, "largest",
		   "Largest live allocations of each process, at the end or at its exit", columns);
	for (i = 0; i < count; i++)
		append_holding(html, &holdings[i]);
	html_table_end(html);
out:
	free(holdings);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void append_device_row(void *context, const struct report_row *row)
{
	struct html *html = context;

	html_row(html);
	string_append_text(html->out, "<td>");
	html_words(html, row->what);
	string_append_text(html->out, "</td>");
	html_cell_size(html, row->bytes_known, row->bytes);
	string_append_text(html->out, "<td>");
	html_words(html, row->why);
	string_append_text(html->out, "</td>");
	html_row_end(html);
}

static void append_device(struct html *html, const struct report_device *device, size_t place)
{
	static const struct html_column columns[] = {
		{ "What", false }, { "Bytes", true }, { "Note", false }, { 0 }
	};
	char name[STRING_NUMBER_BYTES + 16];
	struct string caption = { 0 }, identity = { 0 };

	snprintf(name, sizeof(name), "device-%zu", place);
	string_append_text(&caption, "Device ");
	report_device_append_label(&caption, html->recording, device);
	string_append_char(&caption, '\0');
	report_append_device_identity(&identity, html->recording, device);
	if (identity.length)
		string_append_char(&identity, '\0');
	html->out->failed |= caption.failed || identity.failed;
	html_table(html, name,
		   device->device < 0 || caption.failed ?
			   "Device ? (the context of these calls was not seen)" :
			   caption.bytes,
		   columns);
	if (!report_device_rows(html->recording, device, append_device_row, html))
		html->out->failed = true;
	html_table_end(html);
	if (identity.length) {
		string_append_text(html->out, "<p class=\"note\">");
		html_words(html, identity.bytes);
		string_append_text(html->out, "</p>\n");
	}
	string_fini(&caption);
	string_fini(&identity);
}

static void append_pool(struct html *html, const struct process *process, const struct view *view)
{
	uint64_t slack = 0;
	bool known = report_slack(view, &slack);

	html_row(html);
	string_append_text(html->out, "<td class=\"a\">");
	string_append_hex(html->out, view->handle);
	string_append_text(html->out, "</td>");
	html_cell_process(html, process->pid, process->comm);
	html_cell_size(html, view->has_total, view->total_bytes);
	html_cell_size(html, view->has_free, view->free_bytes);
	html_cell_size(html, known, slack);
	html_cell_time(html, true, view->ts_ns);
	html_row_end(html);
}

static void append_pools(struct html *html)
{
	static const struct html_column columns[] = {
		{ "Pool", false },
		{ "Process", false },
		{ "Reserved", true },
		{ "In use", true },
		{ "Slack", true },
		{ "Told at", true },
		{ 0 },
	};
	size_t i, j, count = 0;

	for (i = 0; i < html->recording->processes_count; i++) {
		const struct process *process = html->recording->processes[i].process;

		for (j = 0; j < process->views_count; j++) {
			if (!process->views[j].is_pool)
				continue;
			if (!count++)
				html_table(html, "pools", "Pools, as programs were told", columns);
			append_pool(html, process, &process->views[j]);
		}
	}
	if (count)
		html_table_end(html);
}

void html_devices(struct html *html)
{
	size_t i;

	html_section(html, "devices", "Devices");
	string_append_text(html->out, "<div class=\"cards\">\n");
	for (i = 0; i < html->recording->devices_count; i++)
		append_device(html, &html->recording->devices[i], i + 1);
	string_append_text(html->out, "</div>\n");
	if (!html->recording->devices_count)
		string_append_text(html->out, "<p>No allocation on a device was recorded.</p>\n");
	if (report_device_numbers_are_own(html->recording))
		string_append_format(html->out, "<p class=\"note\">%s</p>\n",
				     report_device_numbers);
	append_pools(html);
	html_section_end(html);
}

void html_memory(struct html *html)
{
	html_section(html, "memory", "Processes and allocations");
	append_processes(html);
	append_ends(html);
	append_apis(html);
	append_largest(html);
	html_section_end(html);
}
