/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must be there before anything is traced, with a message that says what to do about it.
 */
#ifndef MEMSCOPE_COMMANDS_REQUIREMENTS_H
#define MEMSCOPE_COMMANDS_REQUIREMENTS_H

#include "capture/attach/features.h"

/*
 * Returns EXIT_OK, or EXIT_PERMISSION or EXIT_UNSUPPORTED after an error message. `otherwise`: what
 * can be done without privileges, for the end of that message, or "".
 */
int require_tracing(struct features *features, const char *otherwise);

/* What the program exits with after a failure -errno of the capture. */
int exit_code_of(int err);

#endif /* MEMSCOPE_COMMANDS_REQUIREMENTS_H */
