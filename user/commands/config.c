// SPDX-License-Identifier: BSD-2-Clause
#include "commands/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/push_target.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/trusted_file.h"
#include "commands/options.h"
#include "commands/spellings.h"

#define FILE_MOST 65536
#define PREFIX "MEMSCOPE_"

static size_t count_rows(const struct option_row *rows)
{
	size_t count = 0;

	while (rows[count].name)
		count++;
	return count;
}

/* SIZE_MAX: there is no such option. */
static size_t find(const struct config *config, const char *name)
{
	size_t i;

	for (i = 0; i < config->count; i++)
		if (!strcmp(config->command->options[i].name, name))
			return i;
	return SIZE_MAX;
}

int config_begin(struct config *config, const struct command *command,
		 const struct config_default *defaults)
{
	size_t place;

	*config = (struct config){ .command = command, .count = count_rows(command->options) };
	config->values = calloc(config->count + 1, sizeof(*config->values));
	if (!config->values) {
		log_error("not enough memory");
		return -ENOMEM;
	}
	for (; defaults->name; defaults++) {
		place = find(config, defaults->name);
		if (place != SIZE_MAX)
			config->values[place] =
				(struct config_value){ .text = defaults->text, .can_be_set = true };
	}
	return 0;
}

void config_fini(struct config *config)
{
	free(config->values);
	free(config->text);
	*config = (struct config){ 0 };
}

/* ---- flags ----------------------------------------------------------------------------------- */

/* A row of the copy has its place as its offset. */
static int note_flag(const struct option_row *row, const char *value, void *context)
{
	struct config *config = context;
	struct config_value *noted = &config->values[row->offset];

	noted->text = value ? value : "yes";
	noted->origin = CONFIG_FLAG;
	return 0;
}

int config_take_flags(struct config *config, int argc, char **argv, int *exit_code)
{
	struct option_row *rows = calloc(config->count + 1, sizeof(*rows));
	struct command copy = *config->command;
	size_t i;
	int first;

	if (!rows) {
		log_error("not enough memory");
		*exit_code = EXIT_FAILED;
		return -1;
	}
	for (i = 0; i < config->count; i++) {
		rows[i] = config->command->options[i];
		rows[i].parse = note_flag;
		rows[i].offset = i;
	}
	copy.options = rows;
	first = options_parse(&copy, argc, argv, config, exit_code);
	free(rows);
	return first;
}

const char *config_flag(const struct config *config, const char *name)
{
	const size_t place = find(config, name);

	if (place == SIZE_MAX || config->values[place].origin != CONFIG_FLAG)
		return NULL;
	return config->values[place].text;
}

/* ---- the file -------------------------------------------------------------------------------- */

static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* "ring-size", which is "ring" here, and not "ring-time". */
static bool is_size_of(const char *setting, const char *name)
{
	const size_t length = strlen(setting);

	return !strncmp(setting, name, length) && !strcmp(name + length, "-size");
}

/* The setting whose name is most like that; NULL: none is like it. */
static const char *nearest_to(const struct config *config, const char *name)
{
	struct nearest nearest = { .word = name };
	size_t i;

	for (i = 0; i < config->count; i++) {
		const char *setting = config->command->options[i].name;

		if (config->values[i].can_be_set && is_size_of(setting, name))
			return setting;
		if (config->values[i].can_be_set)
			nearest_offer(&nearest, setting);
	}
	return nearest.found;
}

static int refuse_name(const struct config *config, unsigned int line, const char *name)
{
	const bool exists = find(config, name) != SIZE_MAX;
	const char *nearest = exists ? NULL : nearest_to(config, name);

	log_message(config->lenient ? LOG_WARNING : LOG_ERROR, "%s:%u: \"%s\" %s%s%s%s%s",
		    config->path, line, name,
		    exists ? "cannot be set here" : "is no setting (--show-config lists them)",
		    nearest ? "; did you mean \"" : "", nearest ? nearest : "",
		    nearest ? "\"?" : "", config->lenient ? "; it is left out" : "");
	return config->lenient ? 0 : -EINVAL;
}

/* "ring: 10G" and "ring 10G" are how other files are written. Ends the line behind its name. */
static int refuse_shape(const struct config *config, unsigned int line, char *text)
{
	char *value = text + strcspn(text, ": \t");
	struct string shown = { 0 };

	if (*value)
		*value++ = '\0';
	value += strspn(value, ": \t");
	push_target_append_shown(&shown, value);
	if (*value && find(config, text) != SIZE_MAX && shown.length)
		log_error("%s:%u: this is not \"name = value\"; write %s = %.*s", config->path,
			  line, text, (int)shown.length, shown.bytes);
	else
		log_error("%s:%u: this is not \"name = value\", as in ring = 1G", config->path,
			  line);
	string_fini(&shown);
	return -EINVAL;
}

/* Whether a line begins with a setting, and something else than "=" follows. */
static bool is_misshaped(const struct config *config, const char *text)
{
	const size_t length = strcspn(text, ":= \t");
	size_t i;

	if (text[length + strspn(text + length, " \t")] == '=')
		return false;
	for (i = 0; i < config->count; i++)
		if (!strncmp(config->command->options[i].name, text, length) &&
		    !config->command->options[i].name[length])
			return true;
	return false;
}

