// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is said of processes: the memory that they had, what allocated it, what else they called.
 */
#include "render/report_document.h"

#include <stdio.h>
#include <stdlib.h>

#include "ledger/call_times.h"
#include "ledger/objects.h"
#include "render/identity_words.h"
#include "render/report_notes.h"
#include "render/report_words.h"

/* What rows are made of. */
struct rows {
	struct document *document;
	const struct report_recording *recording;
	const struct report_process *shown;
	const struct process *process; /* of `shown`, or the sum of those that are not shown */
	const char *name;              /* of that sum; NULL: it is a process */
};

/*
 * A table in which processes have rows. Where processes are shown one by one, each has its own;
 * where tables can be sorted and filtered, there is one of all of them, which names them first.
 */
struct process_table {
	const char *name, *caption;
	struct document_column columns[DOCUMENT_COLUMNS]; /* without the process */
	void (*list)(const struct rows *rows);
	const char *none; /* to be said if a process has no row; NULL: nothing */
	enum report_document_section section;
	bool whole;      /* all rows, however many */
	bool tells_when; /* the name of its second column goes on with when that was */
	bool has_sum;    /* it has rows of the processes that are not shown */
	bool browsable;  /* it is only there where it can be sorted and filtered */
};

/* Whether the row is drawn. Names the process if need be. */
static bool begin_row(const struct rows *rows)
{
	struct document *document = rows->document;

	if (!document_row(document))
		return false;
	if (!document->format->browsable)
		return true;
	if (rows->name)
		document_cell_words(document, rows->name);
	else
		document_cell_process(document, rows->process);
	return true;
}

/* ---- who they are ---------------------------------------------------------------------------- */

static void put_identity_cell(struct document *document, const struct identity *identity,
			      void (*append)(struct string *out, const struct identity *identity))
{
	append(&document->text, identity);
	document_cell(document);
}

static void list_identity(const struct rows *rows)
{
	const struct identity *identity = &rows->process->identity.known;
	struct document *document = rows->document;
	uint32_t parent;

	if (!identity_is_known(identity) || !begin_row(rows))
		return;
	put_identity_cell(document, identity, identity_words_program);
	put_identity_cell(document, identity, identity_words_user);
	if (identity_number(identity, IDENTITY_PARENT, &parent))
		document_cell_value(document, parent, FINDING_PID, parent);
	else
		document_cell_absent(document);
	put_identity_cell(document, identity, identity_words_container);
	put_identity_cell(document, identity, identity_words_pod);
	put_identity_cell(document, identity, identity_words_variables);
	document_row_end(document);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Opened memory whose size is not known counts as 0 bytes: with no other, the sum is not known. */
static void cell_size(const struct rows *rows, bool known, uint8_t space, struct amount amount)
{
	const bool unsized = space == MS_SPACE_IMPORTED && amount.count && !amount.bytes;

	document_cell_size(rows->document, known && !unsized, amount.bytes);
}

static void list_space(const struct rows *rows, uint8_t space)
{
	const struct process *process = rows->process;
	const struct space_total *total = &process->spaces[space];
	const struct amount held = report_held(process, space);
	const bool known = !process->entries_only;
	struct document *document = rows->document;

	if (!begin_row(rows))
		return;
	document_cell_words(document, probe_space_name(space));
	cell_size(rows, known, space, held);
	document_cell_count(document, known, held.count);
	cell_size(rows, known, space, (struct amount){ total->allocs, total->peak_bytes });
	if (known && total->peak_bytes && total->peak_ts_ns)
		document_cell_time(document, rows->recording, total->peak_ts_ns);
	else
		document_cell(document);
	document_cell_count(document, true, total->allocs);
	cell_size(rows, true, space, (struct amount){ total->allocs, total->alloc_bytes });
	document_cell_count(document, known, total->frees);
	document_cell_count(document, known, total->implicit_frees);
	document_row_end(document);
}

static void list_spaces(const struct rows *rows)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (report_has_space(rows->process, space))
			list_space(rows, space);
}

