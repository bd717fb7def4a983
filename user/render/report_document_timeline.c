// SPDX-License-Identifier: BSD-2-Clause
/*
 * What happened when: a line of blocks for each process and space, and a short table; where tables
 * can be filtered, one of all there is. The full series are in the JSON.
 */
#include "render/report_document.h"

#include <string.h>

#include "render/identity_words.h"
#include "render/report_words.h"

#define SPARK_COLUMNS 64
#define SPARK_LEAST 16
#define SPARK_AROUND 22 /* columns of what is around it, but for its label */
#define TABLE_ROWS 12

/* A bar of `value` out of `most`: anything that is not nothing can be seen. */
static void append_bar(struct document *document, uint64_t value, uint64_t most)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = ".:-=+*%#";
	double share = most ? (double)value / (double)most : 0;
	size_t level = share > 0 ? (size_t)(share * 7.0 + 0.5) : 0;

	if (!value)
		string_append_char(&document->text, ' ');
	else if (document->ascii)
		string_append_char(&document->text, ascii[level]);
	else
		string_append_text(&document->text, blocks[level]);
}

/* "train (4242), device: ". Where lines are of a width, bars begin below each other. */
static void append_label(struct document *document, const struct process *process, uint32_t space,
			 size_t width)
{
	identity_words_process(&document->text, process);
	string_append_format(&document->text, ", %s: ", probe_space_name(space));
	if (document->width)
		string_pad(&document->text, width);
}

static size_t widest_label(struct document *document, const struct report_recording *recording)
{
	size_t width = 0, i;
	uint32_t space;

	for (i = 0; i < recording->processes_count && i < document->top; i++) {
		const struct report_process *shown = &recording->processes[i];

		for (space = 0; shown->series && space < MS_SPACES_COUNT; space++) {
			if (!shown->series->levels[space])
				continue;
			append_label(document, shown->process, space, 0);
			if (document->text.length > width)
				width = document->text.length;
			string_clear(&document->text);
		}
	}
	return width;
}

/* As many bars as leave room for their text in the line. */
static size_t spark_columns(const struct document *document, size_t label)
{
	const size_t taken = label + SPARK_AROUND;

	if (!document->width || document->width >= taken + SPARK_COLUMNS)
		return SPARK_COLUMNS;
	return document->width > taken + SPARK_LEAST ? document->width - taken : SPARK_LEAST;
}

static void append_spark(struct document *document, const struct timeline_level *level,
			 size_t length, size_t columns)
{
	size_t column, i;
	uint64_t most = 0;

	columns = length < columns ? length : columns;
	for (i = 0; i < length; i++)
		most = level->max[i] > most ? level->max[i] : most;
	string_append_text(&document->text, DOCUMENT_CODE);
	for (column = 0; column < columns; column++) {
		size_t end = (column + 1) * length / columns;
		uint64_t value = 0;

		for (i = column * length / columns; i < end; i++)
			value = level->max[i] > value ? level->max[i] : value;
		append_bar(document, value, most);
	}
	string_append_format(&document->text, DOCUMENT_CODE " up to %s", REPORT_SIZE(most));
}

static void list_levels(struct document *document, const struct report_process *shown,
			size_t length, size_t label)
{
	uint32_t space;

	for (space = 0; shown->series && space < MS_SPACES_COUNT; space++) {
		if (!shown->series->levels[space])
			continue;
		append_label(document, shown->process, space, label);
		append_spark(document, shown->series->levels[space], length,
			     spark_columns(document, label));
		document_block(document, DOCUMENT_ITEM);
	}
}

/* ---- a short table --------------------------------------------------------------------------- */

/* Buckets in one row of the table, of the processes that are shown. */
struct row {
	uint64_t device_bytes; /* the most that one bucket ended with */
	uint64_t allocs, frees, launches, blocked_ns, lost;
	uint64_t to_bytes, from_bytes, within_bytes;
	uint64_t timed_bytes, timed_ns;
};

static uint64_t sum(const uint64_t *values, size_t begin, size_t end)
{
	uint64_t total = 0;

	for (; begin < end; begin++)
		total += values[begin];
	return total;
}

