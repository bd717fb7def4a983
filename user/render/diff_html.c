// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_html.h"

#include <stdio.h>
#include <string.h>

#include "render/diff_document.h"
#include "render/diff_words.h"
#include "render/report_html.h"

#define NAME_BYTES 32

struct page {
	struct html html; /* first */
	const struct diff *diff;
	size_t top;
};

struct drawing {
	struct diff_drawing drawing; /* first */
	struct html *html;
	const struct diff_column *column; /* of the next cell */
	struct diff_column columns[16];
	bool in_section;
};

/* ---- tables ---------------------------------------------------------------------------------- */

static struct drawing *drawing_of(struct diff_drawing *drawing)
{
	return (struct drawing *)drawing;
}

static void close_section(struct drawing *drawing)
{
	if (drawing->in_section)
		html_section_end(drawing->html);
	drawing->in_section = false;
}

static void heading(struct diff_drawing *drawing, const char *name, const char *text)
{
	close_section(drawing_of(drawing));
	html_section(drawing_of(drawing)->html, name, text);
	drawing_of(drawing)->in_section = true;
}

static void paragraph(struct diff_drawing *drawing, const char *text, size_t length)
{
	struct html *html = drawing_of(drawing)->html;

	string_append_text(html->out, "<p class=\"note\">");
	html_escape(html, text, length);
	string_append_text(html->out, "</p>\n");
}

static void table(struct diff_drawing *drawing, const char *name, const char *caption,
		  const struct diff_column *columns)
{
	struct drawing *of = drawing_of(drawing);
	struct html_column heads[16] = { 0 };
	char id[NAME_BYTES];
	size_t i;

	memset(of->columns, 0, sizeof(of->columns));
	for (i = 0; columns[i].name && i + 1 < sizeof(heads) / sizeof(*heads); i++) {
		of->columns[i] = columns[i];
		heads[i] = (struct html_column){ columns[i].name, columns[i].number };
	}
	snprintf(id, sizeof(id), "%s-table", name);
	html_table(of->html, id, caption, heads);
}

static void row(struct diff_drawing *drawing)
{
	html_row(drawing_of(drawing)->html);
	drawing_of(drawing)->column = drawing_of(drawing)->columns;
}

static void cell(struct diff_drawing *drawing, const struct diff_cell *cell)
{
	struct drawing *of = drawing_of(drawing);
	struct html *html = of->html;

	string_append_text(html->out, of->column->number ? "<td class=\"n\"" : "<td");
	if (cell->sorted)
		string_append_format(html->out, " data-v=\"%lld\"", (long long)cell->value);
	if (cell->exact)
		string_append_format(html->out, " title=\"%s bytes\"", cell->exact);
	string_append_text(html->out, cell->strong ? "><strong>" : ">");
	html_escape(html, cell->text, cell->length);
	string_append_text(html->out, cell->strong ? "</strong></td>" : "</td>");
	of->column++;
}

static void row_end(struct diff_drawing *drawing)
{
	html_row_end(drawing_of(drawing)->html);
}

static void table_end(struct diff_drawing *drawing, size_t left_out)
{
	struct html *html = drawing_of(drawing)->html;

	html_table_end(html);
	if (left_out)
		string_append_format(html->out, "<p class=\"note\">%zu more.</p>\n", left_out);
}

/* ---- the page -------------------------------------------------------------------------------- */

static const struct diff *diff_of(const struct html *html)
{
	return ((const struct page *)html)->diff;
}

/* The colour of the verdict, and its heading. */
struct grade {
	const char *class, *title;
};

/* No difference is no good news if what would show one may be missing. */
static struct grade grade_of(const struct diff *diff)
{
	if (diff_is_worse(diff))
		return (struct grade){ "bad", "Something new is wrong" };
	if (diff_differs(diff))
		return (struct grade){ "warn", "What changed" };
	if (diff_has_losses(diff->a) || diff_has_losses(diff->b))
		return (struct grade){ "warn", "No change beyond noise in what was recorded" };
	if (diff_is_inexact(diff->a) || diff_is_inexact(diff->b))
		return (struct grade){ "warn", "No change beyond noise, but not all is exact" };
	return (struct grade){ "good", "Nothing changed beyond noise" };
}

static void append_verdict(struct html *html)
{
	const struct diff *diff = diff_of(html);
	const struct grade grade = grade_of(diff);
	struct verdict verdict;

	diff_verdict(&verdict, diff);
	verdict_html(html, grade.class, grade.title, &verdict);
	verdict_fini(&verdict);
	string_append_text(html->out, "</section>\n");
}

static void append_body(struct html *html)
{
	struct drawing drawing = {
		.drawing = { .heading = heading,
			     .paragraph = paragraph,
			     .table = table,
			     .row = row,
			     .cell = cell,
			     .row_end = row_end,
			     .table_end = table_end,
			     .top = ((const struct page *)html)->top },
		.html = html,
	};

	append_verdict(html);
	string_append_text(html->out,
			   "<noscript><p class=\"note\">Sorting and filtering need JavaScript;"
			   " everything is below.</p></noscript>\n<div class=\"changes\">\n");
	heading(&drawing.drawing, "compared", "What is compared");
	diff_document_tables(&drawing.drawing, diff_of(html));
	close_section(&drawing);
	string_append_text(html->out, "</div>\n");
	html->out->failed |= drawing.drawing.failed;
}

static void append_hosts(struct html *html, const struct report *side)
{
	if (side->count > 1)
		string_append_format(html->out, "%zu recordings", side->count);
	else
		html_text_or(html, side->recordings[0]->coverage.host, "unknown host");
}

static void append_title(struct html *html)
{
	string_append_text(html->out, "GPU memory, what changed: ");
	append_hosts(html, diff_of(html)->a);
	string_append_text(html->out, " and ");
	append_hosts(html, diff_of(html)->b);
}

static void append_contents(struct html *html)
{
	string_append_text(html->out, "<p>What changed from A to B</p>");
}

/* There are no charts. */
static void append_report(struct html *html)
{
	string_append_text(html->out, "{\"recordings\":[]}");
}

static void append_lanes(struct html *html)
{
	string_append_text(html->out, "[]");
}

void diff_html(struct string *out, const struct diff *diff, size_t top)
{
	static const struct html_page page = { .title = append_title,
					       .contents = append_contents,
					       .body = append_body,
					       .report = append_report,
					       .lanes = append_lanes };
	struct page of = { .html = { .out = out, .report = diff->a }, .diff = diff, .top = top };

	html_page_write(&of.html, &page);
}
