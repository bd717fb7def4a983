// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "commands/command.h"

/* One per line: the Makefile reads them. */
/* clang-format off */
const struct command *const commands[] = {
	&trace_command,
	&record_command,
	&report_command,
	&diff_command,
	&check_command,
	&who_command,
	&top_command,
	&agent_command,
	&mark_command,
	&history_command,
	&export_command,
	&verify_command,
	NULL,
};
/* clang-format on */

const struct exit_meaning exit_meanings[] = {
	{ EXIT_OK, "Done. A closed output pipe counts as done." },
	{ EXIT_FAILED, "The program failed, for instance because the disk is full." },
	{ EXIT_USAGE, "Wrong options or arguments." },
	{ EXIT_PERMISSION, "A privilege is missing." },
	{ EXIT_UNSUPPORTED, "The kernel lacks something that is needed." },
	{ EXIT_NO_TARGET,
	  "There is no such process, or it ended before this program attached to it." },
	{ EXIT_LOST, "More was lost than --max-loss allows." },
	{ EXIT_CORRUPT,
	  "A recording is damaged, unusable, not one at all, or of a newer version." },
	{ EXIT_FINDING,
	  "Something was found that --fail-on asks for. Perhaps not all of it could be checked." },
	{ EXIT_UNCHECKED,
	  "Nothing was found that --fail-on asks for, but a rule that it asks for could not look"
	  " (unless unknown=pass)." },
	{ 126,
	  "trace, record: the command cannot be executed; 127: it cannot be found; otherwise the"
	  " exit code of trace -- COMMAND is the command's, or 128 plus the number of the signal"
	  " that killed it." },
	{ 0 },
};

const struct command *command_find(const char *name)
{
	const struct command *const *command;

	for (command = commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}
