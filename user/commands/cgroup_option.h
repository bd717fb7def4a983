/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --cgroup PATH, where it is about this machine: how a cgroup can be written, and whether there is
 * one. As a directory, "/sys/fs/cgroup/a/b", also of one hierarchy of version 1; as
 * /proc/PID/cgroup has it, "/a/b"; or without the first slash, as systemd-cgls does.
 */
#ifndef MEMSCOPE_COMMANDS_CGROUP_OPTION_H
#define MEMSCOPE_COMMANDS_CGROUP_OPTION_H

#include "commands/options.h"

/* Both are the caller's to free, after an error, too. */
struct cgroup_option {
	char *path;      /* in its hierarchy, "/a/b"; NULL: none was given */
	char *hierarchy; /* name of its directory, if that was given and has one; NULL: any */
};

/* Returns 0 or -errno, logged. */
int cgroup_option_parse(const struct option_row *row, const char *value,
			struct cgroup_option *cgroup);

void cgroup_option_fini(struct cgroup_option *cgroup);

#endif /* MEMSCOPE_COMMANDS_CGROUP_OPTION_H */
