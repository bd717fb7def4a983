// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, as Markdown.
 */
#include "render/report_md.h"

#include <stdlib.h>

#include "render/field.h"
#include "render/report_device_words.h"
#include "render/report_notes.h"

/* ---- devices --------------------------------------------------------------------------------- */

static void append_rung(void *context, const struct report_row *row)
{
	struct md *md = context;

	string_append_format(md->out, "| %s | %s | %s |\n", row->what,
			     row->bytes_known ? MD_SIZE(row->bytes) : "?", row->why);
}

static void append_device(struct md *md, const struct report_device *device)
{
	size_t start;

	string_append_text(md->out, "\n**Device ");
	if (device->device < 0)
		string_append_char(md->out, '?');
	else
		report_device_append_label(md->out, md->recording, device);
	string_append_text(md->out, device->device < 0 ?
					    "** (the context of these calls was not seen)\n" :
					    "**\n");
	start = md->out->length;
	string_append_char(md->out, '\n');
	report_append_device_identity(md->out, md->recording, device);
	if (md->out->length == start + 1)
		md->out->length = start;
	else
		string_append_char(md->out, '\n');
	string_append_text(md->out, "\n| | Bytes | |\n|---|--:|---|\n");
	if (!report_device_rows(md->recording, device, append_rung, md))
		md->out->failed = true;
}

static void append_pools(struct md *md)
{
	size_t i, j, headed = 0;

	for (i = 0; i < md->recording->processes_count; i++) {
		const struct process *process = md->recording->processes[i].process;

		for (j = 0; j < process->views_count; j++) {
			const struct view *view = &process->views[j];
			uint64_t slack;

			if (!view->is_pool)
				continue;
			if (!headed++)
				string_append_text(
					md->out,
					"\n| Pool | Process | Reserved | In use | Slack | Told at |\n"
					"|---|---|--:|--:|--:|---|\n");
			string_append_format(md->out, "| 0x%llx | ",
					     (unsigned long long)view->handle);
			md_process(md, process->pid, process->comm);
			string_append_format(md->out, " | %s | %s | %s | ",
					     view->has_total ? MD_SIZE(view->total_bytes) : "?",
					     view->has_free ? MD_SIZE(view->free_bytes) : "?",
					     report_slack(view, &slack) ? MD_SIZE(slack) : "?");
			md_time(md, view->ts_ns);
			string_append_text(md->out, " |\n");
		}
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

static void append_space(struct md *md, const struct process *process, uint8_t space)
{
	const struct space_total *total = &process->spaces[space];
	struct amount held = report_held(process, space);
	bool known = !process->entries_only;

	string_append_format(md->out, "| %s | %s | %s | %s | ", probe_space_name(space),
			     known ? MD_SIZE(held.bytes) : "?", known ? MD_COUNT(held.count) : "?",
			     known ? MD_SIZE(total->peak_bytes) : "?");
	if (known && total->peak_bytes && total->peak_ts_ns)
		md_time(md, total->peak_ts_ns);
	string_append_format(md->out, " | %s | %s | %s | %s |\n", MD_COUNT(total->allocs),
			     MD_SIZE(total->alloc_bytes), known ? MD_COUNT(total->frees) : "?",
			     known ? MD_COUNT(total->implicit_frees) : "?");
}

static void append_cell(struct md *md, const struct report_process *shown,
			const struct usage_cell *cell)
{
	string_append_format(md->out, "| %s | %s | ", probe_at(cell->row)->symbol,
			     probe_space_name(cell->space));
	md_device(md, cell->device);
	string_append_format(md->out, " | %s | %s | ", MD_SIZE(cell->live_bytes),
			     MD_COUNT(cell->live_count));
	/* Of a peak before the first anchor, nobody knows what it was made of. */
	string_append_text(md->out, shown->process->usage->spaces[cell->space].known ?
					    MD_SIZE(cell->peak_bytes) :
					    "?");
	string_append_format(md->out, " | %s | %s | %s | %s |\n", MD_COUNT(cell->allocs),
			     MD_SIZE(cell->alloc_bytes), MD_COUNT(cell->frees),
			     cell->frees ? MD_DURATION(cell->lifetime_ns / cell->frees) : "-");
}

static void append_cells(struct md *md, const struct report_process *shown)
{
	size_t i;

	if (!shown->cells_count || shown->process->entries_only)
		return;
	string_append_text(
		md->out,
		"\n| Allocated by | Space | Device | Live | Blocks | In the peak | Allocs |"
		" Allocated | Frees | Mean life |\n"
		"|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (i = 0; i < shown->cells_count && i < md->report->options.top; i++)
		append_cell(md, shown, &shown->cells[i]);
	if (i < shown->cells_count)
		string_append_format(md->out, "\n%zu more.\n", shown->cells_count - i);
}

static void append_failures(struct md *md, const struct process *process)
{
	size_t i;

	if (process->failures_count)
		string_append_text(md->out, "\n| Failed | Call | Result |\n|--:|---|---|\n");
	for (i = 0; i < process->failures_count && i < md->report->options.top; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		string_append_format(md->out, "| %s | %s | %s (%d) |\n", MD_COUNT(failure->count),
				     probe->symbol, name ? name : "unknown", failure->result);
	}
}

static void append_table(struct md *md, const struct process *process)
{
	uint32_t space, used = 0;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!report_has_space(process, space))
			continue;
		if (!used++)
			string_append_format(
				md->out,
				"\n| Space | Live at %s | Blocks | Peak | At | Allocs | Allocated |"
				" Frees | Implicit |\n|---|--:|--:|--:|---|--:|--:|--:|--:|\n",
				process->exited ? "exit" : "the end");
		append_space(md, process, space);
	}
	if (!used)
		string_append_text(md->out, "\nNo allocation was recorded.\n");
}

static void append_process(struct md *md, const struct report_process *shown)
{
	const struct process *process = shown->process;

	string_append_text(md->out, "\n**");
	md_process(md, process->pid, process->comm);
	string_append_text(md->out, "**, ");
	report_append_end(md->out, process);
	report_append_held_before(md->out, process);
	string_append_text(md->out, "\n");
	append_table(md, process);
	append_cells(md, shown);
	append_failures(md, process);
}

static bool is_quiet(const struct process *process)
{
	size_t i;

	for (i = 0; i < MS_OPS_COUNT; i++)
		if (process->calls[i])
			return false;
	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (report_has_space(process, i))
			return false;
	return true;
}

static void append_quiet(struct md *md)
{
	const struct report_recording *recording = md->recording;
	size_t count = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		if (!is_quiet(process))
			continue;
		if (count++ >= md->report->options.top)
			continue;
		string_append_text(md->out, count > 1 ? ", " : "\nNo call recorded of: ");
		md_process(md, process->pid, process->comm);
		if (process->was_running || process->was_running_earlier)
			string_append_format(md->out, ", which may %s memory from before",
					     process->was_running ? "hold" : "have held");
	}
	if (count > md->report->options.top)
		string_append_format(md->out, " and %zu more", count - md->report->options.top);
	if (count)
		string_append_text(md->out, ".\n");
}

