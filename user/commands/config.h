/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that a file and the environment can set, too. A flag takes precedence over a variable
 * MEMSCOPE_..., a variable over the file, and the file over the default. Each value is a text as it
 * would be typed after the option, and the option's row parses it.
 */
#ifndef MEMSCOPE_COMMANDS_CONFIG_H
#define MEMSCOPE_COMMANDS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "commands/command.h"

/* The options that can be set, and their defaults; ends with a NULL name. */
struct config_default {
	const char *name;
	const char *text; /* "yes" or "no" if the option takes no value */
};

enum config_origin {
	CONFIG_DEFAULT,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_FLAG,
};

struct config_value {
	const char *text; /* NULL: it is not set */
	enum config_origin origin;
	unsigned int line; /* of the file */
	bool can_be_set;   /* by the file and the environment, not only by a flag */
};

struct config {
	const struct command *command;
	struct config_value *values; /* one for each of its rows */
	size_t count;
	char *text;       /* of the file */
	const char *path; /* NULL: there is none */
	bool lenient;     /* names that are not known are only warned of */
};

/* Returns 0 or -ENOMEM, logged. */
int config_begin(struct config *config, const struct command *command,
		 const struct config_default *defaults);

/*
 * Takes the flags of the command line, as options_parse() does, but does not parse their values
 * yet. The arguments must outlive the configuration.
 */
int config_take_flags(struct config *config, int argc, char **argv, int *exit_code);

/* The value of a flag; "yes" if it takes none; NULL: the flag is absent. */
const char *config_flag(const struct config *config, const char *name);

/*
 * Takes the file; without `must_exist`, it may be absent. Refuses it if users other than its reader
 * and root could have written it, or if a line is not understood, unless it is the name alone and
 * the configuration is lenient. Returns 0, or -errno, logged.
 */
int config_take_file(struct config *config, const char *path, bool must_exist);

/*
 * Takes the variables. One that is almost called as one of them is misspelled: it is refused as the
 * file's names are. Others may be anybody's. Returns 0 or -EINVAL, logged.
 */
int config_take_environment(struct config *config);

/*
 * Parses all values into the settings. Returns 0, or -errno, logged with the origin of the value.
 */
int config_apply(const struct config *config, void *settings);

/* Appends the configuration as a file, with the origin of each value as a comment. */
void config_append(struct string *out, const struct config *config);

struct config_changes {
	size_t in_force, waiting; /* how many settings */
};

/*
 * Says in the log how the settings of `now` differ from those in force, and where they come from,
 * but no secret of a URL. Those for which `takes_effect` returns true are in force since the
 * configuration was read last; of the others, the values at the start are, and they are warned of.
 */
struct config_changes config_say_changes(const struct config *now, const struct config *last,
					 const struct config *started,
					 bool (*takes_effect)(const char *name));

void config_fini(struct config *config);

#endif /* MEMSCOPE_COMMANDS_CONFIG_H */
