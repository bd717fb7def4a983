// SPDX-License-Identifier: BSD-2-Clause
/*
 * Phases: what programs did between the markers that they set.
 */
#include <string.h>

#include "render/field.h"
#include "render/report_document.h"
#include "render/report_words.h"

#define NAME_SHOWN 64 /* bytes of each name in a path */

/* A name of many may be long, and is the program's. */
static void append_name(struct document *document, const struct phase *phase)
{
	const size_t length = phase->name ? strlen(phase->name) : 0;
	size_t shown = length;

	if (!phase->name) {
		string_append_text(&document->text, "(unnamed)");
		return;
	}
	if (length > NAME_SHOWN)
		for (shown = NAME_SHOWN; shown && (phase->name[shown] & 0xc0) == 0x80;)
			shown--;
	field_append_safe(&document->text, phase->name, shown);
	if (shown < length || phase->name_is_cut)
		string_append_text(&document->text, "...");
}

static void append_path(struct document *document, const struct phase *phase)
{
	const struct phase *path[PHASES_DEPTH + 1];
	size_t count = 0;

	for (; phase && count <= PHASES_DEPTH; phase = phase->parent)
		path[count++] = phase;
	while (count--) {
		append_name(document, path[count]);
		if (count)
			string_append_text(&document->text, " > ");
	}
}

void report_document_process(struct document *document, const struct report_recording *recording,
			     uint32_t pid, uint64_t start_ns, const char *comm)
{
	const struct process *process = state_find(recording->state, pid, start_ns);

	/* After an exec it is another program. */
	if (process && strncmp(process->comm, comm, sizeof(process->comm)) != 0)
		process = NULL;
	report_append_process(&document->text, pid, process ? process->name : comm);
	document_cell(document);
}

static void put_name(struct document *document, const struct report_recording *recording,
		     const struct phase *phase)
{
	if (phase->kind == PHASE_OTHERS)
		string_append_text(&document->text, "(all others)");
	else
		append_path(document, phase);
	if (phase->kind == PHASE_RANGE)
		string_append_text(&document->text, " (range)");
	else if (phase->kind == PHASE_INSTANT)
		string_append_text(&document->text, " (instant)");
	document_cell(document);
	report_document_process(document, recording, phase->pid, phase->start_ns, phase->comm);
	document_cell_count(document, true, phase->count);
}

void report_document_change(struct document *document, int64_t bytes)
{
	const uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes)
		string_append_char(&document->text, bytes < 0 ? '-' : '+');
	report_append_value(&document->text, NULL, FINDING_BYTES, size);
	document_cell_as(document, (struct document_cell){ .sorted = true,
							   .value = bytes,
							   .exact = REPORT_COUNT(size) });
}

static void put_times(struct document *document, const struct phase *phase)
{
	const struct phase_values *time = &phase->time, *held = &phase->held;
	const bool known = phase->count;

	document_cell_duration(document, known, time->total);
	document_cell_duration(document, known, known ? time->total / phase->count : 0);
	document_cell_duration(document, known, time->p95);
	document_cell_duration(document, known, time->max);
	report_document_change(document, held->total);
	report_document_change(document, known ? held->total / (int64_t)phase->count : 0);
	report_document_change(document, held->p95);
	report_document_change(document, held->max);
	document_cell_size(document, known, phase->peak_bytes);
}

static void put_moment(struct document *document, const struct report_recording *recording,
		       uint64_t ts_ns)
{
	if (!ts_ns) {
		document_cell_absent(document);
		return;
	}
	report_append_time(&document->text, recording, ts_ns);
	document_cell(document);
}

static void list_times(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Phase", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },
		{ "Times", DOCUMENT_NUMBER },
		{ "First at", DOCUMENT_TEXT },
		{ "Last until", DOCUMENT_TEXT },
		{ "Time in all", DOCUMENT_NUMBER },
		{ "Mean time", DOCUMENT_NUMBER },
		{ "95 % of times", DOCUMENT_NUMBER },
		{ "Longest", DOCUMENT_NUMBER },
		{ "Memory in all", DOCUMENT_NUMBER },
		{ "Mean memory", DOCUMENT_NUMBER },
		{ "95 % of memory", DOCUMENT_NUMBER },
		{ "Most memory", DOCUMENT_NUMBER },
		{ "Peak in it", DOCUMENT_NUMBER },
		{ 0 },
	};
	const struct phases *phases = &recording->phases;
	size_t i;

	document_table_top(document, "phases", "Phases: time, and by how much memory grew",
			   columns);
	for (i = 0; i < phases->count; i++) {
		const struct phase *phase = phases->phases[i];
		int column;

		if (!document_row(document))
			continue;
		put_name(document, recording, phase);
		put_moment(document, recording, phase->first_ns);
		put_moment(document, recording, phase->last_ns);
		if (phase->kind != PHASE_INSTANT)
			put_times(document, phase);
		for (column = 5; phase->kind == PHASE_INSTANT && columns[column].name; column++)
			document_cell_absent(document);
		document_row_end(document);
	}
	document_table_end(document);
}

