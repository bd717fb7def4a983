// SPDX-License-Identifier: BSD-2-Clause
#include "agent/web_yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NOT_THIS_YAML "only lines \"name: value\" are understood here, and lines beneath \"name:\""

struct reader {
	size_t indents[WEB_YAML_DEPTH]; /* of the mappings that the line is in */
	size_t depth;                   /* of them */
	bool may_go_deeper;             /* the last name has had no value */
	struct web_yaml_value value;
};

/* Takes a text in quotes, whose first one it begins with. Returns what is behind it, or NULL. */
static char *take_quoted(char *at)
{
	const char quote = *at;
	char *to = at;

	for (at++; *at; at++) {
		const bool in_double = quote == '"';

		if (in_double && *at == '\\' && at[1] != '"' && at[1] != '\\')
			return NULL;
		if (*at == quote && (in_double || at[1] != quote))
			break;
		if (*at == quote || (in_double && *at == '\\'))
			at++;
		*to++ = *at;
	}
	if (*at != quote)
		return NULL;
	*to = '\0';
	return at + 1;
}

static char *skip_blanks(char *at)
{
	return at + strspn(at, " ");
}

static bool is_end(const char *at)
{
	return !*at || *at == '#';
}

/* What ends a plain scalar is not a part of it: a comment, and blanks. */
static void end_plain(char *at)
{
	char *end = at;

	for (; *at && !(*at == '#' && at[-1] == ' '); at++)
		if (*at != ' ')
			end = at + 1;
	*end = '\0';
}

static const char *take_value(struct web_yaml_value *value, char *at)
{
	value->text = NULL;
	if (is_end(at))
		return NULL;
	value->text = at;
	if (*at == '"' || *at == '\'') {
		at = take_quoted(at);
		return !at || !is_end(skip_blanks(at)) ? "the text in quotes does not end" : NULL;
	}
	if (strchr("[]{}&*!|>%@`,?-", *at))
		return NOT_THIS_YAML;
	end_plain(at);
	return NULL;
}

/* Takes the name, and returns what is behind its colon; NULL: there is none. */
static char *take_name(const char **name, char *at)
{
	char *colon;

	*name = at;
	if (*at == '"' || *at == '\'') {
		colon = take_quoted(at);
		colon = colon ? skip_blanks(colon) : NULL;
	} else if (strchr("[]{}&*!|>%@`,?-:#", *at)) {
		return NULL;
	} else {
		for (colon = at; *colon && !(*colon == ':' && (!colon[1] || colon[1] == ' '));)
			colon++;
	}
	if (!colon || *colon != ':')
		return NULL;
	*colon = '\0';
	return skip_blanks(colon + 1);
}

/* How deep the line is. Returns false if it is at no place where a line can be. */
static bool find_depth(struct reader *reader, size_t indent)
{
	size_t depth = reader->depth;

	if (reader->may_go_deeper && (!depth || indent > reader->indents[depth - 1])) {
		if (depth == WEB_YAML_DEPTH || (!depth && indent))
			return false;
		reader->indents[depth] = indent;
		reader->depth = depth + 1;
		return true;
	}
	while (depth && reader->indents[depth - 1] > indent)
		depth--;
	reader->depth = depth;
	return depth && reader->indents[depth - 1] == indent;
}

static const char *read_line(struct reader *reader, char *line,
			     const char *(*take)(void *, const struct web_yaml_value *),
			     void *context)
{
	char *at = skip_blanks(line);
	const size_t indent = (size_t)(at - line);
	const char *wrong;
	size_t i;

	if (is_end(at) || !strcmp(line, "---"))
		return NULL;
	if (*at == '\t')
		return "YAML has no tabs at the beginning of a line";
	if (!find_depth(reader, indent))
		return "its indentation is that of no line above it";
	at = take_name(&reader->value.names[reader->depth - 1], at);
	if (!at)
		return NOT_THIS_YAML;
	for (i = reader->depth; i < WEB_YAML_DEPTH; i++)
		reader->value.names[i] = "";
	wrong = take_value(&reader->value, at);
	reader->may_go_deeper = !reader->value.text;
	return wrong ? wrong : take(context, &reader->value);
}

const char *web_yaml_read(char *text, const char *(*take)(void *, const struct web_yaml_value *),
			  void *context, unsigned int *line)
{
	struct reader reader = { .may_go_deeper = true };
	const char *wrong = NULL;
	char *next;

	for (*line = 0; !wrong && text; text = next) {
		next = strchr(text, '\n');
		if (next) {
			*next = '\0';
			if (next > text && next[-1] == '\r')
				next[-1] = '\0';
			next++;
		}
		reader.value.line = ++*line;
		wrong = read_line(&reader, text, take, context);
	}
	return wrong;
}
