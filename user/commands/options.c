// SPDX-License-Identifier: BSD-2-Clause
#include "commands/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/string.h"
#include "capture/attach/features.h"
#include "commands/help.h"
#include "commands/spellings.h"

#define MIN_BUFFER (4ull << 10)
#define MAX_BUFFER (1ull << 30)

/* ---- parsing --------------------------------------------------------------------------------- */

struct parser {
	const struct command *command;
	char **words; /* those that are left; ends with NULL */
	void *settings;
	char **operands; /* as many as there are words */
	size_t operands_count;
	int code; /* to exit with; -1: parsing goes on */
};

static int fail(struct parser *parser, int code)
{
	parser->code = code;
	return -1;
}

static const struct option_row *row_at(const struct command *command, size_t i)
{
	const struct option_row *row = command->options;

	while (row->name && i) {
		row++;
		i--;
	}
	if (row->name)
		return row;
	return i ? NULL : &help_row;
}

static const struct option_row *find_letter(const struct command *command, char letter)
{
	const struct option_row *row;
	size_t i;

	for (i = 0; (row = row_at(command, i)); i++)
		if (row->letter == letter)
			return row;
	return NULL;
}

/* By its name or how that begins. *other: another one begins so, too. */
static const struct option_row *find_name(const struct command *command, const char *name,
					  size_t length, const struct option_row **other)
{
	const struct option_row *row, *found = NULL;
	size_t i;

	*other = NULL;
	for (i = 0; (row = row_at(command, i)); i++) {
		if (strncmp(row->name, name, length) != 0)
			continue;
		if (!row->name[length]) {
			*other = NULL;
			return row;
		}
		if (found)
			*other = row;
		else
			found = row;
	}
	return found;
}

static const struct option_row *row_named(const struct command *command, const char *name)
{
	const struct option_row *other;

	return find_name(command, name, strlen(name), &other);
}

static bool may_be_off(const struct option_row *row)
{
	const char *off = row->argument ? strstr(row->argument, "off") : NULL;

	return off && (!off[3] || off[3] == '|') && (off == row->argument || off[-1] == '|');
}

/* `word` is how it was written: "-x" or "--name". */
static int unknown(struct parser *parser, const char *word)
{
	struct nearest nearest = { .word = word + 2 };
	const struct option_row *row;
	size_t i;

	if (!strncmp(word, "--no-", 5) && (row = row_named(parser->command, word + 5)) &&
	    may_be_off(row)) {
		log_error("%s has no option %s; write --%s=off", parser->command->name, word,
			  row->name);
		return fail(parser, EXIT_USAGE);
	}
	for (i = 0; word[0] == '-' && word[1] == '-' && (row = row_at(parser->command, i)); i++)
		nearest_offer(&nearest, row->name);
	if (nearest.found)
		log_error("%s has no option %s; did you mean --%s?", parser->command->name, word,
			  nearest.found);
	else
		log_error("%s has no option %s; `memscope-bpf %s --help` lists them",
			  parser->command->name, word, parser->command->name);
	return fail(parser, EXIT_USAGE);
}

/* Whether it is one of some words ("off|alloc"), of which none begins with "-". */
static bool is_choice(const char *argument)
{
	return strchr(argument, '|') && !argument[strspn(argument, "abcdefghijklmnopqrstuvwxyz|")];
}

/* Takes the value that stands in the next word. Returns NULL if there is none, logged. */
static const char *next_word(struct parser *parser, const char *word, const char *argument)
{
	if (*parser->words && !(**parser->words == '-' && is_choice(argument)))
		return *parser->words++;
	log_error("%s needs a value: %s %s", word, word, argument);
	fail(parser, EXIT_USAGE);
	return NULL;
}

static bool is_number(const char *word)
{
	return word && *word && !word[strspn(word, "0123456789")];
}

