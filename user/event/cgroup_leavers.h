/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that were traced because they were in a cgroup, left it, and were traced on. As text
 * they are a property of a recording: "COUNT PID PID...".
 */
#ifndef MEMSCOPE_EVENT_CGROUP_LEAVERS_H
#define MEMSCOPE_EVENT_CGROUP_LEAVERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define CGROUP_LEAVERS_PIDS 16 /* that are kept */

struct cgroup_leavers {
	uint64_t count;
	uint32_t pids[CGROUP_LEAVERS_PIDS];
	size_t pids_count; /* of those that are kept */
};

void cgroup_leavers_add(struct cgroup_leavers *leavers, uint32_t pid);

void cgroup_leavers_append(struct string *out, const struct cgroup_leavers *leavers);

/* From text that need not be right: what cannot be read ends it. NULL: none. */
void cgroup_leavers_parse(struct cgroup_leavers *leavers, const char *text);

/* "pids 12, 13, ..." */
void cgroup_leavers_append_pids(struct string *out, const struct cgroup_leavers *leavers);

#endif /* MEMSCOPE_EVENT_CGROUP_LEAVERS_H */