static void list_driver_total(const struct rows *rows, const char *what,
			      const struct driver_total *total)
{
	const struct process *process = rows->process;
	struct document *document = rows->document;

	if (!total->peak_bytes || !begin_row(rows))
		return;
	document_cell_words(document, what);
	document_cell_size(document, true, process->exited ? total->exit_bytes : total->live_bytes);
	document_cell_size(document, true, total->peak_bytes);
	document_row_end(document);
}

static void list_driver(const struct rows *rows)
{
	const struct driver_objects *driver = &rows->process->driver;
	size_t i;

	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		list_driver_total(rows, driver_cause_description(i), &driver->causes[i]);
	list_driver_total(rows, "in all, of the device", &driver->device);
	list_driver_total(rows, "of the host", &driver->host);
}

static void list_cell(const struct rows *rows, const struct usage_cell *cell)
{
	struct document *document = rows->document;

	if (!begin_row(rows))
		return;
	document_cell_words(document, probe_at(cell->row)->symbol);
	document_cell_words(document, probe_space_name(cell->space));
	document_cell_device(document, cell->device);
	cell_size(rows, true, cell->space, (struct amount){ cell->live_count, cell->live_bytes });
	document_cell_count(document, true, cell->live_count);
	/* Of a peak before the first anchor, nobody knows what it was made of. */
	document_cell_size(document, rows->process->usage->spaces[cell->space].known,
			   cell->peak_bytes);
	document_cell_count(document, true, cell->allocs);
	cell_size(rows, true, cell->space, (struct amount){ cell->allocs, cell->alloc_bytes });
	document_cell_count(document, true, cell->frees);
	if (cell->frees)
		document_cell_duration(document, true, cell->lifetime_ns / cell->frees);
	else
		document_cell_words(document, "-");
	document_row_end(document);
}

static void list_cells(const struct rows *rows)
{
	size_t i;

	for (i = 0; !rows->process->entries_only && i < rows->shown->cells_count; i++)
		list_cell(rows, &rows->shown->cells[i]);
}

static void list_objects(const struct rows *rows)
{
	struct document *document = rows->document;
	size_t count, i;
	const struct object_total *totals = objects_totals(rows->process, &count);

	for (i = 0; i < count; i++) {
		if (!begin_row(rows))
			continue;
		document_cell_words(document, objects_plural(totals[i].kind));
		document_cell_device(document, totals[i].device);
		document_cell_count(document, true, totals[i].live);
		document_cell_count(document, true, totals[i].peak);
		document_cell_count(document, true, totals[i].made);
		document_cell_count(document, true, totals[i].destroyed);
		document_cell_count(document, true, totals[i].ended);
		document_row_end(document);
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void cell_percentile(struct document *document, const struct call_times *times,
			    unsigned int percent)
{
	uint64_t ns = 0;
	const bool known = call_times_percentile(times, percent, &ns);

	document_cell_duration(document, known, ns);
}

static void list_function(const struct rows *rows, const struct call_times *times)
{
	struct document *document = rows->document;

	if (!begin_row(rows))
		return;
	document_cell_words(document, probe_at(times->row)->symbol);
	document_cell_count(document, true, times->calls);
	document_cell_count(document, !rows->process->entries_only, times->failed);
	document_cell_duration(document, times->timed, times->total_ns);
	cell_percentile(document, times, 50);
	cell_percentile(document, times, 99);
	cell_percentile(document, times, 100);
	document_row_end(document);
}

static void list_functions(const struct rows *rows)
{
	const struct call_times **sorted = call_times_sorted(rows->process);
	size_t i;

	rows->document->text.failed |= !sorted;
	for (i = 0; sorted && i < rows->process->times_count; i++)
		list_function(rows, sorted[i]);
	free(sorted);
}

static void list_failures(const struct rows *rows)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i < rows->process->failures_count; i++) {
		const struct failure *failure = &rows->process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		if (!begin_row(rows))
			continue;
		document_cell_count(document, true, failure->count);
		document_cell_words(document, probe->symbol);
		string_append_format(&document->text, "%s (%d)", name ? name : "unknown",
				     failure->result);
		document_cell(document);
		document_row_end(document);
	}
}

