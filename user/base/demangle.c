// SPDX-License-Identifier: BSD-2-Clause
#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

#define LONG_NAME 120      /* bytes; up to that, all of it is shown */
#define NO_MEMORY (-1)     /* of __cxa_demangle() */
#define MANGLED_BYTES 2048 /* longer ones are shown as they are, as far as they go */
#define SHOWN_BYTES 512

/* A function of the C++ runtime (Itanium C++ ABI, 3.4). */
char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

static bool is_mangled(const char *name)
{
	return name[0] == '_' && name[1] == 'Z';
}

static bool ends_with(const char *name, const char *at, const char *end)
{
	const size_t length = strlen(end);

	return (size_t)(at - name) >= length && !memcmp(at - length, end, length);
}

/* Whether a bracket at `at` is a part of an operator's name: (), <, <<, <= ... */
static bool is_operator(const char *name, const char *at)
{
	return ends_with(name, at, "operator") || (*at == '<' && ends_with(name, at, "operator<"));
}

/* Where the bracket that opens at `at` closes, or the end. */
static const char *closing(const char *at)
{
	const char open = *at, close = open == '<' ? '>' : ')';
	int depth = 0;

	for (; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && at[-1] != '-' && !--depth)
			return at;
	}
	return at;
}

/* "(anonymous namespace)" and "{lambda(int)#1}" say what a function is; parameters do not. */
static bool is_dropped(const char *name, const char *at)
{
	if (is_operator(name, at))
		return false;
	return *at == '<' || (*at == '(' && strncmp(at, "(anonymous", 10) != 0);
}

void demangle_append_short(struct string *out, const char *name)
{
	const char *at = name;
	const size_t begin = out->length;

	if (strlen(name) <= LONG_NAME) {
		string_append_text(out, name);
		return;
	}
	for (; *at && out->length - begin < SHOWN_BYTES; at++) {
		if (!is_dropped(name, at)) {
			string_append_char(out, *at);
			continue;
		}
		string_append_text(out, *at == '<' ? "<...>" : "(...)");
		at = closing(at);
		if (!*at)
			break;
	}
}

void demangle_append(struct string *out, const char *name)
{
	const char *suffix = strstr(name, ".cold");
	char *demangled = NULL, *mangled = NULL;
	const bool wanted = is_mangled(name) && strlen(name) < MANGLED_BYTES;
	int status = 0;

	/* What a compiler has moved out of the way is a part of the function. */
	if (wanted)
		mangled = suffix ? strndup(name, suffix - name) : strdup(name);
	if (mangled)
		demangled = __cxa_demangle(mangled, NULL, NULL, &status);
	out->failed |= (wanted && !mangled) || status == NO_MEMORY;
	demangle_append_short(out, demangled ? demangled : name);
	free(demangled);
	free(mangled);
}

const char *demangle_base(const char *name, size_t length, size_t *base_length)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t begin = 0, end = 0, depth = 0, i;

	for (i = 0; i < length; i++) {
		if (length - i >= strlen(anonymous) &&
		    !memcmp(name + i, anonymous, strlen(anonymous)))
			i += strlen(anonymous) - 1;
		else if (!depth && name[i] == '(')
			break;
		else if (!depth && (name[i] == ':' || name[i] == ' '))
			begin = end = i + 1;
		else if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && depth)
			depth--;
		else if (!depth)
			end = i + 1;
	}
	if (end <= begin) {
		begin = 0;
		end = length;
	}
	*base_length = end - begin;
	return name + begin;
}
