/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which format a file is to have that -o names.
 */
#ifndef MEMSCOPE_COMMANDS_OUTPUT_FORMAT_H
#define MEMSCOPE_COMMANDS_OUTPUT_FORMAT_H

#include <stdbool.h>

/* Whether the name of the file (NULL: there is none) ends in one of ".html .htm". */
bool output_format_ends_in(const char *output, const char *endings);

/*
 * `-o json` is hardly meant to write a file of that name: if `output` is the name of a format, says
 * what to type. Returns whether it is.
 */
bool output_format_refuse_name(const char *output, const char *format);

/* The same of formats of kubectl, none of which is one here. */
bool output_format_refuse_kubectl(const char *output);

/* The file gets Markdown, as its name has the ending of no format: says so if it has one. */
void output_format_say_markdown(const char *output);

/* The file gets a recording: says so, and what to type, if its name has the ending of a format. */
void output_format_say_recording(const char *output);

#endif /* MEMSCOPE_COMMANDS_OUTPUT_FORMAT_H */
