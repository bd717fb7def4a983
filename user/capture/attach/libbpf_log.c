// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/libbpf_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define LIBBPF_MESSAGE 900 /* bytes, of a line of the log */

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char *message;
	int length, skipped;

	if (level == LIBBPF_DEBUG)
		return 0;
	length = vasprintf(&message, format, args);
	if (length < 0)
		return 0;
	if (length && message[length - 1] == '\n')
		message[--length] = '\0';
	/* The verifier gives its reasons at the end. */
	skipped = length > LIBBPF_MESSAGE ? length - LIBBPF_MESSAGE : 0;
	log_debug("%s%s", skipped ? "[...] " : "", message + skipped);
	free(message);
	return 0;
}

void libbpf_log_init(void)
{
	libbpf_set_print(print_libbpf);
}
