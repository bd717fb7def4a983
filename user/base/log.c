// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level current_level = LOG_INFO;
static bool progress_shown;
static void (*taker)(void *context, const char *line); /* NULL: standard error */
static void *taker_context;

void log_divert(void (*take)(void *context, const char *line), void *context)
{
	taker = take;
	taker_context = context;
}

enum log_level log_get_level(void)
{
	return current_level;
}

void log_set_level(enum log_level level)
{
	current_level = level;
}

/* Names of processes and files are chosen by others: not to reach the terminal as they are. */
static void escape(const char *from, char *to, size_t to_bytes)
{
	char *end = to + to_bytes - sizeof("\\x00");

	for (; *from && to < end; from++) {
		unsigned char c = *from;

		if ((c >= 0x20 && c != 0x7f) || c == '\n')
			*to++ = c;
		else
			to += sprintf(to, "\\x%02x", c);
	}
	*to = '\0';
}

void log_progress(const char *line)
{
	char text[256];

	if (!line && progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = line && !taker && current_level >= LOG_INFO && isatty(STDERR_FILENO);
	if (!progress_shown)
		return;
	escape(line, text, sizeof(text));
	fprintf(stderr, "\r\033[K%s", text);
}

void log_message(enum log_level level, const char *format, ...)
{
	static const char *const prefixes[] = {
		[LOG_ERROR] = "error: ",
		[LOG_WARNING] = "warning: ",
		[LOG_INFO] = "",
		[LOG_DEBUG] = "debug: ",
	};
	char message[1024], text[sizeof(message) + 64], line[sizeof(text) + 32];
	va_list args;

	if (level > current_level)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	escape(message, text, sizeof(text));
	log_progress(NULL);
	snprintf(line, sizeof(line), "memscope-bpf: %s%s", prefixes[level], text);
	if (taker)
		taker(taker_context, line);
	else /* One write, so that lines of several writers do not mix. */
		fprintf(stderr, "%s\n", line);
}
