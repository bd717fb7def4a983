// SPDX-License-Identifier: BSD-2-Clause
#include "render/columns.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define INDENT 2
#define GAP 2
#define HEAD_BYTES 64
#define TEXT_LEAST 20 /* columns that text of any length has */
#define WORD_MAX 40   /* longer words are broken before a table goes on below */
#define DIM "\033[2m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

struct columns_cell {
	size_t begin, length; /* in the text of all of them */
	bool strong;
};

/* How it is drawn. */
struct layout {
	const struct columns *columns;
	const struct wrap_look *look;
	struct string *out;
	size_t widths[DOCUMENT_COLUMNS];
	size_t shown[DOCUMENT_COLUMNS], shown_count; /* columns that are side by side */
};

/* What is still to be shown of a cell. */
struct rest {
	const char *text;
	size_t length;
	size_t lines_before; /* without any of it */
	bool strong;
};

/* ---- filling --------------------------------------------------------------------------------- */

void columns_begin(struct columns *columns, const struct document_column *heads)
{
	columns->heads = heads;
	columns->cells_count = 0;
	for (columns->count = 0; heads[columns->count].name;)
		columns->count++;
	string_clear(&columns->text);
}

void columns_add(struct columns *columns, const char *text, size_t length, bool strong)
{
	struct columns_cell cell = { .begin = columns->text.length,
				     .length = length + strong,
				     .strong = strong };

	string_append_text(&columns->text, strong ? "*" : "");
	string_append(&columns->text, text, length);
	columns->failed |= columns->text.failed;
	if (!columns->failed && memory_grow(&columns->cells, &columns->capacity,
					    columns->cells_count + 1, sizeof(cell)))
		columns->failed = true;
	if (!columns->failed)
		columns->cells[columns->cells_count++] = cell;
}

void columns_fini(struct columns *columns)
{
	free(columns->cells);
	string_fini(&columns->text);
	*columns = (struct columns){ 0 };
}

/* ---- widths ---------------------------------------------------------------------------------- */

static const char *text_of(const struct columns *columns, size_t cell)
{
	return columns->text.length ? columns->text.bytes + columns->cells[cell].begin : "";
}

