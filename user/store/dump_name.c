// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_name.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static void append_host(struct string *out, const char *host)
{
	for (; *host; host++)
		string_append_char(out, *host == '/' ? '_' : *host);
}

static void append_time(struct string *out, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	string_append_text(out, text);
}

int dump_name_expand(struct string *out, const char *template, const struct dump_name *name)
{
	for (; *template; template ++) {
		if (*template != '%') {
			string_append_char(out, *template);
			continue;
		}
		switch (*++template) {
		case 'h':
			append_host(out, name->host);
			break;
		case 'p':
			string_append_i64(out, name->pid);
			break;
		case 't':
			append_time(out, name->realtime_ns);
			break;
		case '%':
			string_append_char(out, '%');
			break;
		default:
			return -EINVAL;
		}
	}
	string_append_char(out, '\0');
	return 0;
}

void dump_name_with(struct string *out, const char *path, const char *suffix)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	/* A name that begins with the dot has no extension. */
	if (!dot || dot == base)
		dot = base + strlen(base);
	string_append(out, path, dot - path);
	string_append_char(out, '.');
	string_append_text(out, suffix);
	string_append_text(out, dot);
	string_append_char(out, '\0');
}
