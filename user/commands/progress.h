/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the files has been read, for a user who waits at a terminal.
 */
#ifndef MEMSCOPE_COMMANDS_PROGRESS_H
#define MEMSCOPE_COMMANDS_PROGRESS_H

#include <stdint.h>

#include "store/dump_set.h"

struct progress {
	uint64_t total_bytes;
	uint64_t begun_ns, next_ns;
};

void progress_begin(struct progress *progress, const struct dump_set *set);

/* To be called often: it writes now and then. */
void progress_show(struct progress *progress, uint64_t bytes);

/* Nothing of it stays. */
void progress_end(void);

#endif /* MEMSCOPE_COMMANDS_PROGRESS_H */