static void append_processes(struct md *md)
{
	const struct report_recording *recording = md->recording;
	size_t shown = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		if (is_quiet(recording->processes[i].process))
			continue;
		if (shown++ < md->report->options.top)
			append_process(md, &recording->processes[i]);
	}
	if (shown > md->report->options.top)
		string_append_format(md->out,
				     "\n%zu more processes, which held less: --top shows"
				     " more, --pid one of them.\n",
				     shown - md->report->options.top);
	append_quiet(md);
	if (!report_has_more(recording))
		return;
	string_append_format(md->out,
			     "\n**%s more processes** ended earlier and held less; their"
			     " sum (the peak is the highest of them):\n",
			     MD_COUNT(recording->state->more_count));
	append_table(md, recording->state->more);
	append_failures(md, recording->state->more);
}

/* ---- largest --------------------------------------------------------------------------------- */

static bool is_larger(const struct allocation *a, const struct allocation *b)
{
	return a->size_bytes > b->size_bytes || (a->size_bytes == b->size_bytes && a->id < b->id);
}

/* Of all processes: each one's list is sorted, and `cursors` say how much of it has been taken. */
static const struct report_process *next_largest(const struct report_recording *recording,
						 size_t *cursors)
{
	size_t best = recording->processes_count, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct report_process *shown = &recording->processes[i];

		if (cursors[i] == shown->largest_count)
			continue;
		if (best == recording->processes_count ||
		    is_larger(&shown->largest[cursors[i]],
			      &recording->processes[best].largest[cursors[best]]))
			best = i;
	}
	if (best == recording->processes_count)
		return NULL;
	cursors[best]++;
	return &recording->processes[best];
}

static void append_holding(struct md *md, const struct process *process,
			   const struct allocation *allocation)
{
	const uint64_t now_ns = report_held_ns(md->recording, process);

	string_append_format(md->out, "| %s | ",
			     allocation->size_known ? MD_SIZE(allocation->size_bytes) : "?");
	md_process(md, process->pid, process->comm);
	string_append_format(md->out, " | %s | %s | ", probe_at(allocation->row)->symbol,
			     probe_space_name(allocation->space));
	md_device(md, allocation->device);
	string_append_format(md->out, " | 0x%llx | %s |\n", (unsigned long long)allocation->addr,
			     MD_DURATION(report_age_ns(allocation, now_ns)));
}

static void append_largest(struct md *md)
{
	const struct report_recording *recording = md->recording;
	size_t *cursors = calloc(recording->processes_count + 1, sizeof(*cursors));
	const struct report_process *shown;
	size_t count;

	md->out->failed |= !cursors;
	for (count = 0; cursors && count < md->report->options.top; count++) {
		shown = next_largest(recording, cursors);
		if (!shown)
			break;
		if (!count)
			string_append_text(
				md->out,
				"\nLargest live allocations, at the end or at their process's exit:\n\n"
				"| Size | Process | Allocated by | Space | Device | Address | Age |\n"
				"|--:|---|---|---|--:|--:|--:|\n");
		append_holding(md, shown->process,
			       &shown->largest[cursors[shown - recording->processes] - 1]);
	}
	free(cursors);
}

void md_memory(struct md *md)
{
	size_t i;

	string_append_text(md->out, "\n### 2. Who holds memory\n");
	for (i = 0; i < md->recording->devices_count; i++)
		append_device(md, &md->recording->devices[i]);
	if (report_device_numbers_are_own(md->recording))
		string_append_format(md->out, "\n%s\n", report_device_numbers);
	append_pools(md);
	append_processes(md);
	append_largest(md);
}
