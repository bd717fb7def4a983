// SPDX-License-Identifier: BSD-2-Clause
/*
 * What HTML pages are made of: escaped text, sections, lists.
 */
#include "render/report_html.h"

#include <string.h>

#include "render/field.h"
#include "render/report_words.h"

/* ---- text ------------------------------------------------------------------------------------ */

void html_escape(struct html *html, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		switch (text[i]) {
		case '&':
			string_append_text(html->out, "&amp;");
			break;
		case '<':
			string_append_text(html->out, "&lt;");
			break;
		case '>':
			string_append_text(html->out, "&gt;");
			break;
		case '"':
			string_append_text(html->out, "&quot;");
			break;
		case '\'':
			string_append_text(html->out, "&#39;");
			break;
		default:
			string_append_char(html->out, text[i]);
		}
	}
}

void html_words(struct html *html, const char *text)
{
	html_escape(html, text, strlen(text));
}

void html_flush(struct html *html)
{
	html_escape(html, html->scratch.bytes, html->scratch.length);
	html->out->failed |= html->scratch.failed;
	string_clear(&html->scratch);
}

void html_text(struct html *html, const char *text, size_t length)
{
	field_append_safe(&html->scratch, text, length);
	html_flush(html);
}

void html_text_or(struct html *html, const char *text, const char *otherwise)
{
	if (text)
		html_text(html, text, strlen(text));
	else
		html_words(html, otherwise);
}

void html_process(struct html *html, uint32_t pid, const char *name)
{
	report_append_process(&html->scratch, pid, name);
	html_flush(html);
}

static void append_offset(struct html *html, uint64_t ts_ns)
{
	const uint64_t begin_ns = report_begin_ns(html->recording);

	if (ts_ns < begin_ns)
		string_append_format(html->out, "-%.3f s", (double)(begin_ns - ts_ns) / 1e9);
	else
		string_append_format(html->out, "+%.3f s", (double)(ts_ns - begin_ns) / 1e9);
}

void html_time(struct html *html, uint64_t ts_ns)
{
	append_offset(html, ts_ns);
	if (!html->recording->coverage.wall_known)
		return;
	string_append_text(html->out, " (");
	report_append_time(html->out, html->recording, ts_ns);
	string_append_char(html->out, ')');
}

void html_value(struct html *html, enum finding_unit unit, uint64_t value)
{
	if (unit == FINDING_TIME) {
		html_time(html, value);
		return;
	}
	report_append_value(&html->scratch, html->recording, unit, value);
	html_flush(html);
}

/* ---- sections -------------------------------------------------------------------------------- */

void html_section(struct html *html, const char *name, const char *heading)
{
	const char *level = html->number ? "h3" : "h2"; /* of a recording, or of the whole */

	string_append_format(html->out,
			     "<section class=\"%s\" id=\"r%zu-%s\" aria-labelledby=\"r%zu-%s-h\">\n"
			     "<%s id=\"r%zu-%s-h\">",
			     name, html->number, name, html->number, name, level, html->number,
			     name);
	html_words(html, heading);
	string_append_format(html->out, "</%s>\n", level);
}

void html_section_end(struct html *html)
{
	string_append_text(html->out, "</section>\n");
}

void html_list(struct html *html, const struct string *lines, const char *otherwise)
{
	const char *place, *end;

	string_append_text(html->out, "<ul>\n");
	for (place = lines->bytes; place && place < lines->bytes + lines->length; place = end + 1) {
		end = memchr(place, '\n', lines->bytes + lines->length - place);
		if (!end)
			break;
		string_append_text(html->out, "<li>");
		html_escape(html, place, end - place);
		string_append_text(html->out, "</li>\n");
	}
	if (!lines->length)
		string_append_format(html->out, "<li>%s</li>\n", otherwise);
	string_append_text(html->out, "</ul>\n");
	html->out->failed |= lines->failed;
}
