// SPDX-License-Identifier: BSD-2-Clause
#include "render/document_text.h"

#include <stdio.h>
#include <string.h>

#define LEAST_WIDTH 20  /* a terminal that is narrower breaks lines itself */
#define PROSE_WIDTH 100 /* longer lines are hard to read; tables may be wider */
#define MARK_BYTES 16
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static struct document_text *of(struct document *document)
{
	return (struct document_text *)document;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* In lines that begin below each other; the first has `mark` before it. */
static void append_wrapped(struct document_text *text, const char *mark, const char *bytes,
			   size_t length)
{
	const size_t indent = strlen(mark), width = text->document.width - indent;
	size_t next;

	string_append_text(text->out, mark);
	do {
		const size_t taken = wrap_line(bytes, length, width, &next);

		wrap_append(text->out, bytes, taken, &text->options.look);
		string_append_char(text->out, '\n');
		bytes += next;
		length -= next;
		if (length)
			string_append_format(text->out, "%*s", (int)indent, "");
	} while (length);
}

static void heading(struct document *document, int level, const char *name, const char *bytes,
		    size_t length)
{
	struct document_text *text = of(document);
	const bool colour = text->options.look.colour;
	size_t width = wrap_width(bytes, length);

	(void)name;
	text->items = 0;
	width = width < document->width ? width : document->width;
	string_append_text(text->out, level > 1 ? "\n" : "");
	string_append_text(text->out, colour ? BOLD : "");
	append_wrapped(text, "", bytes, length);
	string_append_text(text->out, colour ? PLAIN : "");
	while (width--)
		string_append_char(text->out, level > 2 ? '-' : '=');
	string_append_char(text->out, '\n');
}

static void block(struct document *document, enum document_block kind, const char *bytes,
		  size_t length)
{
	struct document_text *text = of(document);
	char mark[MARK_BYTES] = "";

	text->items = kind == DOCUMENT_PARAGRAPH ? 0 : text->items + 1;
	if (text->items < 2)
		string_append_char(text->out, '\n');
	if (kind == DOCUMENT_ITEM)
		strcpy(mark, "  * ");
	else if (kind == DOCUMENT_STEP)
		snprintf(mark, sizeof(mark), "%3zu. ", text->items);
	append_wrapped(text, mark, bytes, length);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void table(struct document *document, const struct document_table *table)
{
	of(document)->items = 0;
	columns_begin(&of(document)->columns, table->columns);
}

static void row(struct document *document)
{
	(void)document;
}

static void cell(struct document *document, const struct document_cell *cell)
{
	const char *text = cell->brief ? cell->brief : cell->text;

	columns_add(&of(document)->columns, text, cell->brief ? strlen(text) : cell->length,
		    cell->strong);
}

static void row_end(struct document *document)
{
	(void)document;
}

static void table_end(struct document *document, size_t left_out)
{
	struct document_text *text = of(document);

	string_append_char(text->out, '\n');
	columns_draw(&text->columns, text->out, text->options.width, &text->options.look);
	if (left_out)
		string_append_format(text->out, "  %zu more.\n", left_out);
}

void document_text_init(struct document_text *text, struct string *out, size_t top,
			const struct document_text_options *options)
{
	static const struct document_format format = {
		.heading = heading,
		.block = block,
		.table = table,
		.row = row,
		.cell = cell,
		.row_end = row_end,
		.table_end = table_end,
		.emphasis = "marked with *",
	};

	*text = (struct document_text){ .document = { .format = &format, .top = top },
					.out = out,
					.options = *options };
	text->document.ascii = options->look.ascii;
	if (text->options.width < LEAST_WIDTH)
		text->options.width = LEAST_WIDTH;
	text->document.width =
		text->options.width < PROSE_WIDTH ? text->options.width : PROSE_WIDTH;
}

void document_text_fini(struct document_text *text)
{
	text->out->failed |= text->document.failed;
	columns_fini(&text->columns);
	document_fini(&text->document);
}
