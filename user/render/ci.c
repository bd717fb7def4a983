// SPDX-License-Identifier: BSD-2-Clause
#include "render/ci.h"

#include <stdlib.h>
#include <string.h>

/* ---- XML ------------------------------------------------------------------------------------- */

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&apos;";
	case '\n':
		return "&#10;";
	case '\t':
		return "&#9;";
	}
	return NULL;
}

/* XML has all characters that UTF-8 can have, but for most of those below a space, and two. */
static bool is_xml(const char *bytes, size_t length)
{
	if (length == 1)
		return (unsigned char)*bytes >= ' ';
	return length != 3 ||
	       (memcmp(bytes, "\xef\xbf\xbe", 3) != 0 && memcmp(bytes, "\xef\xbf\xbf", 3) != 0);
}

void ci_xml(struct string *out, const char *text, size_t length)
{
	size_t i = 0;

	while (i < length) {
		const char *entity = entity_of(text[i]);
		const size_t step = string_utf8_length(text + i, length - i);

		if (entity)
			string_append_text(out, entity);
		else if (step && is_xml(text + i, step))
			string_append(out, text + i, step);
		else
			string_append_format(out, "\\x%02x", (unsigned char)text[i]);
		i += !entity && step && is_xml(text + i, step) ? step : 1;
	}
}

void ci_xml_string(struct string *out, const struct string *text)
{
	ci_xml(out, text->bytes, text->length);
	out->failed |= text->failed;
}

/* ---- GitHub ---------------------------------------------------------------------------------- */

static void append_escaped(struct string *out, const char *text, size_t length, const char *special)
{
	size_t i;

	for (i = 0; i < length; i++) {
		const char c = text[i];

		if (c && strchr(special, c))
			string_append_format(out, "%%%02X", (unsigned char)c);
		else if ((unsigned char)c < ' ' && c != '\t')
			string_append_format(out, "\\x%02x", (unsigned char)c);
		else
			string_append_char(out, c);
	}
}

#define PROPERTY "%\r\n:,"

/* As the repository has it, if it is the one that GitHub has checked out. */
static const char *in_workspace(const char *path)
{
	const char *workspace = getenv("GITHUB_WORKSPACE");
	const size_t length = workspace ? strlen(workspace) : 0;

	return length && !strncmp(path, workspace, length) && path[length] == '/' ?
		       path + length + 1 :
		       path;
}

void ci_annotation(struct string *out, const char *level, const struct ci_line *at,
		   const struct string *title, const struct string *text)
{
	string_append_format(out, "::%s ", level);
	if (at) {
		const char *path = in_workspace(at->path);

		string_append_text(out, "file=");
		append_escaped(out, path, strlen(path), PROPERTY);
		string_append_format(out, ",line=%u,", at->line);
	}
	string_append_text(out, "title=");
	append_escaped(out, title->bytes, title->length, PROPERTY);
	string_append_text(out, "::");
	append_escaped(out, text->bytes, text->length, "%\r\n");
	string_append_char(out, '\n');
	out->failed |= title->failed || text->failed;
}
