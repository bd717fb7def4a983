// SPDX-License-Identifier: BSD-2-Clause
/*
 * What happened when, as Markdown: a line of blocks for each process and space, and a short table.
 * The full series are in the JSON.
 */
#include "render/report_md.h"

#include <string.h>

#define SPARK_COLUMNS 64
#define TABLE_ROWS 12

/* A bar of `value` out of `most`: anything that is not nothing can be seen. */
static void append_bar(struct md *md, uint64_t value, uint64_t most)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = ".:-=+*%#";
	double share = most ? (double)value / (double)most : 0;
	size_t level = share > 0 ? (size_t)(share * 7.0 + 0.5) : 0;

	if (!value)
		string_append_char(md->out, ' ');
	else if (md->ascii)
		string_append_char(md->out, ascii[level]);
	else
		string_append_text(md->out, blocks[level]);
}

static void append_spark(struct md *md, const struct timeline_level *level, size_t length)
{
	size_t columns = length < SPARK_COLUMNS ? length : SPARK_COLUMNS, column, i;
	uint64_t most = 0;

	for (i = 0; i < length; i++)
		most = level->max[i] > most ? level->max[i] : most;
	string_append_char(md->out, '`');
	for (column = 0; column < columns; column++) {
		size_t end = (column + 1) * length / columns;
		uint64_t value = 0;

		for (i = column * length / columns; i < end; i++)
			value = level->max[i] > value ? level->max[i] : value;
		append_bar(md, value, most);
	}
	string_append_format(md->out, "` up to %s", MD_SIZE(most));
}

static void append_levels(struct md *md, const struct report_process *shown, size_t length)
{
	uint32_t space;

	for (space = 0; shown->series && space < MS_SPACES_COUNT; space++) {
		if (!shown->series->levels[space])
			continue;
		string_append_text(md->out, "* ");
		md_process(md, shown->process->pid, shown->process->comm);
		string_append_format(md->out, ", %s: ", probe_space_name(space));
		append_spark(md, shown->series->levels[space], length);
		string_append_char(md->out, '\n');
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

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

static uint64_t device_bytes(const struct report_recording *recording, size_t bucket)
{
	uint64_t bytes = 0;
	size_t i, space;

	for (i = 0; i < recording->processes_count; i++) {
		const struct timeline_series *series = recording->processes[i].series;

		for (space = 0; series && space < MS_SPACES_COUNT; space++)
			if (series->levels[space] && usage_is_on_device(space))
				bytes += series->levels[space]->end[bucket];
	}
	return bytes;
}

static struct row make_row(const struct report_recording *recording, size_t begin, size_t end)
{
	struct row row = { .lost = sum(recording->timeline.lost, begin, end) };
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].series)
			add_series(&row, recording->processes[i].series, begin, end);
	if (recording->timeline.more && !recording->options.pid)
		add_series(&row, recording->timeline.more, begin, end);
	for (i = begin; i < end; i++) {
		uint64_t bytes = device_bytes(recording, i);

		row.device_bytes = bytes > row.device_bytes ? bytes : row.device_bytes;
	}
	return row;
}

/* Rates of less than that have digits after the point. */
#define FEW 1000

static void append_rate(struct md *md, double rate)
{
	if (rate < FEW)
		string_append_format(md->out, " | %.4g", rate);
	else
		string_append_format(md->out, " | %s", MD_COUNT((uint64_t)(rate + 0.5)));
}

static void append_copies(struct md *md, const struct row *row, bool known)
{
	string_append_format(md->out, " | %s | %s | %s | ", known ? MD_SIZE(row->to_bytes) : "?",
			     known ? MD_SIZE(row->from_bytes) : "?",
			     known ? MD_SIZE(row->within_bytes) : "?");
	if (row->timed_ns)
		string_append_format(md->out, "%s/s | ",
				     MD_SIZE((uint64_t)(row->timed_bytes / (row->timed_ns / 1e9))));
	else
		string_append_text(md->out, known ? "- | " : "? | ");
}

/* Of what was not captured nothing is known, which is not the same as nothing. */
static void append_row(struct md *md, size_t begin, size_t end)
{
	const struct report_coverage *coverage = &md->recording->coverage;
	const struct timeline *timeline = &md->recording->timeline;
	const struct row row = make_row(md->recording, begin, end);
	const double seconds = (double)((end - begin) * timeline->width_ns) / 1e9;
	static const struct row nothing;

	if (!memcmp(&row, &nothing, sizeof(row)))
		return;
	string_append_text(md->out, "| ");
	string_append_format(md->out, "+%.3f s", (double)(begin * timeline->width_ns) / 1e9);
	string_append_format(md->out, " | %s", MD_SIZE(row.device_bytes));
	append_rate(md, row.allocs / seconds);
	append_rate(md, row.frees / seconds);
	append_copies(md, &row, !report_not_captured(coverage, MS_OP_COPY));
	string_append_format(
		md->out, "%s | %s | %s |\n",
		report_not_captured(coverage, MS_OP_LAUNCH) ? "?" : MD_COUNT(row.launches),
		report_not_captured(coverage, MS_OP_SYNC) ? "?" : MD_DURATION(row.blocked_ns),
		MD_COUNT(row.lost));
}

void md_timeline(struct md *md)
{
	const struct timeline *timeline = &md->recording->timeline;
	size_t length = timeline_length(timeline), rows, i;

	string_append_text(md->out, "\n### 3. Timeline\n\n");
	if (!length) {
		string_append_text(md->out, "Nothing happened.\n");
		return;
	}
	string_append_format(md->out, "Live bytes from ");
	md_time(md, timeline->begin_ns);
	string_append_format(md->out, ", %s in all (the most in each part of it):\n\n",
			     MD_DURATION(timeline->end_ns - timeline->begin_ns));
	for (i = 0; i < md->recording->processes_count && i < md->report->options.top; i++)
		append_levels(md, &md->recording->processes[i], length);
	string_append_text(
		md->out,
		"\n| From | Device memory | Allocs/s | Frees/s | To device | From device | Other copies |"
		" Synchronous copies | Launches | Blocked | Lost |\n"
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	rows = length < TABLE_ROWS ? length : TABLE_ROWS;
	for (i = 0; i < rows; i++)
		append_row(md, i * length / rows, (i + 1) * length / rows);
	string_append_text(md->out, "\nBlocked: threads of the host in synchronisation, added up."
				    " Copies that were given a stream have no speed: nobody saw"
				    " when they ended. Rows without anything are left out.\n");
}