/* Patterns and paths may have commas; of the others, no name has any. */
static bool is_list(const struct option_row *row, const char *value)
{
	static const char *const names[] = { "user", "container", "pod", "namespace" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(row->name, names[i]))
			return strchr(value, ',');
	return false;
}

static int refuse_list(struct parser *parser, const struct option_row *row, const char *value)
{
	const char *several = parser->command->several;

	log_error("--%s: only one can be given, and \"%s\" is a list; for several: %s", row->name,
		  value, several ? several : "record -a, and report --by user, container or pod");
	return fail(parser, EXIT_USAGE);
}

/* `value`: what stands in the same word; NULL: nothing. */
static int take_option(struct parser *parser, const struct option_row *row, const char *word,
		       const char *value)
{
	if (row == &help_row) {
		help_print(parser->command);
		return fail(parser, EXIT_OK);
	}
	if (row->argument && !value && !option_may_lack_value(row))
		value = next_word(parser, word, row->argument);
	if (row->argument && !value && !option_may_lack_value(row))
		return -1;
	if (value && row->parse == option_once && is_list(row, value))
		return refuse_list(parser, row, value);
	if (row->parse(row, value, parser->settings))
		return fail(parser, EXIT_USAGE);
	/* As `pidof` prints them. */
	while (row->letter == 'p' && is_number(*parser->words))
		if (row->parse(row, *parser->words++, parser->settings))
			return fail(parser, EXIT_USAGE);
	return 0;
}

/* A word that another version or another program has for it. */
static int take_spelling(struct parser *parser, const struct spelling *spelling, const char *word,
			 const char *value)
{
	const struct option_row *row;

	if (spelling->means == SPELLING_ADVICE) {
		log_error("%s: %s", word, spelling->text);
		return fail(parser, EXIT_USAGE);
	}
	if (spelling->means == SPELLING_NOTHING) {
		if (spelling->value && !value && !next_word(parser, word, spelling->value))
			return -1;
	} else if (spelling->means == SPELLING_REPLACED) {
		row = row_named(parser->command, spelling->option);
		if ((!value && !next_word(parser, word, "VALUE")) ||
		    take_option(parser, row, word, spelling->value))
			return -1;
	} else if (spelling->means == SPELLING_OPTION) {
		row = row_named(parser->command, spelling->option);
		/* Else that number would be the command to run. */
		if ((!row->argument || (option_may_lack_value(row) && !value)) &&
		    parser->command->starts_command && is_number(*parser->words)) {
			log_error("%s: %s, without a value: leave out %s", word, spelling->text,
				  *parser->words);
			return fail(parser, EXIT_USAGE);
		}
		if (take_option(parser, row, word, spelling->value ? spelling->value : value))
			return -1;
	} else {
		if (!value)
			value = next_word(parser, word, "FILE");
		if (!value)
			return -1;
		parser->operands[parser->operands_count++] = (char *)value;
	}
	log_info("%s: %s", word, spelling->text);
	return 0;
}

static int take_long(struct parser *parser, const char *word)
{
	const size_t length = strcspn(word + 2, "=");
	const char *value = word[2 + length] ? word + 2 + length + 1 : NULL;
	const struct option_row *other;
	const struct option_row *row = find_name(parser->command, word + 2, length, &other);
	char name[64];
	const struct spelling *spelling;

	snprintf(name, sizeof(name), "%.*s", (int)length + 2, word);
	spelling = spelling_find(parser->command->name, name);
	if (spelling && (!row || row->name[length]))
		return take_spelling(parser, spelling, name, value);
	if (!row || !length)
		return unknown(parser, name);
	if (other) {
		log_error("%s is ambiguous: it can be --%s or --%s", name, row->name, other->name);
		return fail(parser, EXIT_USAGE);
	}
	if (value && !row->argument) {
		log_error("%s takes no value", name);
		return fail(parser, EXIT_USAGE);
	}
	return take_option(parser, row, name, value);
}