static uint64_t *place_of(struct row *row, size_t direction)
{
	switch (direction) {
	case MS_DIRECTION_HTOD:
	case MS_DIRECTION_HTOA:
		return &row->to_bytes;
	case MS_DIRECTION_DTOH:
	case MS_DIRECTION_ATOH:
		return &row->from_bytes;
	}
	return &row->within_bytes;
}

static void add_series(struct row *row, const struct timeline_series *series, size_t begin,
		       size_t end)
{
	size_t i;

	row->allocs += sum(series->allocs, begin, end);
	row->frees += sum(series->frees, begin, end);
	row->launches += sum(series->launches, begin, end);
	row->blocked_ns += sum(series->blocked_ns, begin, end);
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const struct timeline_copies *copies = series->copies[i];

		if (!copies)
			continue;
		*place_of(row, i) += sum(copies->bytes, begin, end);
		row->timed_bytes += sum(copies->timed_bytes, begin, end);
		row->timed_ns += sum(copies->timed_ns, begin, end);
	}
}

static uint64_t level_bytes(const struct timeline_series *series, size_t bucket)
{
	uint64_t bytes = 0;
	size_t space;

	for (space = 0; series && space < MS_SPACES_COUNT; space++)
		if (series->levels[space] && usage_is_on_device(space))
			bytes += series->levels[space]->end[bucket];
	return bytes;
}

static uint64_t device_bytes(const struct report_recording *recording, size_t bucket)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		bytes += level_bytes(recording->processes[i].series, bucket);
	if (!report_selects(&recording->options))
		bytes += level_bytes(recording->timeline.more, bucket);
	return bytes;
}

static struct row make_row(const struct report_recording *recording, size_t begin, size_t end)
{
	struct row row = { .lost = sum(recording->timeline.lost, begin, end) };
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].series)
			add_series(&row, recording->processes[i].series, begin, end);
	if (recording->timeline.more && !report_selects(&recording->options))
		add_series(&row, recording->timeline.more, begin, end);
	for (i = begin; i < end; i++) {
		uint64_t bytes = device_bytes(recording, i);

		row.device_bytes = bytes > row.device_bytes ? bytes : row.device_bytes;
	}
	return row;
}

/* Rates of less than that have digits after the point. */
#define FEW 1000

static void cell_rate(struct document *document, uint64_t calls, uint64_t length_ns)
{
	const double rate = calls / (length_ns / 1e9);

	if (rate < FEW)
		string_append_format(&document->text, "%.4g", rate);
	else
		string_append_text(&document->text, REPORT_COUNT(finding_rate(calls, length_ns)));
	document_cell(document);
}

static void cells_of_copies(struct document *document, const struct row *row, bool known)
{
	document_cell_size(document, known, row->to_bytes);
	document_cell_size(document, known, row->from_bytes);
	document_cell_size(document, known, row->within_bytes);
	if (row->timed_ns)
		document_cell_value(document, true, FINDING_BYTES_PER_SECOND,
				    finding_rate(row->timed_bytes, row->timed_ns));
	else
		document_cell_words(document, known ? "-" : "?");
}

/* What was not captured is not known, which is not the same as nothing. */
static void list_row(struct document *document, const struct report_recording *recording,
		     size_t begin, size_t end)
{
	const struct report_coverage *coverage = &recording->coverage;
	const uint64_t width_ns = recording->timeline.width_ns;
	const struct row row = make_row(recording, begin, end);
	const uint64_t length_ns = (end - begin) * width_ns;
	static const struct row nothing;

	if (!memcmp(&row, &nothing, sizeof(row)) || !document_row(document))
		return;
	string_append_format(&document->text, "+%.3f s", (double)(begin * width_ns) / 1e9);
	document_cell(document);
	document_cell_size(document, true, row.device_bytes);
	cell_rate(document, row.allocs, length_ns);
	cell_rate(document, row.frees, length_ns);
	cells_of_copies(document, &row, !report_not_captured(coverage, MS_OP_COPY));
	document_cell_count(document, !report_not_captured(coverage, MS_OP_LAUNCH), row.launches);
	document_cell_duration(document, !report_not_captured(coverage, MS_OP_SYNC),
			       row.blocked_ns);
	document_cell_count(document, true, row.lost);
	document_row_end(document);
}

