/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Children that traced processes forked, that have the CUDA driver from their parents, and that
 * are not traced. Whether they call it is not known. As text they are a property of a recording:
 * "PARENT COUNT PID PID...;PARENT COUNT PID...".
 */
#ifndef MEMSCOPE_EVENT_UNTRACED_FORKS_H
#define MEMSCOPE_EVENT_UNTRACED_FORKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define UNTRACED_FORKS_PARENTS 16 /* that are kept */
#define UNTRACED_FORKS_PIDS 8     /* of each of them */

struct untraced_forks_parent {
	uint32_t pid;
	uint64_t count; /* of its children; at least so many */
	uint32_t children[UNTRACED_FORKS_PIDS];
	size_t children_count; /* of those whose pids are kept */
};

struct untraced_forks {
	struct untraced_forks_parent parents[UNTRACED_FORKS_PARENTS];
	size_t count;
};

/* Of all parents. */
uint64_t untraced_forks_sum(const struct untraced_forks *forks);

void untraced_forks_append(struct string *out, const struct untraced_forks *forks);

/* From text that need not be right: what cannot be read ends it. NULL: none. */
void untraced_forks_parse(struct untraced_forks *forks, const char *text);

/* "pids 12, 13, ..." */
void untraced_forks_append_pids(struct string *out, const struct untraced_forks_parent *parent);

#endif /* MEMSCOPE_EVENT_UNTRACED_FORKS_H */
