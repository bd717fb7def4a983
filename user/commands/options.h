/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a command line by a command's option rows, and prints the help that they describe.
 */
#ifndef MEMSCOPE_COMMANDS_OPTIONS_H
#define MEMSCOPE_COMMANDS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/command.h"

/*
 * Parses up to the first argument that is no option, or past "--". Returns that argument's index,
 * or -1 with *exit_code set: after --help, or after an error message.
 */
int options_parse(const struct command *command, int argc, char **argv, void *settings,
		  int *exit_code);

void options_print_help(const struct command *command);

/* Parsers for rows whose place in the settings has the type: */
int option_flag(const struct option_row *row, const char *value, void *settings); /* bool */
int option_text(const struct option_row *row, const char *value, void *settings); /* const char * */
int option_file(const struct option_row *row, const char *value, void *settings); /* not empty */
int option_size(const struct option_row *row, const char *value, void *settings); /* uint64_t */
int option_buffer(const struct option_row *row, const char *value, void *settings);  /* uint64_t */
int option_events(const struct option_row *row, const char *value, void *settings);  /* uint64_t */
int option_seconds(const struct option_row *row, const char *value, void *settings); /* ns */
int option_quiet(const struct option_row *row, const char *value, void *settings);   /* log level */
int option_verbose(const struct option_row *row, const char *value, void *settings);

/* A number from `min` to `max`, into the uint64_t at the row's place. */
int option_number(const struct option_row *row, const char *value, void *settings, uint64_t min,
		  uint64_t max);

/*
 * Which of the words in row->argument ("all|summary|off", or "leak,growth=SIZE" of a list) the
 * value is, counted from 0, or -EINVAL, logged.
 */
int option_which(const struct option_row *row, const char *value);

/* --without: struct features */
int option_without(const struct option_row *row, const char *value, void *settings);

#endif /* MEMSCOPE_COMMANDS_OPTIONS_H */
