/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats of what `report` and `diff` have to say, and which of them a file is to have.
 */
#ifndef MEMSCOPE_COMMANDS_REPORT_FORMAT_H
#define MEMSCOPE_COMMANDS_REPORT_FORMAT_H

#include "commands/options.h"

/* X(FORMAT, name, endings of files, or NULL) */
/* clang-format off */
#define REPORT_FORMATS(X, OR) \
	X(MD, "md", ".md .markdown") OR X(TEXT, "text", ".txt .text") OR \
	X(JSON, "json", ".json") OR X(HTML, "html", ".html .htm") OR \
	X(JUNIT, "junit", ".xml") OR X(GITHUB, "github", NULL)

enum report_format {
	REPORT_FORMAT_BY_OUTPUT, /* as it suits the output */
#define X(format, name, endings) REPORT_FORMAT_##format,
	REPORT_FORMATS(X, )
#undef X
	REPORT_FORMATS_END,
};
/* clang-format on */

#define REPORT_FORMAT_NAME(format, name, endings) name

/* The options' place is an enum report_format. */
/* clang-format off */
#define REPORT_FORMAT_ROWS(help, offset) \
	{ 'f', "format", REPORT_FORMATS(REPORT_FORMAT_NAME, "|"), help, report_format_parse, \
	  offset }, \
	{ 'j', "json", NULL, "The same as -f json.", report_format_parse_json, offset }
/* clang-format on */

int report_format_parse(const struct option_row *row, const char *value, void *settings);
int report_format_parse_json(const struct option_row *row, const char *value, void *settings);

/*
 * The one that was asked for; or else by the ending of the file (NULL: standard output), or as it
 * suits the output. REPORT_FORMAT_BY_OUTPUT: the name is refused, logged.
 */
enum report_format report_format_choose(enum report_format asked, const char *output);

#endif /* MEMSCOPE_COMMANDS_REPORT_FORMAT_H */
