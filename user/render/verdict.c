// SPDX-License-Identifier: BSD-2-Clause
#include "render/verdict.h"

#include <assert.h>

#include "render/document.h"
#include "render/json_writer.h"
#include "render/report_html.h"

struct string *verdict_sentence(struct verdict *verdict)
{
	assert(verdict->count < VERDICT_MAX);
	return &verdict->sentences[verdict->count++];
}

void verdict_fini(struct verdict *verdict)
{
	size_t i;

	for (i = 0; i < VERDICT_MAX; i++)
		string_fini(&verdict->sentences[i]);
}

void verdict_document(struct document *document, const struct verdict *verdict)
{
	size_t i;

	for (i = 0; i < verdict->count; i++) {
		const struct string *sentence = &verdict->sentences[i];

		string_append_text(&document->text, i ? " " : "");
		string_append(&document->text, sentence->bytes, sentence->length);
		document->failed |= sentence->failed;
	}
	document_paragraph(document);
}

void verdict_json(struct json *json, const struct verdict *verdict)
{
	size_t i;

	json_name(json, "verdict");
	json_open(json, '[');
	for (i = 0; i < verdict->count; i++) {
		json_text(json, verdict->sentences[i].bytes, verdict->sentences[i].length);
		json->out->failed |= verdict->sentences[i].failed;
	}
	json_close(json, ']');
}

void verdict_html(struct html *html, const char *grade, const char *title,
		  const struct verdict *verdict)
{
	size_t i;

	string_append_format(html->out,
			     "<section class=\"verdict %s\" id=\"verdict\""
			     " aria-labelledby=\"verdict-h\">\n<h1 id=\"verdict-h\">%s</h1>\n",
			     grade, title);
	for (i = 0; i < verdict->count; i++) {
		const struct string *sentence = &verdict->sentences[i];

		string_append_text(html->out, i ? "<p>" : "<p class=\"lead\">");
		html_escape(html, sentence->bytes, sentence->length);
		string_append_text(html->out, "</p>\n");
		html->out->failed |= sentence->failed;
	}
}