static void put_calls(struct document *document, const struct report_coverage *coverage,
		      const struct phase *phase)
{
	const struct phase_sums *sums = &phase->sums;
	const bool copies = !coverage->copies_summed && !report_not_captured(coverage, MS_OP_COPY);
	const bool launches =
		!coverage->launches_summed && !report_not_captured(coverage, MS_OP_LAUNCH);

	document_cell_count(document, true, sums->allocs);
	document_cell_size(document, true, sums->alloc_bytes);
	document_cell_count(document, true, sums->frees);
	document_cell_size(document, true, sums->free_bytes);
	document_cell_count(document, copies, sums->copies);
	document_cell_size(document, copies, sums->copy_bytes);
	document_cell_count(document, launches, sums->launches);
	document_cell_count(document, true, sums->waits);
	document_cell_duration(document, true, sums->wait_ns);
}

static void list_calls(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Phase", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },
		{ "Times", DOCUMENT_NUMBER },
		{ "Allocations", DOCUMENT_NUMBER },
		{ "Allocated", DOCUMENT_NUMBER },
		{ "Frees", DOCUMENT_NUMBER },
		{ "Freed", DOCUMENT_NUMBER },
		{ "Copies", DOCUMENT_NUMBER },
		{ "Copied", DOCUMENT_NUMBER },
		{ "Launches", DOCUMENT_NUMBER },
		{ "Waits", DOCUMENT_NUMBER },
		{ "Waited", DOCUMENT_NUMBER },
		{ 0 },
	};
	const struct phases *phases = &recording->phases;
	size_t i;

	document_table_top(document, "phases-calls", "Phases: calls", columns);
	for (i = 0; i < phases->count; i++) {
		const struct phase *phase = phases->phases[i];

		if (phase->kind == PHASE_INSTANT || !document_row(document))
			continue;
		put_name(document, recording, phase);
		put_calls(document, &recording->coverage, phase);
		document_row_end(document);
	}
	document_table_end(document);
}

static void append_lack(struct document *document, uint64_t count, const char *what)
{
	if (!count)
		return;
	string_append_format(&document->text, "%s%s %s", document->text.length ? ", " : "",
			     REPORT_COUNT(count), what);
}

/* What makes the numbers of phases other than exact. */
static void say_lacks(struct document *document, const struct report_recording *recording)
{
	const struct phases *phases = &recording->phases;
	const struct ms_counters *counters = &recording->coverage.counters;
	uint64_t open = 0;
	size_t i;

	for (i = 0; i < phases->count; i++)
		open += phases->phases[i]->open;
	append_lack(document, counters->lost[MS_KIND_MARKER], "markers were lost");
	append_lack(document, phases->unmatched, "ends whose beginning was not seen are left out");
	append_lack(document, phases->left,
		    "beginnings that were left without an end are left out");
	append_lack(document, phases->dropped, "markers found no place");
	append_lack(document, phases->ambiguous,
		    "ends could be of several ranges, and the last was taken");
	append_lack(document, open, "phases had not ended at the end, up to which they count");
	if (!document->text.length)
		return;
	string_append_char(&document->text, '.');
	document_paragraph(document);
}

static void say_of_python(struct document *document, const struct phases *phases)
{
	size_t i;

	for (i = 0; i < phases->count && phases->phases[i]->source != MS_MARKER_BY_PYTHON; i++)
		;
	if (i < phases->count)
		document_say(document,
			     "A Python function is seen at its CUDA calls alone: its phase lasts"
			     " from the first of them to the end of the last one.");
}

bool report_document_has_phases(const struct report_recording *recording)
{
	return recording->phases.markers;
}

void report_document_phases(struct document *document, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	document_say(document,
		     "What the programs themselves have marked, each inside of what it lies in."
		     " Memory is by how much more the process held at the end of the phase than at"
		     " its beginning, on devices and managed, whichever thread allocated it. Calls"
		     " are those of the phase's thread; of a range, those of all threads.");
	say_of_python(document, &recording->phases);
	list_times(document, recording);
	list_calls(document, recording);
	if (coverage->copies_summed || coverage->launches_summed)
		document_say(document,
			     "In which phase copies and launches were is not known of those"
			     " that were only counted: record --copies=all"
			     " --launches=all.");
	say_lacks(document, recording);
}
