// SPDX-License-Identifier: BSD-2-Clause
#include "host/title.h"

#include <stdio.h>
#include <string.h>

#define RAY "ray::"
#define RAY_IDLE RAY "IDLE"
#define VARIOUS "(various)"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of "FRAMEWORK::", or 0. */
static size_t prefix_length(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length && (is_letter(text[i]) || (i && strchr("0123456789_-", text[i])));)
		i++;
	return i && i + 2 <= length && text[i] == ':' && text[i + 1] == ':' ? i + 2 : 0;
}

/* Without the method, and the brackets that older versions of Ray have behind a function. */
static size_t lasting_length(const char *text, size_t length)
{
	const size_t prefix = sizeof(RAY) - 1;
	const char *dot;

	if (length <= prefix || memcmp(text, RAY, prefix) != 0)
		return length;
	dot = memchr(text + prefix + 1, '.', length - prefix - 1);
	if (dot)
		return (size_t)(dot - text);
	if (length > prefix + 2 && !memcmp(text + length - 2, "()", 2))
		return length - 2;
	return length;
}

bool title_find(const char *arguments, size_t bytes, char title[TITLE_BYTES])
{
	const size_t whole = strnlen(arguments, bytes);
	const size_t prefix = prefix_length(arguments, whole);
	size_t length = lasting_length(arguments, whole), rest;

	title[0] = '\0';
	/* The room of the arguments is filled up with zeros. */
	for (rest = whole; rest < bytes; rest++)
		if (arguments[rest])
			return false;
	if (!prefix || whole == prefix)
		return false;
	if (length > TITLE_BYTES - 1)
		length = TITLE_BYTES - 1;
	memcpy(title, arguments, length);
	title[length] = '\0';
	return true;
}

static bool is_idle(const char *text)
{
	return !strncmp(text, RAY_IDLE, sizeof(RAY_IDLE) - 1);
}

void title_follow(struct title *title, const char *now)
{
	size_t prefix;

	if (!*now || !strcmp(now, title->text) || (*title->text && is_idle(now)) ||
	    title->changes > TITLE_CHANGES)
		return;
	title->changes += *title->text && !is_idle(title->text);
	if (title->changes <= TITLE_CHANGES) {
		snprintf(title->text, sizeof(title->text), "%s", now);
		return;
	}
	prefix = prefix_length(now, strlen(now));
	snprintf(title->text, sizeof(title->text), "%.*s%s",
		 (int)(prefix < TITLE_BYTES / 2 ? prefix : 0), now, VARIOUS);
}
