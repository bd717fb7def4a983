// SPDX-License-Identifier: BSD-2-Clause
#include "commands/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "capture/attach/features.h"

#define MAX_OPTIONS 32
#define MIN_BUFFER (4ull << 10)
#define MAX_BUFFER (1ull << 30)
#define HELP_COLUMN 26
#define HELP_WIDTH 79

/* ---- parsing --------------------------------------------------------------------------------- */

static const struct option_row help_row = {
	.letter = 'h',
	.name = "help",
	.help = "Show this help.",
};

#define LONG_NAMES 256 /* getopt's codes from here on; letters are below */

struct parser {
	struct option names[MAX_OPTIONS + 2];
	char letters[2 * MAX_OPTIONS + 4];
	const struct option_row *rows[MAX_OPTIONS + 1];
	int count;
};

static void add_row(struct parser *parser, const struct option_row *row)
{
	size_t length = strlen(parser->letters);

	parser->names[parser->count] = (struct option){
		.name = row->name,
		.has_arg = row->argument ? required_argument : no_argument,
		.val = LONG_NAMES + parser->count,
	};
	if (row->letter)
		snprintf(parser->letters + length, sizeof(parser->letters) - length, "%c%s",
			 row->letter, row->argument ? ":" : "");
	parser->rows[parser->count++] = row;
}

static const struct option_row *chosen(const struct parser *parser, int code)
{
	int i;

	if (code >= LONG_NAMES)
		return parser->rows[code - LONG_NAMES];
	for (i = 0; i < parser->count; i++)
		if (parser->rows[i]->letter == code)
			return parser->rows[i];
	return NULL;
}

static int misused(const struct command *command, int *exit_code)
{
	fprintf(stderr, "Try `memscope-bpf %s --help`.\n", command->name);
	*exit_code = EXIT_USAGE;
	return -1;
}

static void complain(char **argv, int code)
{
	const char *word = argv[optind - 1];

	if (code == ':')
		log_error("%s needs a value", word);
	else if (optopt >= LONG_NAMES)
		log_error("%.*s takes no value", (int)strcspn(word, "="), word);
	else if (optopt)
		log_error("unknown option -%c", optopt);
	else
		log_error("unknown or ambiguous option %s", word);
}

int options_parse(const struct command *command, int argc, char **argv, void *settings,
		  int *exit_code)
{
	struct parser parser = { .letters = "+:" };
	const struct option_row *row;
	int code;

	for (row = command->options; row->name; row++)
		add_row(&parser, row);
	add_row(&parser, &help_row);
	opterr = 0;
	optind = 1;
	while ((code = getopt_long(argc, argv, parser.letters, parser.names, NULL)) != -1) {
		row = chosen(&parser, code);
		if (!row || code == '?' || code == ':') {
			complain(argv, code);
			return misused(command, exit_code);
		}
		if (row == &help_row) {
			options_print_help(command);
			*exit_code = EXIT_OK;
			return -1;
		}
		if (row->parse(row, optarg, settings))
			return misused(command, exit_code);
	}
	return optind;
}

/* ---- help ------------------------------------------------------------------------------------ */

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

static void print_row(const struct option_row *row)
{
	char left[80];
	int length;

	length = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", row->letter ? '-' : ' ',
			  row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
			  row->argument ? "=" : "", row->argument ? row->argument : "");
	printf("%s", left);
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

void options_print_help(const struct command *command)
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

/* ---- values ---------------------------------------------------------------------------------- */

static void *place(const struct option_row *row, void *settings)
{
	return (char *)settings + row->offset;
}

int option_flag(const struct option_row *row, const char *value, void *settings)
{
	(void)value;
	*(bool *)place(row, settings) = true;
	return 0;
}

int option_text(const struct option_row *row, const char *value, void *settings)
{
	*(const char **)place(row, settings) = value;
	return 0;
}

int option_file(const struct option_row *row, const char *value, void *settings)
{
	if (*value)
		return option_text(row, value, settings);
	log_error("--%s: the name is empty", row->name);
	return -EINVAL;
}

