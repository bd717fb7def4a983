// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is reported of processes, in tables: one of each for all of them, or one process after the
 * other.
 */
#include "render/report_document.h"

#include <stdio.h>

#include "render/identity_words.h"
#include "render/process_rows.h"
#include "render/report_notes.h"
#include "render/report_words.h"

/*
 * A table in which processes have rows. Where processes are shown one by one, each has its own;
 * where tables can be sorted and filtered, there is one of all of them, which names them first.
 */
struct process_table {
	const char *name, *caption;
	struct document_column columns[DOCUMENT_COLUMNS]; /* without the process */
	void (*list)(const struct process_rows *rows);
	const char *none; /* to be said if a process has no row; NULL: nothing */
	enum report_document_section section;
	bool whole;      /* all rows, however many */
	bool tells_when; /* the name of its second column goes on with when that was */
	bool has_sum;    /* it has rows of the processes that are not shown */
	bool browsable;  /* it is only there where it can be sorted and filtered */
};
/* ---- the tables ------------------------------------------------------------------------------ */

/* clang-format off */

static const struct process_table tables[] = {
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "identities",
	  .caption = "Identity of the processes, from /proc when they were first seen",
	  .columns = { { "Program", DOCUMENT_TEXT }, { "User", DOCUMENT_TEXT },
		       { "Parent", DOCUMENT_NUMBER }, { "Container", DOCUMENT_TEXT },
		       { "Pod", DOCUMENT_TEXT }, { "Environment", DOCUMENT_TEXT } },
	  .list = process_rows_identity, .browsable = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "processes",
	  .caption = "Processes, by kind of memory (live: at the end, or when the process ended)",
	  .columns = { { "Space", DOCUMENT_TEXT }, { "Live", DOCUMENT_NUMBER },
		       { "Blocks", DOCUMENT_NUMBER }, { "Peak", DOCUMENT_NUMBER },
		       { "At", DOCUMENT_VALUE }, { "Allocs", DOCUMENT_NUMBER },
		       { "Allocated", DOCUMENT_NUMBER }, { "Frees", DOCUMENT_NUMBER },
		       { "Implicit", DOCUMENT_NUMBER } },
	  .list = process_rows_spaces, .none = "No allocation was recorded.", .whole = true,
	  .tells_when = true, .has_sum = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "driver",
	  .caption = "Memory that the NVIDIA driver holds for the process, by purpose",
	  .columns = { { "The driver holds", DOCUMENT_TEXT }, { "Live", DOCUMENT_NUMBER },
		       { "Peak", DOCUMENT_NUMBER } },
	  .list = process_rows_driver, .whole = true, .tells_when = true, .has_sum = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "tensors",
	  .caption = "Memory that the framework has given to the program, and cached memory (at the end, or when the process ended)",
	  .columns = { { "Tensors of", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "Allocated", DOCUMENT_NUMBER }, { "Cached", DOCUMENT_NUMBER },
		       { "Other CUDA", DOCUMENT_NUMBER }, { "Most allocated", DOCUMENT_NUMBER },
		       { "Most reserved", DOCUMENT_NUMBER }, { "Blocks given", DOCUMENT_NUMBER },
		       { "Retries", DOCUMENT_NUMBER },
		       { "Out of memory", DOCUMENT_NUMBER }, { "Exact", DOCUMENT_TEXT } },
	  .list = process_rows_tensors, .has_sum = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "segments",
	  .caption = "Free memory in the segments of the framework's allocator (few blocks: in half of a segment or less; such a segment cannot be given back because of them)",
	  .columns = { { "Segments when", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "At", DOCUMENT_VALUE }, { "Asked for", DOCUMENT_NUMBER },
		       { "Reserved", DOCUMENT_NUMBER }, { "Allocated", DOCUMENT_NUMBER },
		       { "Free beside blocks", DOCUMENT_NUMBER },
		       { "Largest piece", DOCUMENT_NUMBER },
		       { "Without blocks", DOCUMENT_NUMBER }, { "Segments", DOCUMENT_NUMBER },
		       { "With few blocks", DOCUMENT_NUMBER }, { "Their bytes", DOCUMENT_NUMBER },
		       { "Their blocks", DOCUMENT_NUMBER }, { "All known", DOCUMENT_TEXT } },
	  .list = process_rows_segments },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "pins",
	  .caption = "Blocks in segments with few of them, by size and place",
	  .columns = { { "Blocks when", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "Bytes of each", DOCUMENT_NUMBER }, { "Blocks", DOCUMENT_NUMBER },
		       { "Segments that they keep", DOCUMENT_NUMBER },
		       { "Made in", DOCUMENT_TEXT } },
	  .list = process_rows_pins },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "pieces",
	  .caption = "Free pieces between blocks, by size",
	  .columns = { { "Free pieces when", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "Of this size or more", DOCUMENT_NUMBER },
		       { "Pieces", DOCUMENT_NUMBER }, { "Bytes", DOCUMENT_NUMBER } },
	  .list = process_rows_pieces },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "segment-sites",
	  .caption = "Where segments with few blocks were taken from the driver",
	  .columns = { { "Segments when", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "With few blocks", DOCUMENT_NUMBER }, { "Their bytes", DOCUMENT_NUMBER },
		       { "Taken by", DOCUMENT_TEXT } },
	  .list = process_rows_segment_sites },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "communicators",
	  .caption = "Communicators of NCCL: what their calls moved (elements of one rank, as the calls said), the time from these calls to their returns, and the memory that NCCL allocated in them (in the other tables, too)",
	  .columns = { { "NCCL communicator", DOCUMENT_TEXT }, { "Rank", DOCUMENT_TEXT },
		       { "Calls that move", DOCUMENT_NUMBER }, { "Moved", DOCUMENT_NUMBER },
		       { "In calls", DOCUMENT_NUMBER }, { "Failed", DOCUMENT_NUMBER },
		       { "Device memory", DOCUMENT_NUMBER }, { "Most", DOCUMENT_NUMBER },
		       { "Page-locked", DOCUMENT_NUMBER }, { "Ended", DOCUMENT_VALUE } },
	  .list = process_rows_communicators },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "nccl-calls",
	  .caption = "Calls of NCCL",
	  .columns = { { "NCCL was asked for", DOCUMENT_TEXT }, { "Communicator", DOCUMENT_TEXT },
		       { "Calls", DOCUMENT_NUMBER }, { "Failed", DOCUMENT_NUMBER },
		       { "Moved", DOCUMENT_NUMBER }, { "In calls", DOCUMENT_NUMBER } },
	  .list = process_rows_nccl_calls },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "nvml",
	  .caption = "NVML's last number for the process, broken down",
	  .columns = { { "NVML's number", DOCUMENT_TEXT }, { "Device", DOCUMENT_TEXT },
		       { "Bytes", DOCUMENT_NUMBER }, { "At", DOCUMENT_VALUE } },
	  .list = process_rows_nvml, .whole = true },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "host",
	  .caption = "What the process used of the host, from the first look at it to the last",
	  .columns = { { "Host, observed for", DOCUMENT_NUMBER }, { "CPU time", DOCUMENT_NUMBER },
		       { "Waited for a CPU", DOCUMENT_NUMBER }, { "Throttled", DOCUMENT_NUMBER },
		       { "Major faults", DOCUMENT_NUMBER }, { "Memory", DOCUMENT_NUMBER },
		       { "Most", DOCUMENT_NUMBER }, { "Swapped", DOCUMENT_NUMBER },
		       { "Cgroup", DOCUMENT_NUMBER }, { "Its limit", DOCUMENT_NUMBER } },
	  .list = process_rows_host },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "apis",
	  .caption = "By function that allocated",
	  .columns = { { "Allocated by", DOCUMENT_TEXT }, { "Space", DOCUMENT_TEXT },
		       { "Device", DOCUMENT_NUMBER }, { "Live", DOCUMENT_NUMBER },
		       { "Blocks", DOCUMENT_NUMBER }, { "In the peak", DOCUMENT_NUMBER },
		       { "Allocs", DOCUMENT_NUMBER }, { "Allocated", DOCUMENT_NUMBER },
		       { "Frees", DOCUMENT_NUMBER }, { "Mean life", DOCUMENT_NUMBER } },
	  .list = process_rows_cells },
	{ .section = REPORT_DOCUMENT_MEMORY, .name = "objects",
	  .caption = "Contexts, modules, streams, events, graphs (live: at the end, or when the process ended)",
	  .columns = { { "Objects", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER },
		       { "Live", DOCUMENT_NUMBER }, { "Most at once", DOCUMENT_NUMBER },
		       { "Made", DOCUMENT_NUMBER }, { "Destroyed", DOCUMENT_NUMBER },
		       { "Implicit", DOCUMENT_NUMBER } },
	  .list = process_rows_objects, .has_sum = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "functions", .caption = "What calls took",
	  .columns = { { "Call", DOCUMENT_TEXT }, { "Calls", DOCUMENT_NUMBER },
		       { "Failed", DOCUMENT_NUMBER }, { "Total", DOCUMENT_NUMBER },
		       { "p50", DOCUMENT_NUMBER }, { "p99", DOCUMENT_NUMBER },
		       { "Longest", DOCUMENT_NUMBER } },
	  .list = process_rows_functions, .has_sum = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "splits",
	  .caption = "Where calls spent their time (waits that spin run; launches are not looked at)",
	  .columns = { { "Time in", DOCUMENT_TEXT }, { "Calls", DOCUMENT_NUMBER },
		       { "Total", DOCUMENT_NUMBER }, { "Ran", DOCUMENT_NUMBER },
		       { "Blocked", DOCUMENT_NUMBER }, { "Waited for a CPU", DOCUMENT_NUMBER } },
	  .list = process_rows_splits, .has_sum = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "kernels", .caption = "Kernels",
	  .columns = { { "Kernel", DOCUMENT_TEXT }, { "Launches", DOCUMENT_NUMBER } },
	  .list = process_rows_kernels, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "copies", .caption = "Copies",
	  .columns = { { "Direction", DOCUMENT_TEXT }, { "Copies", DOCUMENT_NUMBER },
		       { "Bytes", DOCUMENT_NUMBER }, { "Of unknown size", DOCUMENT_NUMBER },
		       { "In the calls", DOCUMENT_NUMBER } },
	  .list = process_rows_copies, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "waits",
	  .caption = "Launches and synchronisation",
	  .columns = { { "Launches", DOCUMENT_NUMBER }, { "Graph launches", DOCUMENT_NUMBER },
		       { "Memsets", DOCUMENT_NUMBER }, { "Synchronisations", DOCUMENT_NUMBER },
		       { "In them", DOCUMENT_NUMBER } },
	  .list = process_rows_waits, .browsable = true },
	{ .section = REPORT_DOCUMENT_CALLS, .name = "failures", .caption = "Failed calls",
	  .columns = { { "Failed", DOCUMENT_NUMBER }, { "Call", DOCUMENT_TEXT },
		       { "Result", DOCUMENT_TEXT } },
	  .list = process_rows_failures, .has_sum = true },
};

/* clang-format on */

#define TABLES (sizeof(tables) / sizeof(*tables))

/* One of all processes. */
static void list_all(struct document *document, const struct report_recording *recording,
		     const struct process_table *table)
{
	struct document_column columns[DOCUMENT_COLUMNS + 1] = { { "Process", DOCUMENT_TEXT } };
	const struct state *state = recording->state;
	struct process_rows rows = { .document = document, .recording = recording };
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

static void list_one(const struct process_rows *rows, const struct process_table *table)
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

static void list_tables(const struct process_rows *rows, bool is_sum)
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
	const struct process_rows rows = {
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
	const struct process_rows rows = {
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
