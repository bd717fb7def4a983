// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_target.h"

#include <stdio.h>
#include <string.h>

#define UNIX "unix:"

/*
 * It may be a URL whose scheme was forgotten or misspelt, or a file, or anything else. In patterns
 * of rules, "?" comes after a "=".
 */
static void append_other(struct string *out, const char *text)
{
	const char *at = strrchr(text, '@'), *rest = at ? at : text;
	size_t length = strcspn(rest, at ? "/?#" : "?#=");

	if (rest[length] == '=')
		length = strlen(rest);
	if (at)
		string_append_text(out, "...");
	string_append(out, rest, length);
	if (rest[length])
		string_append_text(out, "...");
}

/* Tokens are put into paths and queries, too. */
void push_target_append_shown(struct string *out, const char *text)
{
	const char *scheme = strstr(text, "://"), *host, *end, *at;

	if (!scheme) {
		append_other(out, text);
		return;
	}
	host = scheme + 3;
	end = host + strcspn(host, "/?#");
	at = strrchr(host, '@');
	string_append(out, text, (size_t)(host - text));
	/* Behind the host, it may be of a password with a "/". */
	if (at)
		string_append_text(out, "...");
	if (at && at > end)
		return;
	if (at)
		host = at;
	string_append(out, host, (size_t)(end - host));
	if (*end && strcmp(end, "/") != 0)
		string_append_text(out, "/...");
}

static void show(struct push_target *target, const char *text)
{
	struct string shown = { 0 };

	push_target_append_shown(&shown, text);
	snprintf(target->shown, sizeof(target->shown), "%.*s", (int)shown.length,
		 shown.length ? shown.bytes : "");
	string_fini(&shown);
}

static const char *parse_socket(struct push_target *target, enum push_protocol_id id,
				const char *path)
{
	if (*path != '/')
		return "the path of a Unix socket begins with /";
	if (strlen(path) >= sizeof(target->socket))
		return "the path of a Unix socket has at most 107 bytes";
	snprintf(target->socket, sizeof(target->socket), "%s", path);
	snprintf(target->url, sizeof(target->url), "http://localhost%s", push_protocols[id].path);
	return NULL;
}

const char *push_target_parse(struct push_target *target, enum push_protocol_id id,
			      const char *text)
{
	const size_t scheme = !strncmp(text, "http://", 7) ? 7 :
			      strncmp(text, "https://", 8) ? 0 :
							     8;
	const char *host = text + scheme, *path = host + strcspn(host, "/?#"), *at;

	*target = (struct push_target){ 0 };
	show(target, text);
	if (!strncmp(text, UNIX, sizeof(UNIX) - 1))
		return parse_socket(target, id, text + sizeof(UNIX) - 1);
	if (!scheme)
		return "it begins with http://, https:// or unix:";
	for (at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at > '~')
			return "it has only printable ASCII characters, without spaces";
	if (path == host || *host == ':')
		return "it has a host, as in http://127.0.0.1:4318";
	if (memchr(host, '@', (size_t)(path - host)))
		return "no user and password here: a file of the option that ends with -client has them";
	if (*path == '?' || strchr(path, '#'))
		return "it has a path, but no fragment";
	if (snprintf(target->url, sizeof(target->url), "%.*s%s", (int)(path - text), text,
		     !strcmp(path, "/") || !*path ? push_protocols[id].path : path) >=
	    (int)sizeof(target->url))
		return "it is too long";
	return NULL;
}
