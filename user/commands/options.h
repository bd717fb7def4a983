/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a command line by a command's option rows.
 */
#ifndef MEMSCOPE_COMMANDS_OPTIONS_H
#define MEMSCOPE_COMMANDS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/command.h"

/*
 * Options may stand anywhere before "--", but only before the first operand if that is a command to
 * be started. Afterwards the operands are the last arguments, in their order. Returns the first
 * one's index (argc: there is none), or -1 with *exit_code set: after --help, or after an error
 * message of one line. Words of other programs are looked for in commands/spellings.h.
 */
int options_parse(const struct command *command, int argc, char **argv, void *settings,
		  int *exit_code);

/* Parsers for rows whose place in the settings has the type: */
int option_flag(const struct option_row *row, const char *value, void *settings); /* bool */
int option_text(const struct option_row *row, const char *value, void *settings); /* const char * */
int option_file(const struct option_row *row, const char *value, void *settings); /* not empty */
int option_once(const struct option_row *row, const char *value, void *settings); /* and one */
int option_output(const struct option_row *row, const char *value, void *settings); /* "-": NULL */
int option_size(const struct option_row *row, const char *value, void *settings);   /* uint64_t */
int option_buffer(const struct option_row *row, const char *value, void *settings); /* uint64_t */
int option_events(const struct option_row *row, const char *value, void *settings); /* uint64_t */
int option_duration(const struct option_row *row, const char *value, void *settings); /* ns */
int option_period(const struct option_row *row, const char *value, void *settings);   /* or off */
int option_quiet(const struct option_row *row, const char *value, void *settings);  /* log level */
int option_silent(const struct option_row *row, const char *value, void *settings); /* and bool */
int option_verbose(const struct option_row *row, const char *value, void *settings);

/* Rows that all commands have; -v says more in some. */
/* clang-format off */
#define OPTION_QUIET_ROW \
	{ 'q', "quiet", NULL, "Print only warnings and errors.", option_quiet, 0 }
/* Of a command whose result is also its exit code: as grep -q. Its place is a bool. */
#define OPTION_SILENT_ROW(more, offset) \
	{ 'q', "quiet", NULL, \
	  "Write nothing to standard output" more ", and only warnings and errors to standard error:" \
	  " for scripts that want the exit code.", \
	  option_silent, offset }
#define OPTION_VERBOSE_ROW \
	{ 'v', "verbose", NULL, "Print more messages.", option_verbose, 0 }
/* clang-format on */

/* What option_period() has left: 0 for off, or `by_default` if the option was not given. */
uint64_t options_period(uint64_t given_ns, uint64_t by_default_ns);

/* A number from `min` to `max`, into the uint64_t at the row's place. */
int option_number(const struct option_row *row, const char *value, void *settings, uint64_t min,
		  uint64_t max);

/*
 * A path that begins with "/", into a const char *; for the word `none`, NULL. Returns 0 or
 * -EINVAL, logged.
 */
int option_absolute_path(const struct option_row *row, const char *value, const char *none,
			 void *settings);

/*
 * Which of the words in row->argument ("all|summary|off", or "leak,growth=SIZE" of a list) the
 * value is, counted from 0, or -EINVAL, logged.
 */
int option_which(const struct option_row *row, const char *value);

/*
 * Calls `take` for each process of "17,18", or "17 18" as pidof(1) prints them. Returns 0, what
 * `take` returned, or -errno, logged.
 */
int option_pids(const struct option_row *row, const char *value,
		int (*take)(void *context, uint32_t pid), void *context);

/* --format text|json: bool, whether it is JSON */
int option_text_or_json(const struct option_row *row, const char *value, void *settings);

/* --without: struct features */
int option_without(const struct option_row *row, const char *value, void *settings);

#endif /* MEMSCOPE_COMMANDS_OPTIONS_H */
