/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command of the program: how it is called, what it is told and what it does. Help, man page and
 * shell completion are made from these tables.
 */
#ifndef MEMSCOPE_COMMANDS_COMMAND_H
#define MEMSCOPE_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* What the program exits with; see also EXIT STATUS in the man page. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_PERMISSION = 3,
	EXIT_UNSUPPORTED = 4,
	EXIT_NO_TARGET = 5,
	EXIT_LOST = 6,
	EXIT_CORRUPT = 7,
	EXIT_FINDING = 8,
	EXIT_UNCHECKED = 9,
};

struct exit_meaning {
	int code;
	const char *meaning;
};

/* For the man pages; ends with a row without a meaning. */
extern const struct exit_meaning exit_meanings[];

struct option_row {
	char letter; /* 0: none */
	const char *name;
	/* As in the help: "PID[,PID...]"; "[=TIME]" may be left out; NULL: takes none. */
	const char *argument;
	const char *help; /* one sentence or two */
	/* Puts the value into the command's settings at `offset`; 0, or -errno, logged. */
	int (*parse)(const struct option_row *row, const char *value, void *settings);
	size_t offset;
};

/* Then its value is in the same word, or NULL. */
static inline bool option_may_lack_value(const struct option_row *row)
{
	return row->argument && row->argument[0] == '[';
}

/* What an option takes, if that is one of a few names that come from somewhere else. */
struct command_choice {
	const char *option;  /* its name */
	const char *heading; /* of the list in the help: "Formats" */
	/* The i-th name and what it stands for; NULL: there are no more. */
	const char *(*name)(size_t i, const char **meaning);
};

struct command {
	const char *name;
	const char *summary;     /* a line for the list of commands */
	const char *synopsis;    /* lines, a way to call it each: what follows the name */
	const char *description; /* paragraphs of the man page, separated by empty lines */
	const char *examples;    /* lines of the shell; comments begin with # */

	const struct option_row *options;    /* ends with a row without a name */
	const struct command_choice *choice; /* NULL: none */
	bool starts_command;                 /* its first operand and all behind it are one */
	/* What to do for several where one can be given; NULL: record, and a report by them. */
	const char *several;
	/* argv[0] is the command's name; returns the exit code. */
	int (*run)(int argc, char **argv);
};

/* All commands, ending with NULL. */
extern const struct command *const commands[];

extern const struct command trace_command;
extern const struct command record_command;
extern const struct command check_command;
extern const struct command report_command;
extern const struct command diff_command;
extern const struct command export_command;
extern const struct command verify_command;
extern const struct command mark_command;
extern const struct command who_command;
extern const struct command top_command;
extern const struct command agent_command;
extern const struct command history_command;

const struct command *command_find(const char *name);

#endif /* MEMSCOPE_COMMANDS_COMMAND_H */
