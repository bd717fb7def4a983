// SPDX-License-Identifier: BSD-2-Clause
#include "commands/help.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 26
#define HELP_WIDTH 79

const struct option_row help_row = {
	.letter = 'h',
	.name = "help",
	.help = "Show this help.",
};

/* Words from `column` on, broken before `HELP_WIDTH`. */
static void print_words(const char *text, int column)
{
	int at = column;

	while (*text) {
		int length = strcspn(text, " ");

		if (at > column && at + 1 + length > HELP_WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		} else if (at > column) {
			putchar(' ');
			at++;
		}
		printf("%.*s", length, text);
		at += length;
		text += length;
		text += *text == ' ';
	}
	putchar('\n');
}

/* Broken behind a comma or a bar before `HELP_WIDTH`. Returns the column that it ends in. */
static int print_argument(const char *argument, int column)
{
	int at = column;

	while (*argument) {
		int length = strcspn(argument, ",|");

		length += argument[length] != '\0';
		if (at > column && at + length > HELP_WIDTH)
			at = printf("\n%*s", column, "") - 1;
		at += printf("%.*s", length, argument);
		argument += length;
	}
	return at;
}

static void print_row(const struct option_row *row)
{
	int length;

	length = printf("  %c%c%s --%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
			row->letter ? "," : " ", row->name,
			row->argument && !option_may_lack_value(row) ? "=" : "");
	if (row->argument)
		length = print_argument(row->argument, length);
	if (length + 2 > HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	else
		printf("%*s", HELP_COLUMN - length, "");
	print_words(row->help, HELP_COLUMN);
}

static void print_indented(const char *lines)
{
	while (*lines) {
		int length = strcspn(lines, "\n");

		printf("  %.*s\n", length, lines);
		lines += length;
		lines += *lines == '\n';
	}
}

static void print_choice(const struct command_choice *choice)
{
	const char *name, *meaning;
	size_t i;

	printf("\n%s:\n", choice->heading);
	for (i = 0; (name = choice->name(i, &meaning)); i++) {
		printf("  %-*s", HELP_COLUMN - 2, name);
		print_words(meaning, HELP_COLUMN);
	}
}

static void print_usage(const struct command *command)
{
	const char *ways = command->synopsis, *label = "Usage:";

	while (*ways) {
		int length = strcspn(ways, "\n");

		printf("%-6s memscope-bpf %s %.*s\n", label, command->name, length, ways);
		label = "";
		ways += length;
		ways += *ways == '\n';
	}
}

void help_print(const struct command *command)
{
	const struct option_row *row;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is no failure */
	print_usage(command);
	printf("%s.\n\nOptions:\n", command->summary);
	for (row = command->options; row->name; row++)
		print_row(row);
	print_row(&help_row);
	if (command->choice)
		print_choice(command->choice);
	printf("\nExamples:\n");
	print_indented(command->examples);
}
