/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of processes, for a message that says which there are where none is what was asked for:
 * "python3 train.py (3), ffmpeg".
 */
#ifndef MEMSCOPE_COMMANDS_PROCESS_NAMES_H
#define MEMSCOPE_COMMANDS_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "host/name_sources.h"
#include "ledger/process_selection.h"

#define PROCESS_NAMES_MOST 8
#define PROCESS_NAMES_BYTES 64 /* of each; of a longer one, the beginning */

/* Zeroed, it is empty. */
struct process_names {
	char names[PROCESS_NAMES_MOST][PROCESS_NAMES_BYTES];
	size_t counts[PROCESS_NAMES_MOST];
	size_t count;
	size_t others; /* processes with other names */
};

void process_names_note(struct process_names *names, const char *name);

/*
 * Those that have a CUDA library mapped, as far as this user may see that. Returns whether one of
 * them is one of the selection.
 */
bool process_names_of_cuda(struct process_names *names, const struct process_selection *selection,
			   struct name_sources *sources);

/* Appends them, safe for terminals, after `before`; nothing if there is none. */
void process_names_append(struct string *out, const struct process_names *names,
			  const char *before);

#endif /* MEMSCOPE_COMMANDS_PROCESS_NAMES_H */
