// SPDX-License-Identifier: BSD-2-Clause
#include "render/json_writer.h"

#include <string.h>

static void separate(struct json *json)
{
	if (json->comma)
		string_append_char(json->out, ',');
	json->comma = true;
}

void json_open(struct json *json, char bracket)
{
	separate(json);
	string_append_char(json->out, bracket);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	string_append_char(json->out, bracket);
	json->comma = true;
}

/* In one piece: there are dozens in an event. */
static void append_quoted(struct json *json, const char *text, size_t length, bool is_name)
{
	char *place = string_extend(json->out, json->comma + length + 2 + is_name);

	if (!place)
		return;
	if (json->comma)
		*place++ = ',';
	*place++ = '"';
	memcpy(place, text, length);
	place[length] = '"';
	if (is_name)
		place[length + 1] = ':';
	json->comma = !is_name;
}

void json_name(struct json *json, const char *name)
{
	append_quoted(json, name, strlen(name), true);
}

void json_null(struct json *json)
{
	separate(json);
	string_append(json->out, "null", 4);
}

void json_bool(struct json *json, bool value)
{
	separate(json);
	string_append_text(json->out, value ? "true" : "false");
}

void json_u64(struct json *json, uint64_t value)
{
	separate(json);
	string_append_u64(json->out, value);
}

void json_i64(struct json *json, int64_t value)
{
	separate(json);
	string_append_i64(json->out, value);
}

void json_hex(struct json *json, uint64_t value)
{
	separate(json);
	string_append_char(json->out, '"');
	string_append_hex(json->out, value);
	string_append_char(json->out, '"');
}

/* One character: <, >, & and the line and paragraph separators, U+2028 and U+2029. */
static bool is_special_in_html(const unsigned char *text, size_t length)
{
	if (length == 3)
		return text[0] == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8;
	return text[0] == '<' || text[0] == '>' || text[0] == '&';
}

static void append_escaped_html(struct string *out, const unsigned char *text, size_t length)
{
	string_append_format(out, "\\u%04x", length == 1 ? text[0] : 0x2028 + (text[2] & 1));
}

static void append_escaped(struct string *out, const unsigned char *text, size_t length)
{
	switch (text[0]) {
	case '"':
		string_append(out, "\\\"", 2);
		return;
	case '\\':
		string_append(out, "\\\\", 2);
		return;
	case '\n':
		string_append(out, "\\n", 2);
		return;
	case '\t':
		string_append(out, "\\t", 2);
		return;
	}
	if (text[0] < 0x20 || text[0] == 0x7f)
		string_append_format(out, "\\u%04x", text[0]);
	else
		string_append(out, (const char *)text, length);
}

/* Printable ASCII, but for quote, backslash and what HTML minds. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

/* How many characters from `text` on need no care. */
static size_t plain_length(const unsigned char *text, const unsigned char *end)
{
	const unsigned char *place = text;

	while (place < end && is_plain(*place))
		place++;
	return place - text;
}

void json_text(struct json *json, const char *text, size_t length)
{
	/* An empty text may be nowhere, where not even 0 can be added. */
	const unsigned char *place = (const unsigned char *)(length ? text : "");
	const unsigned char *end = place + length;

	if (plain_length(place, end) == length) {
		append_quoted(json, (const char *)place, length, false);
		return;
	}
	separate(json);
	string_append_char(json->out, '"');
	while (place < end) {
		size_t step = plain_length(place, end);

		string_append(json->out, (const char *)place, step);
		place += step;
		if (place == end)
			break;
		step = string_utf8_length(place, end - place);
		if (step && json->escapes_html && is_special_in_html(place, step)) {
			append_escaped_html(json->out, place, step);
		} else if (step) {
			append_escaped(json->out, place, step);
		} else {
			string_append_text(json->out, "\\ufffd");
			step = 1;
		}
		place += step;
	}
	string_append_char(json->out, '"');
}

void json_put_text(struct json *json, const char *name, const char *text)
{
	json_name(json, name);
	if (text)
		json_text(json, text, strlen(text));
	else
		json_null(json);
}

void json_put_u64(struct json *json, const char *name, uint64_t value)
{
	json_name(json, name);
	json_u64(json, value);
}

void json_put_if(struct json *json, const char *name, bool known, uint64_t value)
{
	json_name(json, name);
	if (known)
		json_u64(json, value);
	else
		json_null(json);
}

void json_put_bool(struct json *json, const char *name, bool value)
{
	json_name(json, name);
	json_bool(json, value);
}