static int compare_kernels(const void *one, const void *other)
{
	const struct kernel *a = *(const struct kernel *const *)one;
	const struct kernel *b = *(const struct kernel *const *)other;

	return (a->launches < b->launches) - (a->launches > b->launches);
}

static void list_kernel(const struct rows *rows, const struct kernel *kernel)
{
	struct document *document = rows->document;

	if (!begin_row(rows))
		return;
	if (kernel->name)
		document_cell_text(document, kernel->name);
	else
		document_cell_address(document, kernel->handle);
	document_cell_count(document, true, kernel->launches);
	document_row_end(document);
}

static void list_kernels(const struct rows *rows)
{
	const struct process *process = rows->process;
	const struct kernel **kernels = calloc(process->kernels_count + 1, sizeof(*kernels));
	size_t i;

	rows->document->failed |= !kernels;
	if (!kernels)
		return;
	for (i = 0; i < process->kernels_count; i++)
		kernels[i] = &process->kernels[i];
	qsort(kernels, process->kernels_count, sizeof(*kernels), compare_kernels);
	for (i = 0; i < process->kernels_count; i++)
		list_kernel(rows, kernels[i]);
	free(kernels);
}

static void list_copies(const struct rows *rows)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const struct call_total *total = &rows->process->copies[i];

		if (!total->count || !begin_row(rows))
			continue;
		document_cell_text(document,
				   i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		document_cell_count(document, true, total->count);
		document_cell_size(document, true, total->bytes);
		document_cell_count(document, true, total->unknown_bytes);
		document_cell_duration(document, !rows->process->entries_only, total->duration_ns);
		document_row_end(document);
	}
}

