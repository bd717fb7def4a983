// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_list.h"

#include "render/identity_words.h"
#include "top/top_bar.h"

/* What the cells of a row are made of. */
struct source {
	const struct top *top;
	const struct top_status *status;
	const struct top_row *row;
	const struct process *process; /* NULL: it is no longer known */
	size_t width;                  /* of the cell */
	bool ascii;
};

typedef void append_fn(struct string *out, const struct source *source);

static void append_pid(struct string *out, const struct source *source)
{
	string_append_u64(out, source->row->pid);
}

static void append_user(struct string *out, const struct source *source)
{
	if (source->process)
		identity_words_user(out, &source->process->identity.known);
}

static void append_live(struct string *out, const struct source *source)
{
	top_words_live(out, source->row);
	/* So that numbers stand below each other, with a mark or without. */
	if (!source->row->inexact && !source->row->held_before)
		string_append_char(out, ' ');
}

static void append_peak(struct string *out, const struct source *source)
{
	top_words_peak(out, source->row);
}

static void append_growth(struct string *out, const struct source *source)
{
	top_words_growth(out, source->row->growth_bytes);
}

static void append_minute(struct string *out, const struct source *source)
{
	top_words_growth(out, source->row->minute_bytes);
}

static void append_allocs(struct string *out, const struct source *source)
{
	top_words_rate(out, source->top, source->row->allocs);
}

static void append_launches(struct string *out, const struct source *source)
{
	if (source->status->launches)
		top_words_rate(out, source->top, source->row->launches);
	else
		string_append_char(out, '?');
}

static void append_memory(struct string *out, const struct source *source)
{
	char size[STRING_NUMBER_BYTES];

	string_append_text(
		out, source->row->nvml_known ? string_size(size, source->row->nvml_bytes) : "?");
}

static void append_unexplained(struct string *out, const struct source *source)
{
	if (source->row->nvml_known)
		top_words_growth(out, source->row->unexplained_bytes);
	else
		string_append_char(out, '?');
}

static void append_samples(struct string *out, const struct source *source)
{
	uint64_t samples[TOP_SAMPLES];
	const size_t count = top_samples(source->top, source->row, samples);

	top_bar_samples(out, samples, count, source->width, source->ascii);
}

static void append_command(struct string *out, const struct source *source)
{
	if (source->process)
		identity_words_name(out, source->process);
}

static void append_remarks(struct string *out, const struct source *source)
{
	top_words_remarks(out, source->row, source->process);
}

/* A column that has no room is left out: those with the highest rank first. */
static const struct column {
	const char *name;
	size_t width;
	bool right;
	int rank;
	int sort; /* enum top_sort; -1: rows are never sorted by it */
	append_fn *append;
} columns[] = {
	{ "PID", 7, true, 0, TOP_PID, append_pid },
	{ "User", 8, false, 1, -1, append_user },
	{ "Live", 10, true, 0, TOP_LIVE, append_live },
	{ "Peak", 9, true, 0, TOP_PEAK, append_peak },
	{ "Growth", 9, true, 0, TOP_GROWTH, append_growth },
	{ "In 60 s", 9, true, 2, -1, append_minute },
	{ "Allocs/s", 9, true, 0, TOP_RATE, append_allocs },
	{ "Launches/s", 10, true, 0, -1, append_launches },
	{ "Memory", 9, true, 3, -1, append_memory },
	{ "Unexplained", 11, true, 4, -1, append_unexplained },
	{ "Last 60 s", 20, false, 6, -1, append_samples },
	{ "Command", 16, false, 0, -1, append_command },
	{ "Remarks", 30, false, 5, -1, append_remarks },
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))
#define RANKS 7
#define COMMAND_MOST 40

struct layout {
	size_t widths[COLUMNS]; /* 0: it is left out */
};

static bool is_nvml(const struct column *column)
{
	return column->append == append_memory || column->append == append_unexplained;
}

static size_t width_to(const struct top *top, int rank)
{
	size_t width = 0, i;

	for (i = 0; i < COLUMNS; i++)
		if (columns[i].rank <= rank && (top->nvml_known || !is_nvml(&columns[i])))
			width += columns[i].width + 1;
	return width;
}

