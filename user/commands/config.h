/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that can also be set by a file and by the environment: a flag goes before a variable
 * MEMSCOPE_..., that before the file, and the file before the default. All of them are texts as
 * they are typed behind the option, and are parsed by the option's row.
 */
#ifndef MEMSCOPE_COMMANDS_CONFIG_H
#define MEMSCOPE_COMMANDS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "commands/command.h"

/* Which options can be set so, and to what they are without; ends with a NULL name. */
struct config_default {
	const char *name;
	const char *text; /* of an option that takes nothing: "yes" or "no" */
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
	bool can_be_set;   /* by other things than a flag */
};

struct config {
	const struct command *command;
	struct config_value *values; /* one for each of its rows */
	size_t count;
	char *text;       /* of the file */
	const char *path; /* NULL: there is none */
};

/* Returns 0 or -ENOMEM, logged. */
int config_begin(struct config *config, const struct command *command,
		 const struct config_default *defaults);

/*
 * The command line: as options_parse(), but nothing is parsed yet. The arguments must outlive the
 * configuration.
 */
int config_take_flags(struct config *config, int argc, char **argv, int *exit_code);

/* What a flag was given: NULL: it was not; "yes" if it takes nothing. */
const char *config_flag(const struct config *config, const char *name);

/*
 * The file: `must_exist`, or else it is all the same. It is refused if others than its reader and
 * root could have written it, and for any line that is not understood. Returns 0, or -errno,
 * logged.
 */
int config_take_file(struct config *config, const char *path, bool must_exist);

void config_take_environment(struct config *config);

/* Parses all of it into the settings. Returns 0, or -errno, logged with where it comes from. */
int config_apply(const struct config *config, void *settings);

/* As a file, with where each value comes from. */
void config_append(struct string *out, const struct config *config);

/* Whether two say the same of an option; both of the same command. */
bool config_is_same(const struct config *a, const struct config *b, const char *name);

void config_fini(struct config *config);

#endif /* MEMSCOPE_COMMANDS_CONFIG_H */