static void list_waits(const struct rows *rows)
{
	const struct report_coverage *coverage = &rows->recording->coverage;
	const bool launches = coverage->captured_ops >> MS_OP_LAUNCH & 1;
	const bool memsets = coverage->captured_ops >> MS_OP_MEMSET & 1;
	const bool syncs = coverage->captured_ops >> MS_OP_SYNC & 1;
	const struct process *process = rows->process;
	struct document *document = rows->document;

	if (!process->calls[MS_OP_LAUNCH] && !process->calls[MS_OP_SYNC] &&
	    !process->calls[MS_OP_MEMSET])
		return;
	if (!begin_row(rows))
		return;
	document_cell_count(document, launches, process->launches);
	document_cell_count(document, coverage->graph_launches, process->graph_launches);
	document_cell_count(document, memsets, process->memsets.count);
	document_cell_count(document, syncs, process->syncs.count);
	document_cell_duration(document, syncs && !process->entries_only,
			       process->syncs.duration_ns);
	document_row_end(document);
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* clang-format off */

static const struct process_table tables[] = {
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "identities",
	  .caption = "Who the processes are, as /proc said when they were first seen",
	  .columns = { { "Program", DOCUMENT_TEXT }, { "User", DOCUMENT_TEXT },
		       { "Parent", DOCUMENT_NUMBER }, { "Container", DOCUMENT_TEXT },
		       { "Pod", DOCUMENT_TEXT }, { "Environment", DOCUMENT_TEXT } },
	  .list = list_identity, .browsable = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "processes",
	  .caption = "Processes, by kind of memory (live: at the end, or when the process ended)",
	  .columns = { { "Space", DOCUMENT_TEXT }, { "Live", DOCUMENT_NUMBER },
		       { "Blocks", DOCUMENT_NUMBER }, { "Peak", DOCUMENT_NUMBER },
		       { "At", DOCUMENT_VALUE }, { "Allocs", DOCUMENT_NUMBER },
		       { "Allocated", DOCUMENT_NUMBER }, { "Frees", DOCUMENT_NUMBER },
		       { "Implicit", DOCUMENT_NUMBER } },
	  .list = list_spaces, .none = "No allocation was recorded.", .whole = true,
	  .tells_when = true, .has_sum = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "driver",
	  .caption = "What the NVIDIA driver holds for the process, by what it was allocated for",
	  .columns = { { "The driver holds", DOCUMENT_TEXT }, { "Live", DOCUMENT_NUMBER },
		       { "Peak", DOCUMENT_NUMBER } },
	  .list = list_driver, .whole = true, .tells_when = true, .has_sum = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "apis",
	  .caption = "By function that allocated",
	  .columns = { { "Allocated by", DOCUMENT_TEXT }, { "Space", DOCUMENT_TEXT },
		       { "Device", DOCUMENT_NUMBER }, { "Live", DOCUMENT_NUMBER },
		       { "Blocks", DOCUMENT_NUMBER }, { "In the peak", DOCUMENT_NUMBER },
		       { "Allocs", DOCUMENT_NUMBER }, { "Allocated", DOCUMENT_NUMBER },
		       { "Frees", DOCUMENT_NUMBER }, { "Mean life", DOCUMENT_NUMBER } },
	  .list = list_cells },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "objects",
	  .caption = "Contexts, modules, streams, events, graphs (live: at the end, or when the process ended)",
	  .columns = { { "Objects", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "Live", DOCUMENT_NUMBER }, { "Most at once", DOCUMENT_NUMBER },
		       { "Made", DOCUMENT_NUMBER }, { "Destroyed", DOCUMENT_NUMBER },
		       { "Implicit", DOCUMENT_NUMBER } },
	  .list = list_objects, .has_sum = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "functions", .caption = "What calls took",
	  .columns = { { "Call", DOCUMENT_TEXT }, { "Calls", DOCUMENT_NUMBER },
		       { "Failed", DOCUMENT_NUMBER }, { "Total", DOCUMENT_NUMBER },
		       { "p50", DOCUMENT_NUMBER }, { "p99", DOCUMENT_NUMBER },
		       { "Longest", DOCUMENT_NUMBER } },
	  .list = list_functions, .has_sum = true, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "kernels", .caption = "Kernels",
	  .columns = { { "Kernel", DOCUMENT_TEXT }, { "Launches", DOCUMENT_NUMBER } },
	  .list = list_kernels, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "copies", .caption = "Copies",
	  .columns = { { "Direction", DOCUMENT_TEXT }, { "Copies", DOCUMENT_NUMBER },
		       { "Bytes", DOCUMENT_NUMBER }, { "Of unknown size", DOCUMENT_NUMBER },
		       { "In the calls", DOCUMENT_NUMBER } },
	  .list = list_copies, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "waits",
	  .caption = "Launches and synchronisation",
	  .columns = { { "Launches", DOCUMENT_NUMBER }, { "Graph launches", DOCUMENT_NUMBER },
		       { "Memsets", DOCUMENT_NUMBER }, { "Synchronisations", DOCUMENT_NUMBER },
		       { "In them", DOCUMENT_NUMBER } },
	  .list = list_waits, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "failures", .caption = "Failed calls",
	  .columns = { { "Failed", DOCUMENT_NUMBER }, { "Call", DOCUMENT_TEXT },
		       { "Result", DOCUMENT_TEXT } },
	  .list = list_failures, .has_sum = true },
};

/* clang-format on */

#define TABLES (sizeof(tables) / sizeof(*tables))

/* One of all processes. */
static void list_all(struct document *document, const struct report_recording *recording,
		     const struct process_table *table)
{
	struct document_column columns[DOCUMENT_COLUMNS + 1] = { { "Process", DOCUMENT_TEXT } };
	const struct state *state = recording->state;
	struct rows rows = { .document = document, .recording = recording };
	struct report_process sum = { .process = state->more };
	char name[STRING_NUMBER_BYTES + 8];
	size_t i;

	for (i = 0; table->columns[i].name; i++)
		columns[i + 1] = table->columns[i];
	document_table_top(document, table->name, table->caption, columns);
	document_table_open(document);
	for (i = 0; i < recording->processes_count; i++) {
		rows.shown = &recording->processes[i];
		rows.process = rows.shown->process;
		table->list(&rows);
	}
	if (table->has_sum && report_has_more(recording)) {
		snprintf(name, sizeof(name), "%s more", REPORT_COUNT(state->more_count));
		rows.shown = &sum;
		rows.process = sum.process;
		rows.name = name;
		table->list(&rows);
	}
	document_table_end(document);
}