static void list_rows(struct document *document, const struct report_recording *recording,
		      size_t length)
{
	static const struct document_column columns[] = {
		{ "From", DOCUMENT_VALUE },          { "Device memory", DOCUMENT_NUMBER },
		{ "Allocs/s", DOCUMENT_NUMBER },     { "Frees/s", DOCUMENT_NUMBER },
		{ "To device", DOCUMENT_NUMBER },    { "From device", DOCUMENT_NUMBER },
		{ "Other copies", DOCUMENT_NUMBER }, { "Synchronous copies", DOCUMENT_NUMBER },
		{ "Launches", DOCUMENT_NUMBER },     { "Blocked", DOCUMENT_NUMBER },
		{ "Lost", DOCUMENT_NUMBER },         { 0 },
	};
	const size_t rows = length < TABLE_ROWS ? length : TABLE_ROWS;
	size_t i;

	document_table(document, "rows", "What happened in each part of the time", columns);
	document_table_open(document);
	for (i = 0; i < rows; i++)
		list_row(document, recording, i * length / rows, (i + 1) * length / rows);
	document_table_end(document);
}

/* ---- a long table ---------------------------------------------------------------------------- */

static uint64_t copied_bytes(const struct row *row)
{
	return row->to_bytes + row->from_bytes + row->within_bytes;
}

static void list_bucket(struct document *document, const struct report_recording *recording,
			size_t place)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct timeline *timeline = &recording->timeline;
	const struct row row = make_row(recording, place, place + 1);
	static const struct row nothing;

	if (!memcmp(&row, &nothing, sizeof(row)) || !document_row(document))
		return;
	document_cell_time(document, recording, timeline->begin_ns + place * timeline->width_ns);
	document_cell_size(document, true, row.device_bytes);
	document_cell_count(document, true, row.allocs);
	document_cell_count(document, true, row.frees);
	document_cell_size(document, !report_not_captured(coverage, MS_OP_COPY),
			   copied_bytes(&row));
	document_cell_count(document, !report_not_captured(coverage, MS_OP_LAUNCH), row.launches);
	document_cell_duration(document, !report_not_captured(coverage, MS_OP_SYNC),
			       row.blocked_ns);
	document_cell_count(document, true, row.lost);
	document_row_end(document);
}

static void list_buckets(struct document *document, const struct report_recording *recording,
			 size_t length)
{
	static const struct document_column columns[] = {
		{ "From", DOCUMENT_NUMBER },
		{ "On devices at its end", DOCUMENT_NUMBER },
		{ "Allocs", DOCUMENT_NUMBER },
		{ "Frees", DOCUMENT_NUMBER },
		{ "Copied", DOCUMENT_NUMBER },
		{ "Launches", DOCUMENT_NUMBER },
		{ "Blocked", DOCUMENT_NUMBER },
		{ "Lost", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	document_table(
		document, "buckets",
		"What happened in each part of the time; parts without anything are left out",
		columns);
	document_table_open(document);
	for (i = 0; i < length; i++)
		list_bucket(document, recording, i);
	document_table_end(document);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void report_document_timeline(struct document *document, const struct report_recording *recording)
{
	const struct timeline *timeline = &recording->timeline;
	const size_t length = timeline_length(timeline);
	size_t label, i;

	if (!length) {
		document_say(document, "Nothing happened.");
		return;
	}
	/* There, a chart says the rest. */
	if (document->format->browsable) {
		list_buckets(document, recording, length);
		return;
	}
	string_append_text(&document->text, "Live bytes from ");
	report_append_time(&document->text, recording, timeline->begin_ns);
	string_append_format(&document->text, ", %s in all (the most in each part of it):",
			     REPORT_DURATION(timeline->end_ns - timeline->begin_ns));
	document_paragraph(document);
	label = widest_label(document, recording);
	for (i = 0; i < recording->processes_count && i < document->top; i++)
		list_levels(document, &recording->processes[i], length, label);
	list_rows(document, recording, length);
	document_say(document, "Blocked: threads of the host in synchronisation, added up."
			       " Copies that were given a stream have no speed: it is not known"
			       " when they ended. Rows without anything are left out.");
}
