/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes a command is about, by who they are: all of what is asked for must be so.
 */
#ifndef MEMSCOPE_LEDGER_PROCESS_SELECTION_H
#define MEMSCOPE_LEDGER_PROCESS_SELECTION_H

#include <stdbool.h>

#include "base/string.h"
#include "ledger/state.h"

/* Texts are the caller's. Zeroed, it is all processes. */
struct process_selection {
	const char *user;      /* name or uid; NULL: any */
	const char *cgroup;    /* its path, or that of one above it; NULL: any */
	const char *container; /* id, the beginning of one, or name; NULL: any */
	const char *pod;       /* name, "namespace/name", or uid; NULL: any */
	const char *namespace; /* of its pod; NULL: any */
	const char *comm;      /* pattern of a shell for its name, program or script; NULL: any */
};

/* Whether it leaves out any. */
bool process_selection_is_some(const struct process_selection *selection);

/* Whether a process is one of them, for all that is known of it by now. */
bool process_selection_has(const struct process_selection *selection,
			   const struct process *process);

/* The same of a process that is in no state. `comm` and `name` may be "". */
bool process_selection_fits(const struct process_selection *selection,
			    const struct identity *identity, const char *comm, const char *name);

/*
 * Whether a process is none of them only because what is asked for is not known of it: it may have
 * ended before it could be looked at.
 */
bool process_selection_may_have(const struct process_selection *selection,
				const struct process *process);

/* Appends "user bob, container 0123": what is asked for, as it was written. */
void process_selection_append(struct string *out, const struct process_selection *selection);

#endif /* MEMSCOPE_LEDGER_PROCESS_SELECTION_H */
