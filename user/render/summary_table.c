// SPDX-License-Identifier: BSD-2-Clause
#include "render/summary_table.h"

#include <stdlib.h>
#include <string.h>

#include "render/wrap.h"

#define INDENT 2
#define HANGING 6ul /* indentation of what goes on */

/* It takes the rest of the line. */
static bool is_last(const struct summary_table *table, size_t i)
{
	return !table->columns[i + 1].head;
}

static bool is_shown(const struct summary_table *table, size_t i)
{
	return !(table->left_out >> i & 1);
}

static size_t columns_of(const struct summary_table *table)
{
	size_t width = INDENT, i;

	for (i = 0; table->columns[i].head; i++) {
		size_t columns = (size_t)abs(table->columns[i].width);

		if (is_shown(table, i))
			width += columns + (i > 0);
	}
	return width;
}

static void leave_out(struct summary_table *table)
{
	int turn = 1;
	size_t i;

	while (table->width && columns_of(table) > table->width) {
		for (i = 0; table->columns[i].head; i++)
			if (table->columns[i].gives_way == turn)
				break;
		if (!table->columns[i].head)
			break;
		table->left_out |= 1u << i;
		turn++;
	}
}

static void append_cell(struct string *out, int width, const char *text)
{
	const size_t columns = wrap_width(text, strlen(text));

	if (width > 0 && columns < (size_t)width)
		string_pad(out, out->length + (size_t)width - columns);
	string_append_text(out, text);
	if (width < 0 && columns < (size_t)-width)
		string_pad(out, out->length + (size_t)-width - columns);
}

/* `cells` NULL: the headings. */
static void append_row(const struct summary_table *table, const char *const *cells)
{
	struct string *out = table->out;
	const size_t begin = out->length;
	const char *gap = "";
	size_t i;

	string_pad(out, out->length + INDENT);
	for (i = 0; table->columns[i].head; i++) {
		if (!is_shown(table, i))
			continue;
		string_append_text(out, gap);
		append_cell(out,
			    is_last(table, i) && table->columns[i].width < 0 ?
				    0 :
				    table->columns[i].width,
			    cells ? cells[i] : table->columns[i].head);
		gap = " ";
	}
	while (out->length > begin && out->bytes[out->length - 1] == ' ')
		out->length--;
	if (table->width)
		wrap_cut(out, begin, table->width);
	string_append_char(out, '\n');
}

void summary_table_begin(struct summary_table *table, struct string *out, size_t width,
			 const struct summary_column *columns)
{
	*table = (struct summary_table){ .out = out, .width = width, .columns = columns };
	leave_out(table);
	append_row(table, NULL);
}

void summary_table_row(const struct summary_table *table, const char *const *cells)
{
	append_row(table, cells);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void append_wrapped(struct string *out, const char *line, size_t length, size_t width)
{
	size_t indent = 0, next;

	while (indent + wrap_width(line, length) > width) {
		const size_t fits = wrap_line(line, length, width - indent, &next);

		string_pad(out, out->length + indent);
		string_append(out, line, fits);
		string_append_char(out, '\n');
		line += next;
		length -= next;
		indent = HANGING;
	}
	string_pad(out, out->length + indent);
	string_append(out, line, length);
}

void summary_table_wrap(struct string *out, size_t begin, size_t width)
{
	struct string whole = { 0 };
	size_t place = begin;

	if (width <= 2 * HANGING || out->failed)
		return;
	while (place < out->length) {
		const char *end = memchr(out->bytes + place, '\n', out->length - place);
		const size_t length =
			end ? (size_t)(end - out->bytes) - place : out->length - place;

		append_wrapped(&whole, out->bytes + place, length, width);
		string_append_text(&whole, end ? "\n" : "");
		place += length + (end != NULL);
	}
	out->length = begin;
	string_append(out, whole.bytes, whole.length);
	out->failed |= whole.failed;
	string_fini(&whole);
}
