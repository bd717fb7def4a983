// SPDX-License-Identifier: BSD-2-Clause
#include "commands/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/string.h"

#define TERMINAL_WIDTH 80 /* of one that does not say */
#define FILE_WIDTH 100
#define WIDTH_MAX 10000

bool terminal_is_output(const char *output)
{
	return !output && isatty(STDOUT_FILENO);
}

bool terminal_is_ascii(const struct writer *writer)
{
	if (!writer->terminal)
		return false;
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static size_t width_of(const struct writer *writer)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (columns && !string_parse_u64(columns, 1, WIDTH_MAX, &width))
		return width;
	if (!writer->terminal)
		return FILE_WIDTH;
	return !ioctl(writer->fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : TERMINAL_WIDTH;
}

struct document_text_options terminal_options(const struct writer *writer)
{
	return (struct document_text_options){
		.width = width_of(writer),
		.look = { .ascii = terminal_is_ascii(writer), .colour = writer->colour },
	};
}
