/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a process's cgroups. Version 1 has a hierarchy for each controller, version 2 has
 * one for all. They are expected below /sys/fs/cgroup, where systemd and the distributions mount
 * them. The kernel keeps pressure in version 2 alone, whichever hierarchy limits the memory. `root`
 * stands for "/".
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of Linux.
 */
#ifndef MEMSCOPE_HOST_CGROUP_FILES_H
#define MEMSCOPE_HOST_CGROUP_FILES_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>

#define CGROUP_FILES_PATH_BYTES 1024

/* Their directories; "": none. */
struct cgroup_files {
	char memory[CGROUP_FILES_PATH_BYTES];
	char cpu[CGROUP_FILES_PATH_BYTES];
	char unified[CGROUP_FILES_PATH_BYTES]; /* of version 2, also beside version 1 */
	const char *mounted;                   /* where version 2 is, if `unified` is not "" */
	bool memory_is_old, cpu_is_old;        /* version 1 */
};

/* Where version 2 is mounted: alone, or beside version 1. */
const char *cgroup_files_mounted(const char *root);

/* Finds the cgroups of a process. Returns false if there are none. */
bool cgroup_files_find(const char *root, pid_t pid, struct cgroup_files *files);

/* Each returns whether the number is known. At the root of version 2, none is. */
bool cgroup_files_memory(const char *root, const struct cgroup_files *files, __u64 *bytes);
bool cgroup_files_limit(const char *root, const struct cgroup_files *files, __u64 *bytes);
bool cgroup_files_throttled(const char *root, const struct cgroup_files *files, __u64 *count,
			    __u64 *ns);
bool cgroup_files_pressure(const char *root, const struct cgroup_files *files, __u64 *some_us);

#endif /* MEMSCOPE_HOST_CGROUP_FILES_H */
