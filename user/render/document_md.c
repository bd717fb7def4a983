// SPDX-License-Identifier: BSD-2-Clause
#include "render/document_md.h"

#include <ctype.h>

static struct string *out_of(struct document *document)
{
	return ((struct document_md *)document)->out;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Whether it would be something else than text in Markdown, a table or a link finder. */
static bool is_active(const char *text, size_t length, size_t i)
{
	switch (text[i]) {
	case '_': /* inside of a word it is nothing special */
		return !i || i + 1 == length || !isalnum((unsigned char)text[i - 1]) ||
		       !isalnum((unsigned char)text[i + 1]);
	case ':': /* some renderers make links of addresses */
		return i + 1 < length && text[i + 1] == '/';
	case '\\':
	case '`':
	case '*':
	case '[':
	case ']':
	case '<':
	case '>':
	case '|':
	case '~':
	case '&':
	case '!':
	case '#':
	case '$':
		return true;
	}
	return false;
}

static void append_text(struct string *out, const char *text, size_t length)
{
	bool in_code = false, in_cite = false;
	size_t i;

	for (i = 0; i < length; i++) {
		switch (text[i]) {
		case DOCUMENT_MARK_STRONG:
		case DOCUMENT_MARK_PLAIN:
			string_append_text(out, "**");
			break;
		case DOCUMENT_MARK_CODE:
		case DOCUMENT_MARK_COMMAND:
			in_code = !in_code;
			string_append_char(out, '`');
			break;
		case DOCUMENT_MARK_CITE:
			in_cite = !in_cite;
			string_append_char(out, in_cite ? '[' : ']');
			break;
		default:
			if (!in_code && is_active(text, length, i))
				string_append_char(out, '\\');
			string_append_char(out, text[i]);
		}
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void heading(struct document *document, int level, const char *name, const char *text,
		    size_t length)
{
	struct string *out = out_of(document);

	(void)name;
	string_append_text(out, level > 1 ? "\n" : "");
	for (; level; level--)
		string_append_char(out, '#');
	string_append_char(out, ' ');
	append_text(out, text, length);
	string_append_char(out, '\n');
	((struct document_md *)document)->items = 0;
}

static void block(struct document *document, enum document_block kind, const char *text,
		  size_t length)
{
	struct document_md *md = (struct document_md *)document;
	struct string *out = out_of(document);

	if (kind == DOCUMENT_PARAGRAPH)
		md->items = 0;
	else
		md->items++;
	if (md->items < 2)
		string_append_char(out, '\n');
	if (kind == DOCUMENT_ITEM)
		string_append_text(out, "* ");
	else if (kind == DOCUMENT_STEP)
		string_append_format(out, "%zu. ", md->items);
	append_text(out, text, length);
	string_append_char(out, '\n');
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void table(struct document *document, const struct document_table *table)
{
	const struct document_column *column;
	struct string *out = out_of(document);

	((struct document_md *)document)->items = 0;
	string_append_text(out, "\n|"); /* the caption is in the text above */
	for (column = table->columns; column->name; column++) {
		if (column->kind & DOCUMENT_OBVIOUS)
			string_append_text(out, " |");
		else
			string_append_format(out, " %s |", column->name);
	}
	string_append_text(out, "\n|");
	for (column = table->columns; column->name; column++)
		string_append_text(out, column->kind & DOCUMENT_NUMBER ? "--:|" : "---|");
	string_append_char(out, '\n');
}

static void row(struct document *document)
{
	string_append_char(out_of(document), '|');
}

static void cell(struct document *document, const struct document_cell *cell)
{
	struct string *out = out_of(document);

	string_append_text(out, cell->absent ? "" : cell->strong ? " **" : " ");
	append_text(out, cell->text, cell->length);
	string_append_text(out, cell->strong ? "** |" : " |");
}

static void row_end(struct document *document)
{
	string_append_char(out_of(document), '\n');
}

static void table_end(struct document *document, size_t left_out)
{
	if (left_out)
		string_append_format(out_of(document), "\n%zu more.\n", left_out);
}

void document_md_init(struct document_md *md, struct string *out, size_t top)
{
	static const struct document_format format = {
		.heading = heading,
		.block = block,
		.table = table,
		.row = row,
		.cell = cell,
		.row_end = row_end,
		.table_end = table_end,
		.emphasis = "bold",
	};

	*md = (struct document_md){ .document = { .format = &format, .top = top }, .out = out };
}

void document_md_fini(struct document_md *md)
{
	md->out->failed |= md->document.failed;
	document_fini(&md->document);
}