/* -json is no -j -s -o n. */
static bool is_long_name(const struct command *command, const char *word)
{
	const size_t length = strcspn(word + 1, "=");
	const struct option_row *other;
	const struct option_row *row = find_name(command, word + 1, length, &other);

	return length > 1 && row && !row->name[length];
}

/* Whether it asks for nothing, and has no value. */
static bool is_flag(const struct spelling *spelling)
{
	return spelling && spelling->means == SPELLING_NOTHING && !spelling->value;
}

/* "-c", "-cp", "-p4711" */
static int take_letters(struct parser *parser, const char *word)
{
	const struct spelling *whole = spelling_find(parser->command->name, word);
	const char *letter;
	int err = 0;

	if (whole && word[1] && word[2])
		return take_spelling(parser, whole, word, NULL);
	if (is_long_name(parser->command, word)) {
		log_error("%s: did you mean -%s?", word, word);
		return fail(parser, EXIT_USAGE);
	}
	for (letter = word + 1; !err && *letter; letter++) {
		const char name[] = { '-', *letter, '\0' };
		const struct option_row *row = find_letter(parser->command, *letter);
		const struct spelling *spelling =
			row ? NULL : spelling_find(parser->command->name, name);
		const char *value = letter[1] ? letter + 1 : NULL;

		/* "-tt" and "-yy" are said once; others may follow. */
		if (is_flag(spelling)) {
			letter += strspn(letter, name + 1) - 1;
			err = take_spelling(parser, spelling, name, NULL);
			continue;
		}
		if (spelling)
			return take_spelling(parser, spelling, name, value);
		if (!row)
			return unknown(parser, name);
		if (row->argument)
			return take_option(parser, row, name, value);
		err = take_option(parser, row, name, NULL);
	}
	return err;
}

static void take_rest(struct parser *parser)
{
	while (*parser->words)
		parser->operands[parser->operands_count++] = *parser->words++;
}

static int take_all(struct parser *parser)
{
	int err = 0;

	while (!err && *parser->words) {
		char *word = *parser->words++;

		if (!strcmp(word, "--")) {
			take_rest(parser);
		} else if (word[0] == '-' && word[1]) {
			err = word[1] == '-' ? take_long(parser, word) : take_letters(parser, word);
		} else {
			parser->operands[parser->operands_count++] = word;
			/* What follows is another program's. */
			if (parser->command->starts_command)
				take_rest(parser);
		}
	}
	return err;
}