/* What is left goes to the command, and then to the remarks. */
static void lay_out(struct layout *layout, const struct top *top, size_t width)
{
	int rank = RANKS - 1;
	size_t left, i, command = 0, remarks = 0;

	while (rank && width_to(top, rank) > width)
		rank--;
	left = width_to(top, rank) < width ? width - width_to(top, rank) : 0;
	for (i = 0; i < COLUMNS; i++) {
		const bool shown =
			columns[i].rank <= rank && (top->nvml_known || !is_nvml(&columns[i]));

		layout->widths[i] = shown ? columns[i].width : 0;
		if (shown && columns[i].append == append_command)
			command = i;
		if (shown && columns[i].append == append_remarks)
			remarks = i;
	}
	if (!remarks) {
		layout->widths[command] += left;
		return;
	}
	i = left < COMMAND_MOST - columns[command].width ? left :
							   COMMAND_MOST - columns[command].width;
	layout->widths[command] += i;
	layout->widths[remarks] += left - i;
}

static void draw_heading(struct string *line, const struct layout *layout,
			 const struct top_view *view, bool ascii)
{
	static const char *const marks[2][2] = { { "\xe2\x96\xbc", "\xe2\x96\xb2" }, { "v", "^" } };
	struct string name = { 0 };
	size_t i;

	string_append_text(line, TOP_STYLE_STRONG);
	for (i = 0; i < COLUMNS; i++) {
		const bool sorted = columns[i].sort == (int)view->sort;

		if (!layout->widths[i])
			continue;
		string_clear(&name);
		string_append_text(&name, columns[i].name);
		if (sorted)
			string_append_text(&name, marks[ascii][view->reversed]);
		top_lines_put(line, &name, layout->widths[i], columns[i].right);
		string_append_char(line, ' ');
	}
	string_append_text(line, TOP_STYLE_PLAIN);
	string_fini(&name);
}

static void draw_row(struct string *line, const struct layout *layout, struct source *source,
		     bool selected, struct string *cell)
{
	size_t i;

	string_append_text(line, selected ? TOP_STYLE_SELECTED : TOP_STYLE_PLAIN);
	for (i = 0; i < COLUMNS; i++) {
		if (!layout->widths[i])
			continue;
		string_clear(cell);
		source->width = layout->widths[i];
		columns[i].append(cell, source);
		top_lines_put(line, cell, layout->widths[i], columns[i].right);
		string_append_char(line, ' ');
	}
	string_append_text(line, TOP_STYLE_PLAIN);
}

/* The selected row stays on the screen. */
static void scroll(struct top_view *view, size_t rows)
{
	const size_t most = view->shown_count > rows ? view->shown_count - rows : 0;

	view->height = rows;
	if (view->cursor < view->first)
		view->first = view->cursor;
	if (view->cursor >= view->first + rows)
		view->first = view->cursor - rows + 1;
	if (view->first > most)
		view->first = most;
}

void top_list_draw(struct top_lines *lines, size_t from, size_t height, struct top_view *view,
		   const struct top *top, const struct top_status *status)
{
	const size_t rows = height > 1 ? height - 1 : 1;
	struct source source = { .top = top, .status = status, .ascii = lines->ascii };
	struct string cell = { 0 };
	struct layout layout;
	size_t i;

	lay_out(&layout, top, lines->width);
	draw_heading(&lines->lines[from], &layout, view, lines->ascii);
	scroll(view, rows);
	for (i = 0; i < rows && view->first + i < view->shown_count; i++) {
		const size_t place = view->first + i;

		source.row = &top->rows[view->shown[place]];
		source.process = top_process(top, source.row);
		draw_row(&lines->lines[from + 1 + i], &layout, &source, place == view->cursor,
			 &cell);
	}
	string_fini(&cell);
	if (view->shown_count || !top->look)
		return;
	if (view->filter_length)
		string_append_text(&lines->lines[from + 1], "No process matches the filter.");
	else
		top_words_empty(&lines->lines[from + 1], top, status);
}