/* The widest that `measure` finds in the cells of a column. */
static size_t widest(const struct columns *columns, size_t column,
		     size_t (*measure)(const char *text, size_t length))
{
	size_t most = 0, i;

	for (i = column; i < columns->cells_count; i += columns->count) {
		const size_t width = measure(text_of(columns, i), columns->cells[i].length);

		most = width > most ? width : most;
	}
	return most;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static const char *head_of(const struct columns *columns, size_t column)
{
	return columns->heads[column].kind & DOCUMENT_OBVIOUS ? "" : columns->heads[column].name;
}

static size_t width_of(const struct layout *layout, size_t count)
{
	size_t width = INDENT, i;

	for (i = 0; i < count; i++)
		width += layout->widths[layout->shown[i]] + (i ? GAP : 0);
	return width;
}

/* The widest column of text that can do with less; the last one of several. */
static size_t *widest_text(struct layout *layout, const size_t *least)
{
	size_t *found = NULL, i;

	for (i = 0; i < layout->columns->count; i++)
		if (layout->widths[i] > least[i] && (!found || layout->widths[i] >= *found))
			found = &layout->widths[i];
	return found;
}

static bool is_broken(const struct columns *columns, size_t column)
{
	return !(columns->heads[column].kind & (DOCUMENT_NUMBER | DOCUMENT_VALUE));
}

/*
 * How narrow a column of text may become: half as wide, so that short texts take two lines or so,
 * and TEXT_LEAST in any case; words of up to `longest` columns stay whole.
 */
static size_t least_of(const struct layout *layout, size_t column, size_t longest)
{
	const char *head = head_of(layout->columns, column);
	const size_t natural = layout->widths[column];
	const size_t word = widest(layout->columns, column, wrap_word_width);
	size_t least = natural / 2 < TEXT_LEAST ? (natural + 1) / 2 : TEXT_LEAST;

	least = larger(least, word < longest ? word : longest);
	return larger(least, wrap_word_width(head, strlen(head)));
}

/* Makes columns of text narrower until all are as wide as that; false: then they are as before. */
static bool narrow(struct layout *layout, size_t width, size_t longest)
{
	const struct columns *columns = layout->columns;
	size_t least[DOCUMENT_COLUMNS] = { 0 }, before[DOCUMENT_COLUMNS] = { 0 }, i, *narrower;

	for (i = 0; i < columns->count; i++) {
		before[i] = layout->widths[i];
		least[i] = is_broken(columns, i) ? least_of(layout, i, longest) : before[i];
	}
	while (width_of(layout, columns->count) > width && (narrower = widest_text(layout, least)))
		--*narrower;
	if (width_of(layout, columns->count) <= width)
		return true;
	memcpy(layout->widths, before, columns->count * sizeof(*before));
	return false;
}

/*
 * As wide as what is in them if there is room for it; else headings are broken first, then text. If
 * that is of no use, the table goes on below, and what text needs is there again.
 */
static void choose_widths(struct layout *layout, size_t width)
{
	const struct columns *columns = layout->columns;
	size_t cells[DOCUMENT_COLUMNS] = { 0 }, longest, i;

	for (i = 0; i < columns->count; i++) {
		const char *head = head_of(columns, i);

		cells[i] = widest(columns, i, wrap_width);
		layout->widths[i] = larger(cells[i], strlen(head));
		layout->shown[i] = i;
		cells[i] = larger(cells[i], wrap_word_width(head, strlen(head)));
	}
	if (!width || width_of(layout, columns->count) <= width)
		return;
	memcpy(layout->widths, cells, columns->count * sizeof(*cells));
	longest = width / 2 < WORD_MAX ? width / 2 : WORD_MAX;
	if (narrow(layout, width, SIZE_MAX) || narrow(layout, width, longest))
		return;
	for (i = 0; i < columns->count; i++)
		if (is_broken(columns, i) && layout->widths[i] > (width - INDENT) / 2)
			layout->widths[i] = (width - INDENT) / 2;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static size_t count_lines(const char *text, size_t length, size_t width)
{
	size_t lines = 0, next;

	for (; length; text += next, length -= next, lines++)
		wrap_line(text, length, width, &next);
	return lines;
}

static void pad(struct string *out, size_t spaces)
{
	while (spaces--)
		string_append_char(out, ' ');
}

/* One line of one cell. `spaces` is what is between it and what stands before it. */
static void draw_piece(const struct layout *layout, size_t column, struct rest *rest,
		       size_t *spaces)
{
	const bool right = layout->columns->heads[column].kind & DOCUMENT_NUMBER;
	size_t width = layout->widths[column], length, taken, next;

	if (rest->lines_before || !rest->length) {
		rest->lines_before -= rest->lines_before > 0;
		*spaces += width;
		return;
	}
	length = wrap_line(rest->text, rest->length, width, &next);
	taken = wrap_width(rest->text, length);
	width = width > taken ? width - taken : 0;
	pad(layout->out, *spaces + (right ? width : 0));
	string_append_text(layout->out, rest->strong && layout->look->colour ? BOLD : "");
	wrap_append(layout->out, rest->text, length, layout->look);
	string_append_text(layout->out, rest->strong && layout->look->colour ? PLAIN : "");
	*spaces = right ? 0 : width;
	rest->text += next;
	rest->length -= next;
}

/* A row, in as many lines as it takes. `rests` are of the columns that are shown. */
static void draw_rests(const struct layout *layout, struct rest *rests)
{
	bool more = true;
	size_t i;

	while (more) {
		size_t spaces = INDENT;

		more = false;
		for (i = 0; i < layout->shown_count; i++) {
			draw_piece(layout, layout->shown[i], &rests[i], &spaces);
			spaces += GAP;
			more |= rests[i].length > 0;
		}
		string_append_char(layout->out, '\n');
	}
}

static void draw_row(const struct layout *layout, size_t row)
{
	const struct columns *columns = layout->columns;
	struct rest rests[DOCUMENT_COLUMNS] = { 0 };
	size_t i;

	for (i = 0; i < layout->shown_count; i++) {
		const size_t cell = row * columns->count + layout->shown[i];

		rests[i] = (struct rest){ .text = text_of(columns, cell),
					  .length = columns->cells[cell].length,
					  .strong = columns->cells[cell].strong };
	}
	draw_rests(layout, rests);
}

/* In capitals, with the last line of each above the cells. */
static void draw_heads(const struct layout *layout)
{
	char names[DOCUMENT_COLUMNS][HEAD_BYTES];
	struct rest rests[DOCUMENT_COLUMNS] = { 0 };
	size_t lines = 0, i, j;

	for (i = 0; i < layout->shown_count; i++) {
		const char *name = head_of(layout->columns, layout->shown[i]);

		for (j = 0; name[j] && j < HEAD_BYTES; j++)
			names[i][j] = (char)toupper((unsigned char)name[j]);
		rests[i] = (struct rest){ .text = names[i], .length = j };
		rests[i].lines_before = count_lines(names[i], j, layout->widths[layout->shown[i]]);
		lines = larger(lines, rests[i].lines_before);
	}
	if (!lines)
		return;
	for (i = 0; i < layout->shown_count; i++)
		rests[i].lines_before = lines - rests[i].lines_before;
	string_append_text(layout->out, layout->look->colour ? DIM : "");
	draw_rests(layout, rests);
	string_append_text(layout->out, layout->look->colour ? PLAIN : "");
}

/* Chooses the columns that come next; returns the one after them. */
static size_t choose_shown(struct layout *layout, size_t first, size_t width)
{
	size_t column = first;

	layout->shown_count = 0;
	if (first)
		layout->shown[layout->shown_count++] = 0;
	do {
		layout->shown[layout->shown_count++] = column++;
		if (column == layout->columns->count)
			break;
		layout->shown[layout->shown_count] = column;
	} while (!width || width_of(layout, layout->shown_count + 1) <= width);
	return column;
}

/* Whether the row has anything in these columns, but for the first, which is there again. */
static bool goes_on(const struct layout *layout, size_t row)
{
	const struct columns *columns = layout->columns;
	size_t i;

	for (i = 1; i < layout->shown_count; i++)
		if (columns->cells[row * columns->count + layout->shown[i]].length)
			return true;
	return false;
}

static void draw_below(const struct layout *layout, size_t rows)
{
	bool headed = false;
	size_t i;

	for (i = 0; i < rows; i++) {
		if (!goes_on(layout, i))
			continue;
		if (!headed) {
			string_append_char(layout->out, '\n');
			draw_heads(layout);
		}
		headed = true;
		draw_row(layout, i);
	}
}

void columns_draw(const struct columns *columns, struct string *out, size_t width,
		  const struct wrap_look *look)
{
	struct layout layout = { .columns = columns, .look = look, .out = out };
	const size_t rows = columns->count ? columns->cells_count / columns->count : 0;
	size_t next, i;

	out->failed |= columns->failed;
	choose_widths(&layout, width);
	next = choose_shown(&layout, 0, width);
	draw_heads(&layout);
	for (i = 0; i < rows; i++)
		draw_row(&layout, i);
	while (next < columns->count) {
		next = choose_shown(&layout, next, width);
		draw_below(&layout, rows);
	}
}