static int take_line(struct config *config, unsigned int line, char *text)
{
	char *equals = strchr(text, '='), *name, *value;
	struct config_value *set;
	size_t place;

	if (!equals || is_misshaped(config, text))
		return refuse_shape(config, line, text);
	*equals = '\0';
	name = trim(text);
	value = trim(equals + 1);
	place = find(config, name);
	if (place == SIZE_MAX || !config->values[place].can_be_set)
		return refuse_name(config, line, name);
	set = &config->values[place];
	if (set->line || !*value) {
		if (*value)
			log_error("%s:%u: \"%s\" is already set in line %u", config->path, line,
				  name, set->line);
		else
			log_error("%s:%u: \"%s\" has no value", config->path, line, name);
		return -EINVAL;
	}
	set->line = line;
	if (set->origin != CONFIG_DEFAULT)
		return 0;
	set->text = value;
	set->origin = CONFIG_FILE;
	return 0;
}

static int take_lines(struct config *config)
{
	char *at = config->text, *next;
	unsigned int line;
	int err = 0;

	for (line = 1; !err && at; line++, at = next) {
		char *text;

		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		text = trim(at);
		if (*text && *text != '#')
			err = take_line(config, line, text);
	}
	return err;
}

int config_take_file(struct config *config, const char *path, bool must_exist)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err = fd < 0 ? -errno : 0;

	if (err == -ENOENT && !must_exist)
		return 0;
	if (err) {
		log_error("%s: cannot open: %s", path, strerror(-err));
		return err;
	}
	config->path = path;
	err = trusted_file_take(fd, path, FILE_MOST, &config->text);
	close(fd);
	return err ? err : take_lines(config);
}

/* ---- the environment ------------------------------------------------------------------------- */

/* "state-dir": "MEMSCOPE_STATE_DIR" */
static void append_variable(struct string *out, const char *name)
{
	string_append_text(out, PREFIX);
	for (; *name; name++)
		string_append_char(out, *name == '-' ? '_' : (char)toupper((unsigned char)*name));
}

static void take_variables(struct config *config)
{
	struct string variable = { 0 };
	size_t i;

	for (i = 0; i < config->count; i++) {
		struct config_value *value = &config->values[i];
		const char *text;

		if (!value->can_be_set || value->origin == CONFIG_FLAG)
			continue;
		string_clear(&variable);
		append_variable(&variable, config->command->options[i].name);
		string_append_char(&variable, '\0');
		text = variable.failed ? NULL : getenv(variable.bytes);
		if (!text || !*text)
			continue;
		value->text = text;
		value->origin = CONFIG_ENVIRONMENT;
	}
	string_fini(&variable);
}

/* Whether the entry is of the variable that the setting has. */
static bool is_variable_of(const char *entry, const char *setting)
{
	struct string variable = { 0 };
	bool is;

	append_variable(&variable, setting);
	is = !variable.failed && strcspn(entry, "=") == variable.length &&
	     !memcmp(entry, variable.bytes, variable.length);
	string_fini(&variable);
	return is;
}