int options_parse(const struct command *command, int argc, char **argv, void *settings,
		  int *exit_code)
{
	struct parser parser = { .command = command,
				 .words = argv + 1,
				 .settings = settings,
				 .operands = calloc(argc, sizeof(*parser.operands)) };
	int err = parser.operands ? take_all(&parser) : fail(&parser, EXIT_FAILED);
	const int first = argc - (int)parser.operands_count;

	if (err)
		*exit_code = parser.code;
	else
		memcpy(argv + first, parser.operands,
		       parser.operands_count * sizeof(*parser.operands));
	free(parser.operands);
	return err ? -1 : first;
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

/* Of two, the last would be taken, and what is shown would be another choice than was asked for. */
int option_once(const struct option_row *row, const char *value, void *settings)
{
	const char *given = *(const char **)place(row, settings);

	if (given)
		log_error("--%s: only one can be given: %s or %s", row->name, given, value);
	else
		return option_file(row, value, settings);
	return -EINVAL;
}

/* Standard output is what NULL stands for. */
int option_output(const struct option_row *row, const char *value, void *settings)
{
	return option_file(row, value, settings) ?:
		       option_text(row, strcmp(value, "-") != 0 ? value : NULL, settings);
}

/* "1h", "5min", "30s": what bounds something else in other programs. */
static bool is_time(const char *value)
{
	const char *unit = value + strspn(value, "0123456789.");

	return unit > value && (strchr("shd", *unit) || !strncmp(unit, "mi", 2)) && *unit;
}

int option_size(const struct option_row *row, const char *value, void *settings)
{
	int err = string_parse_size(value, place(row, settings));

	if (err && is_time(value))
		log_error(
			"--%s: \"%s\" is a time, and this is a size, however long it takes to fill"
			" it: write --%s 1G",
			row->name, value, row->name);
	else if (err == -ERANGE)
		log_error("--%s: \"%s\" is too large a size", row->name, value);
	else if (err)
		log_error("--%s: \"%s\" is not a size; write 4096, 64K, 1.5M or 2G (or 2GiB, which"
			  " is the same), without %s",
			  row->name, value, strpbrk(value, "\"'") ? "quotes" : "spaces");
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

int option_absolute_path(const struct option_row *row, const char *value, const char *none,
			 void *settings)
{
	const char **path = (const char **)((char *)settings + row->offset);

	*path = strcmp(value, none) != 0 ? value : NULL;
	if (!*path || *value == '/')
		return 0;
	log_error("--%s: \"%s\" is not an absolute path, or %s", row->name, value, none);
	return -EINVAL;
}

int option_duration(const struct option_row *row, const char *value, void *settings)
{
	uint64_t *ns = place(row, settings);

	if (!duration_parse(value, ns) && *ns)
		return 0;
	log_error("--%s: \"%s\" is not a time above 0; write 90, 90s, 1m30s, 24h, 7d or 500ms",
		  row->name, value);
	return -EINVAL;
}

#define PERIOD_OFF UINT64_MAX

int option_period(const struct option_row *row, const char *value, void *settings)
{
	if (strcmp(value, "off") != 0)
		return option_duration(row, value, settings);
	*(uint64_t *)place(row, settings) = PERIOD_OFF;
	return 0;
}

uint64_t options_period(uint64_t given_ns, uint64_t by_default_ns)
{
	if (given_ns == PERIOD_OFF)
		return 0;
	return given_ns ? given_ns : by_default_ns;
}

int option_quiet(const struct option_row *row, const char *value, void *settings)
{
	(void)row;
	(void)value;
	(void)settings;
	log_set_level(LOG_WARNING);
	return 0;
}

int option_silent(const struct option_row *row, const char *value, void *settings)
{
	return option_flag(row, value, settings) || option_quiet(row, value, settings);
}

int option_verbose(const struct option_row *row, const char *value, void *settings)
{
	(void)row;
	(void)value;
	(void)settings;
	log_set_level(LOG_DEBUG);
	return 0;
}

int option_text_or_json(const struct option_row *row, const char *value, void *settings)
{
	int which = option_which(row, value);

	if (which < 0)
		return which;
	*(bool *)place(row, settings) = which == 1;
	return 0;
}

int option_pids(const struct option_row *row, const char *value,
		int (*take)(void *context, uint32_t pid), void *context)
{
	static const char between[] = ", \t\n";
	/* "-p $(pgrep nosuch) -d 1" has the next option there. */
	char *copy = strdup(*value == '-' ? "" : value), *rest = copy, *text;
	int err = copy ? 0 : -ENOMEM;
	size_t count = 0;

	while (!err && (text = strsep(&rest, between))) {
		uint64_t pid = 0;

		if (!*text && (!*value || *value == '-' || strpbrk(value, " \t\n")))
			continue;
		err = string_parse_u64(text, 1, UINT32_MAX, &pid);
		if (err)
			log_error(
				"--%s: \"%s\" is not a process ID; write -p 4711 or -p 4711,4712, or by name -p \"$(pgrep -d, -f NAME)\"",
				row->name, text);
		else
			err = take(context, (uint32_t)pid);
		count++;
	}
	free(copy);
	if (err || count)
		return err;
	log_error("--%s: the list is empty: there is no such process", row->name);
	return -EINVAL;
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