void report_document_all_processes(struct document *document,
				   const struct report_recording *recording,
				   enum report_document_section section)
{
	size_t i;

	for (i = 0; i < TABLES; i++)
		if (tables[i].section == section)
			list_all(document, recording, &tables[i]);
}

/* ---- one process after the other ------------------------------------------------------------- */

static void list_one(const struct rows *rows, const struct process_table *table)
{
	struct document_column columns[DOCUMENT_COLUMNS + 1] = { 0 };
	struct document *document = rows->document;
	size_t i;

	for (i = 0; table->columns[i].name; i++)
		columns[i] = table->columns[i];
	if (table->tells_when)
		columns[1].name = rows->process->exited ? "Live at exit" : "Live at the end";
	if (table->whole)
		document_table(document, table->name, table->caption, columns);
	else
		document_table_top(document, table->name, table->caption, columns);
	table->list(rows);
	document_table_end(document);
	if (!document->rows && table->none)
		document_say(document, table->none);
}

static void list_tables(const struct rows *rows, bool is_sum)
{
	size_t i;

	for (i = 0; i < TABLES; i++)
		if (!tables[i].browsable && (!is_sum || tables[i].has_sum))
			list_one(rows, &tables[i]);
}

static void say_process(struct document *document, const struct report_recording *recording,
			const struct report_process *shown)
{
	const struct process *process = shown->process;
	const struct rows rows = {
		.document = document, .recording = recording, .shown = shown, .process = process
	};

	string_append_text(&document->text, DOCUMENT_STRONG);
	identity_words_process(&document->text, process);
	string_append_text(&document->text, DOCUMENT_PLAIN ", ");
	report_append_end(&document->text, process);
	report_append_held_before(&document->text, process);
	document_paragraph(document);
	if (identity_words_append(&document->text, process, ""))
		document_paragraph(document);
	list_tables(&rows, false);
}

static void say_sum(struct document *document, const struct report_recording *recording)
{
	const struct report_process sum = { .process = recording->state->more };
	const struct rows rows = {
		.document = document, .recording = recording, .shown = &sum, .process = sum.process
	};

	string_append_format(&document->text,
			     DOCUMENT_STRONG "%s more processes" DOCUMENT_PLAIN
					     " ended earlier and held less; their sum (the peak is"
					     " the highest of them):",
			     REPORT_COUNT(recording->state->more_count));
	document_paragraph(document);
	list_tables(&rows, true);
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
	return !process->driver.device.peak_bytes;
}

static void say_quiet(struct document *document, const struct report_recording *recording)
{
	struct string *text = &document->text;
	size_t count = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		if (!is_quiet(process) || count++ >= document->top)
			continue;
		string_append_text(text, count > 1 ? ", " : "No call recorded of: ");
		identity_words_process(text, process);
		if (process->was_running || process->was_running_earlier)
			string_append_format(text, ", which may %s memory from before",
					     process->was_running ? "hold" : "have held");
	}
	if (!count)
		return;
	if (count > document->top)
		string_append_format(text, " and %zu more", count - document->top);
	string_append_char(text, '.');
	document_paragraph(document);
}

void report_document_processes(struct document *document, const struct report_recording *recording)
{
	size_t shown = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		if (is_quiet(recording->processes[i].process))
			continue;
		if (shown++ < document->top)
			say_process(document, recording, &recording->processes[i]);
	}
	if (shown > document->top) {
		string_append_format(&document->text,
				     "%zu more processes, which held less: --top shows more,"
				     " --pid one of them.",
				     shown - document->top);
		document_paragraph(document);
	}
	say_quiet(document, recording);
	if (report_has_more(recording))
		say_sum(document, recording);
}