/* "MEMSCOPE_STATE_DIR=/x": "state-dir". Returns whether it may be one of the variables. */
static bool setting_of(const char *entry, char *name, size_t room)
{
	const char *equals = strchr(entry, '=');
	size_t length = equals ? (size_t)(equals - entry) : 0, i;

	if (length < sizeof(PREFIX) || strncmp(entry, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	entry += sizeof(PREFIX) - 1;
	length -= sizeof(PREFIX) - 1;
	if (length >= room)
		return false;
	for (i = 0; i < length; i++)
		name[i] = entry[i] == '_' ? '-' : (char)tolower((unsigned char)entry[i]);
	name[length] = '\0';
	return true;
}

static int refuse_variable(const struct config *config, const char *entry, const char *nearest)
{
	struct string variable = { 0 };

	append_variable(&variable, nearest);
	log_message(config->lenient ? LOG_WARNING : LOG_ERROR,
		    "the environment variable %.*s sets nothing; did you mean %.*s?",
		    (int)strcspn(entry, "="), entry, (int)variable.length,
		    variable.length ? variable.bytes : "");
	string_fini(&variable);
	return config->lenient ? 0 : -EINVAL;
}

int config_take_environment(struct config *config)
{
	char name[32], **entry;
	int err = 0;

	take_variables(config);
	for (entry = environ; entry && *entry && !err; entry++) {
		const char *nearest;
		size_t place;

		if (!setting_of(*entry, name, sizeof(name)))
			continue;
		place = find(config, name);
		/* --config has a variable, too, and what is only a flag has none. */
		nearest = place == SIZE_MAX ? nearest_to(config, name) : name;
		if (place != SIZE_MAX && !config->values[place].can_be_set)
			continue;
		if (nearest && !is_variable_of(*entry, nearest))
			err = refuse_variable(config, *entry, nearest);
	}
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_of_words(const struct option_row *row)
{
	return !row->argument[strcspn(row->argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

/* What is typed is understood and corrected; a file stays, and has to say what is so. */
static int check_word(const struct config_value *value, const struct option_row *row)
{
	const struct spelling_of_value *other = NULL;

	if (value->origin != CONFIG_FLAG && is_of_words(row))
		other = spelling_of_value(row->name, value->text, row->argument);
	if (!other || !other->is_same)
		return 0;
	log_error("%s: \"%s\" is no value of it; write %s", row->name, value->text, other->needs);
	return -EINVAL;
}

static int apply(const struct config *config, size_t place, void *settings)
{
	const struct option_row *row = &config->command->options[place];
	const char *text = config->values[place].text;

	if (row->argument && check_word(&config->values[place], row))
		return -EINVAL;
	if (row->argument)
		return row->parse(row, text, settings);
	if (!strcmp(text, "yes"))
		return row->parse(row, NULL, settings);
	if (!strcmp(text, "no"))
		return 0;
	log_error("%s: \"%s\" is not yes or no", row->name, text);
	return -EINVAL;
}

static void append_origin(struct string *out, const struct config *config, size_t place)
{
	const struct config_value *value = &config->values[place];

	switch (value->origin) {
	case CONFIG_DEFAULT:
		string_append_text(out, "default");
		break;
	case CONFIG_FILE:
		string_append_format(out, "%s:%u", config->path, value->line);
		break;
	case CONFIG_ENVIRONMENT:
		append_variable(out, config->command->options[place].name);
		break;
	case CONFIG_FLAG:
		string_append_format(out, "--%s", config->command->options[place].name);
		break;
	}
}

int config_apply(const struct config *config, void *settings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < config->count; i++) {
		struct string origin = { 0 };

		if (!config->values[i].text)
			continue;
		err = apply(config, i, settings);
		if (err && config->values[i].origin != CONFIG_FLAG) {
			append_origin(&origin, config, i);
			log_error("this comes from %.*s%s", (int)origin.length,
				  origin.length ? origin.bytes : "",
				  config->values[i].origin == CONFIG_FILE &&
						  strstr(config->values[i].text, " #") ?
					  ": the # and what follows belong to the value; a comment"
					  " has a line of its own" :
					  "");
		}
		string_fini(&origin);
	}
	return err;
}

void config_append(struct string *out, const struct config *config)
{
	size_t i;

	for (i = 0; i < config->count; i++) {
		const struct config_value *value = &config->values[i];

		if (!value->can_be_set)
			continue;
		string_append_text(out, "# ");
		append_origin(out, config, i);
		string_append_format(out, "\n%s = %s\n", config->command->options[i].name,
				     value->text);
	}
}

/* ---- what has changed ------------------------------------------------------------------------ */

static void append_values(struct string *out, const char *was, const char *now)
{
	const size_t begin = out->length;
	size_t middle;

	push_target_append_shown(out, was);
	middle = out->length;
	string_append_text(out, " -> ");
	push_target_append_shown(out, now);
	if (!out->failed && out->length - middle - 4 == middle - begin &&
	    !memcmp(out->bytes + begin, out->bytes + middle + 4, middle - begin))
		string_append_text(out, ", which differ in what is not shown");
}

static void say_change(const struct config *now, size_t place, const char *was, bool in_force)
{
	const char *name = now->command->options[place].name;
	struct string text = { 0 };

	string_append_format(&text, "%s: ", name);
	append_values(&text, was, now->values[place].text);
	string_append_text(&text, " (");
	append_origin(&text, now, place);
	string_append_char(&text, ')');
	if (in_force)
		log_info("%.*s", (int)text.length, text.length ? text.bytes : "");
	else
		log_warning("%.*s: this takes effect at the next start; what was before is in force"
			    " until then",
			    (int)text.length, text.length ? text.bytes : "");
	string_fini(&text);
}

/* What somebody has changed in the file, maybe, and wonders about. */
static void say_covered(const struct config *now, size_t place)
{
	const struct config_value *value = &now->values[place];
	struct string origin = { 0 };

	if (!value->line || value->origin == CONFIG_FILE)
		return;
	append_origin(&origin, now, place);
	log_info("%s:%u: %s has no effect there, because %.*s is set", now->path, value->line,
		 now->command->options[place].name, (int)origin.length,
		 origin.length ? origin.bytes : "");
	string_fini(&origin);
}

struct config_changes config_say_changes(const struct config *now, const struct config *last,
					 const struct config *started,
					 bool (*takes_effect)(const char *name))
{
	struct config_changes changes = { 0 };
	size_t i;

	for (i = 0; i < now->count; i++) {
		const bool in_force = takes_effect(now->command->options[i].name);
		const char *was = (in_force ? last : started)->values[i].text;

		if (!now->values[i].can_be_set)
			continue;
		say_covered(now, i);
		if (!strcmp(was, now->values[i].text))
			continue;
		say_change(now, i, was, in_force);
		if (in_force)
			changes.in_force++;
		else
			changes.waiting++;
	}
	return changes;
}
