// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_md.h"

#include "render/diff_document.h"
#include "render/diff_words.h"
#include "render/report_md.h"

struct page {
	struct diff_drawing drawing;
	struct string *out;
};

static struct string *out_of(struct diff_drawing *drawing)
{
	return ((struct page *)drawing)->out;
}

static void heading(struct diff_drawing *drawing, const char *name, const char *text)
{
	(void)name;
	string_append_format(out_of(drawing), "\n## %s\n", text);
}

static void paragraph(struct diff_drawing *drawing, const char *text, size_t length)
{
	string_append_char(out_of(drawing), '\n');
	md_escaped(out_of(drawing), text, length);
	string_append_char(out_of(drawing), '\n');
}

static void table(struct diff_drawing *drawing, const char *name, const char *caption,
		  const struct diff_column *columns)
{
	struct string *out = out_of(drawing);
	size_t i;

	(void)name;
	(void)caption; /* the heading says it */
	string_append_text(out, "\n|");
	for (i = 0; columns[i].name; i++)
		string_append_format(out, " %s |", columns[i].name);
	string_append_text(out, "\n|");
	for (i = 0; columns[i].name; i++)
		string_append_text(out, columns[i].number ? "--:|" : "---|");
	string_append_char(out, '\n');
}

static void row(struct diff_drawing *drawing)
{
	string_append_char(out_of(drawing), '|');
}

static void cell(struct diff_drawing *drawing, const struct diff_cell *cell)
{
	struct string *out = out_of(drawing);

	string_append_text(out, cell->strong ? " **" : " ");
	md_escaped(out, cell->text, cell->length);
	string_append_text(out, cell->strong ? "** |" : " |");
}

static void row_end(struct diff_drawing *drawing)
{
	string_append_char(out_of(drawing), '\n');
}

static void table_end(struct diff_drawing *drawing, size_t left_out)
{
	if (left_out)
		string_append_format(out_of(drawing), "\n%zu more.\n", left_out);
}

void diff_md(struct string *out, const struct diff *diff, size_t top)
{
	struct page page = {
		.drawing = { .heading = heading,
			     .paragraph = paragraph,
			     .table = table,
			     .row = row,
			     .cell = cell,
			     .row_end = row_end,
			     .table_end = table_end,
			     .top = top },
		.out = out,
	};
	struct verdict verdict;

	string_append_text(out, "# GPU memory: what changed\n\n");
	diff_verdict(&verdict, diff);
	verdict_md(out, &verdict);
	verdict_fini(&verdict);
	diff_document_tables(&page.drawing, diff);
	out->failed |= page.drawing.failed;
}