int option_size(const struct option_row *row, const char *value, void *settings)
{
	int err = string_parse_size(value, place(row, settings));

	if (err)
		log_error("--%s: \"%s\" is not a size; write 4096, 64K, 1.5M or 2G", row->name,
			  value);
	return err;
}

int option_number(const struct option_row *row, const char *value, void *settings, uint64_t min,
		  uint64_t max)
{
	int err = string_parse_u64(value, min, max, place(row, settings));

	if (err)
		log_error("--%s: \"%s\" is not a number from %llu to %llu", row->name, value,
			  (unsigned long long)min, (unsigned long long)max);
	return err;
}

/* Whether the value is the word, or, if that is "name=SIZE", such an assignment. */
static bool is_word(const char *word, const char *value)
{
	const size_t length = strcspn(word, "|,=");

	return strcspn(value, "=") == length && !strncmp(word, value, length) &&
	       (word[length] == '=') == (value[length] == '=');
}

int option_which(const struct option_row *row, const char *value)
{
	struct string words = { 0 };
	const char *word = row->argument, *rest;
	int which;

	for (which = 0; *word; which++) {
		const size_t length = strcspn(word, "|,");

		if (is_word(word, value)) {
			string_fini(&words);
			return which;
		}
		string_append(&words, word, length);
		word += length + (word[length] != '\0');
		rest = word + strcspn(word, "|,");
		string_append_text(&words, !*word ? "" : *rest ? ", " : " or ");
	}
	log_error("--%s: \"%s\" is not one of %.*s", row->name, value, (int)words.length,
		  words.length ? words.bytes : "");
	string_fini(&words);
	return -EINVAL;
}

/* The size of a ring buffer. */
int option_buffer(const struct option_row *row, const char *value, void *settings)
{
	const uint64_t *bytes = place(row, settings);
	int err = option_size(row, value, settings);

	if (!err && (*bytes < MIN_BUFFER || *bytes > MAX_BUFFER)) {
		log_error("--%s: %s is not between 4K and 1G", row->name, value);
		err = -ERANGE;
	}
	return err;
}

int option_events(const struct option_row *row, const char *value, void *settings)
{
	int err = string_parse_u64(value, 0, UINT64_MAX - 1, place(row, settings));

	if (err)
		log_error("--%s: \"%s\" is not a number of events", row->name, value);
	return err;
}

int option_seconds(const struct option_row *row, const char *value, void *settings)
{
	char *end;
	double seconds = strtod(value, &end);

	if (!isdigit((unsigned char)*value) || *end || seconds < 1e-9 || seconds > 1e9) {
		log_error("--%s: \"%s\" is not a number of seconds above 0", row->name, value);
		return -EINVAL;
	}
	*(uint64_t *)place(row, settings) = (uint64_t)(seconds * 1e9);
	return 0;
}

int option_quiet(const struct option_row *row, const char *value, void *settings)
{
	(void)row;
	(void)value;
	(void)settings;
	log_set_level(LOG_WARNING);
	return 0;
}

int option_verbose(const struct option_row *row, const char *value, void *settings)
{
	(void)row;
	(void)value;
	(void)settings;
	log_set_level(LOG_DEBUG);
	return 0;
}

int option_without(const struct option_row *row, const char *value, void *settings)
{
	struct features *features = place(row, settings);
	char *copy = strdup(value), *rest = copy, *name;
	int err = copy ? 0 : -ENOMEM, i;

	while (!err && (name = strsep(&rest, ","))) {
		int feature = feature_find(name);

		if (feature >= 0) {
			features->masked |= 1u << feature;
			continue;
		}
		log_error("--without: there is no feature \"%s\"", name);
		for (i = 0; i < FEATURES_COUNT; i++)
			fprintf(stderr, "  %-16s %s\n", feature_infos[i].name,
				feature_infos[i].what);
		err = -EINVAL;
	}
	free(copy);
	return err;
}
