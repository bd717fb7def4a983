/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what a command's tables say about it.
 */
#ifndef MEMSCOPE_COMMANDS_HELP_H
#define MEMSCOPE_COMMANDS_HELP_H

#include "commands/command.h"

/* The row of --help, which every command has besides its own. */
extern const struct option_row help_row;

void help_print(const struct command *command);

#endif /* MEMSCOPE_COMMANDS_HELP_H */
