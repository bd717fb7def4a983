// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level current_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_get_level(void)
{
	return current_level;
}

void log_message(enum log_level level, const char *format, ...)
{
	static const char *const prefixes[] = {
		[LOG_ERROR] = "error: ",
		[LOG_WARNING] = "warning: ",
		[LOG_INFO] = "",
		[LOG_DEBUG] = "debug: ",
	};
	char message[1024];
	va_list args;

	if (level > current_level)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	/* One write, so that lines of several writers do not mix. */
	fprintf(stderr, "memscope-bpf: %s%s\n", prefixes[level], message);
}
