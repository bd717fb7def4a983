// SPDX-License-Identifier: BSD-2-Clause
/*
 * What all HTML pages have alike: the frame, the style, the script and the policy that lets nothing
 * else run.
 */
#include "render/report_html.h"

#include <string.h>

#include "event/probe.h"
#include "render/json_writer.h"

/* The page's parts (render/html/assets.S), each ending with a zero byte. */
extern const char html_frame[], html_style[], html_script[], html_policy[];

/* The functions that do something of a kind. */
static void put_functions(struct json *json, uint32_t op)
{
	uint32_t row;

	json_name(json, probe_op_name(op));
	json_open(json, '[');
	for (row = 0; row < probe_count(); row++)
		if (probe_at(row)->spec.op == op)
			json_text(json, probe_at(row)->symbol, strlen(probe_at(row)->symbol));
	json_close(json, ']');
}

/* What the script has to know of the program's own vocabulary. */
static void append_words(struct html *html)
{
	struct json json = { .out = html->out, .escapes_html = true };
	uint32_t i;

	json_open(&json, '{');
	json_name(&json, "on_device");
	json_open(&json, '[');
	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (usage_is_on_device(i))
			json_text(&json, probe_space_name(i), strlen(probe_space_name(i)));
	json_close(&json, ']');
	json_name(&json, "nvml_shares");
	json_open(&json, '{');
	for (i = 0; i < NVML_SHARES_COUNT; i++)
		json_put_text(&json, nvml_share_name(i), nvml_share_description(i));
	json_close(&json, '}');
	json_name(&json, "functions");
	json_open(&json, '{');
	for (i = 0; i < MS_OPS_COUNT; i++)
		put_functions(&json, i);
	json_close(&json, '}');
	json_close(&json, '}');
}

static bool is_part(const char *part, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(part, name, length);
}

static void append_part(struct html *html, const struct html_page *page, const char *part,
			size_t length)
{
	const struct {
		const char *name;
		void (*append)(struct html *html);
	} parts[] = {
		{ "title", page->title }, { "contents", page->contents },
		{ "body", page->body },   { "report", page->report },
		{ "lanes", page->lanes }, { "words", append_words },
	};
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "policy", html_policy },
		{ "style", html_style },
		{ "script", html_script },
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (is_part(part, length, parts[i].name))
			parts[i].append(html);
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (is_part(part, length, texts[i].name))
			string_append_text(html->out, texts[i].text);
}

void html_page_write(struct html *html, const struct html_page *page)
{
	const char *place = html_frame, *begin, *end;

	while ((begin = strstr(place, "{{")) && (end = strstr(begin, "}}"))) {
		string_append(html->out, place, begin - place);
		append_part(html, page, begin + 2, end - begin - 2);
		place = end + 2;
	}
	string_append_text(html->out, place);
	html->out->failed |= html->scratch.failed;
	string_fini(&html->scratch);
}
