/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is, as far as it is known, and what to call it.
 */
#ifndef MEMSCOPE_LEDGER_PROCESS_IDENTITY_H
#define MEMSCOPE_LEDGER_PROCESS_IDENTITY_H

#include <stddef.h>

#include "abi.h"
#include "event/identity.h"

struct process;

struct process_identity {
	char *texts; /* as in a record; owned */
	size_t bytes;
	struct identity known; /* points into `texts` */
	/* In another cgroup, where it was before that; at most so many are kept. NULL: none. */
	struct process_identity *earlier;
};

#define PROCESS_IDENTITY_EARLIER 4

/*
 * What a record says, which replaces what was known. One without texts says that the process has
 * ended before it could be looked at, and is executing another program, perhaps: what is known of
 * the program is forgotten. Returns 0 or -ENOMEM: then nothing is known.
 */
int process_identity_set(struct process *process, const char *texts, size_t bytes);

/* After another name (comm) was learnt. With a title, the beginning of that is the name. */
void process_identity_rename(struct process *process);

/* What the texts take. */
size_t process_identity_bytes(const struct process_identity *identity);

void process_identity_fini(struct process *process);

#endif /* MEMSCOPE_LEDGER_PROCESS_IDENTITY_H */
