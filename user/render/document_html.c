// SPDX-License-Identifier: BSD-2-Clause
#include "render/document_html.h"

#include <string.h>

static struct document_html *of(struct document *document)
{
	return (struct document_html *)document;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void append_cite(struct html *html, const char *text, size_t length, bool begins)
{
	size_t end = 0;

	if (!begins) {
		string_append_text(html->out, "</a>");
		return;
	}
	while (end < length && text[end] != DOCUMENT_MARK_CITE)
		end++;
	string_append_text(html->out, "<a href=\"#");
	html_escape(html, text, end);
	string_append_text(html->out, "\">");
}

static void append_text(struct html *html, const char *text, size_t length)
{
	bool in_code = false, in_cite = false;
	size_t i;

	for (i = 0; i < length; i++) {
		switch (text[i]) {
		case DOCUMENT_MARK_STRONG:
			string_append_text(html->out, "<strong>");
			break;
		case DOCUMENT_MARK_PLAIN:
			string_append_text(html->out, "</strong>");
			break;
		case DOCUMENT_MARK_CODE:
		case DOCUMENT_MARK_COMMAND:
			in_code = !in_code;
			string_append_text(html->out, in_code ? "<code>" : "</code>");
			break;
		case DOCUMENT_MARK_CITE:
			in_cite = !in_cite;
			append_cite(html, text + i + 1, length - i - 1, in_cite);
			break;
		default:
			html_escape(html, text + i, 1);
		}
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Goes on with a list of that kind, or with none. */
static void go_on(struct document *document, enum document_block kind)
{
	static const char *const begins[] = {
		[DOCUMENT_PARAGRAPH] = "",
		[DOCUMENT_ITEM] = "<ul>\n",
		[DOCUMENT_STEP] = "<ol>\n",
	};
	static const char *const ends[] = {
		[DOCUMENT_PARAGRAPH] = "",
		[DOCUMENT_ITEM] = "</ul>\n",
		[DOCUMENT_STEP] = "</ol>\n",
	};
	struct document_html *html = of(document);

	if (html->list == kind)
		return;
	string_append_text(html->html->out, ends[html->list]);
	string_append_text(html->html->out, begins[kind]);
	html->list = kind;
}

static void close_section(struct document *document)
{
	go_on(document, DOCUMENT_PARAGRAPH);
	if (of(document)->in_section)
		html_section_end(of(document)->html);
	of(document)->in_section = false;
}

/* Its level is that of the section that it is in. */
static void heading(struct document *document, int level, const char *name, const char *text,
		    size_t length)
{
	struct html *html = of(document)->html;
	struct string words = { 0 };

	(void)level;
	close_section(document);
	string_append(&words, text, length);
	string_append_char(&words, '\0');
	document->failed |= words.failed;
	html_section(html, name, words.failed ? "" : words.bytes);
	string_fini(&words);
	of(document)->in_section = true;
}

static void block(struct document *document, enum document_block kind, const char *text,
		  size_t length)
{
	struct html *html = of(document)->html;

	go_on(document, kind);
	string_append_text(html->out, kind ? "<li>" : "<p class=\"note\">");
	append_text(html, text, length);
	string_append_text(html->out, kind ? "</li>\n" : "</p>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_number(const struct document_column *column)
{
	return column->kind & (DOCUMENT_NUMBER | DOCUMENT_VALUE);
}

static void table(struct document *document, const struct document_table *table)
{
	const struct document_column *column;
	struct html *html = of(document)->html;

	go_on(document, DOCUMENT_PARAGRAPH);
	/* The section around it has its name. */
	string_append_format(html->out,
			     "<div class=\"table\">\n<table id=\"r%zu-%s%s\">\n<caption>",
			     html->number, table->name, of(document)->in_section ? "-table" : "");
	append_text(html, table->caption, strlen(table->caption));
	string_append_text(html->out, "</caption>\n<thead><tr>");
	for (column = table->columns; column->name; column++)
		string_append_format(html->out, "<th scope=\"col\"%s>%s</th>",
				     is_number(column) ? " class=\"n\"" : "", column->name);
	string_append_text(html->out, "</tr></thead>\n<tbody>\n");
}

static void row(struct document *document)
{
	string_append_text(of(document)->html->out, "<tr>");
	of(document)->column = document->columns;
}

static void open_cell(struct document *document, const struct document_cell *cell)
{
	const struct document_column *column = of(document)->column++;
	const bool is_address = column->kind & DOCUMENT_ADDRESS;
	struct html *html = of(document)->html;

	string_append_text(html->out, is_number(column) && is_address ? "<td class=\"n a\"" :
				      is_number(column)               ? "<td class=\"n\"" :
				      is_address                      ? "<td class=\"a\"" :
									"<td");
	if (cell->sorted)
		string_append_format(html->out, " data-v=\"%lld\"", (long long)cell->value);
	if (cell->exact)
		string_append_format(html->out, " title=\"%s bytes\"", cell->exact);
	if (cell->brief) {
		string_append_text(html->out, " title=\"");
		html_escape(html, cell->text, cell->length);
		string_append_char(html->out, '"');
	}
	string_append_char(html->out, '>');
}

/* Of a moment by the wall clock, the time of day; the title has its date, too. */
static void append_clock(struct html *html, const struct document_cell *cell)
{
	const char *clock = memchr(cell->text, 'T', cell->length);
	const size_t bytes = clock ? cell->text + cell->length - ++clock : 0;

	if (bytes < 2 || clock[bytes - 1] != 'Z')
		return;
	string_append_text(html->out, " <span class=\"clock\">");
	append_text(html, clock, bytes - 1);
	string_append_text(html->out, "</span>");
}

static void cell(struct document *document, const struct document_cell *cell)
{
	struct html *html = of(document)->html;

	open_cell(document, cell);
	if (cell->link)
		string_append_format(html->out, "<a href=\"#%s\">", cell->link);
	string_append_text(html->out, cell->strong ? "<strong>" : "");
	if (cell->brief) {
		html_words(html, cell->brief);
		append_clock(html, cell);
	} else {
		append_text(html, cell->text, cell->length);
	}
	string_append_text(html->out, cell->strong ? "</strong>" : "");
	string_append_text(html->out, cell->link ? "</a></td>" : "</td>");
}

static void row_end(struct document *document)
{
	string_append_text(of(document)->html->out, "</tr>\n");
}

static void table_end(struct document *document, size_t left_out)
{
	struct string *out = of(document)->html->out;
	size_t columns = 0;

	while (document->columns[columns].name)
		columns++;
	if (!document->rows)
		string_append_format(out, "<tr><td class=\"none\" colspan=\"%zu\">none</td></tr>\n",
				     columns);
	string_append_text(out, "</tbody>\n</table>\n</div>\n");
	if (left_out)
		string_append_format(out, "<p class=\"note\">%zu more.</p>\n", left_out);
}

void document_html_init(struct document_html *of, struct html *html, size_t top)
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
		.browsable = true,
	};

	*of = (struct document_html){ .document = { .format = &format, .top = top }, .html = html };
}

void document_html_fini(struct document_html *of)
{
	close_section(&of->document);
	of->html->out->failed |= of->document.failed;
	document_fini(&of->document);
}
