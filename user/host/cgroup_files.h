/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cgroups of a process say, whichever version they are: of version 1, each controller has
 * a hierarchy of its own; of version 2, there is one. They are taken to be mounted below
 * /sys/fs/cgroup, where systemd and the distributions have them. `root` stands for "/".
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of Linux.
 */
#ifndef MEMSCOPE_HOST_CGROUP_FILES_H
#define MEMSCOPE_HOST_CGROUP_FILES_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>

#define CGROUP_FILES_PATH_BYTES 1024

/* Where they are; "" if there is none. */
struct cgroup_files {
	char memory[CGROUP_FILES_PATH_BYTES];
	char cpu[CGROUP_FILES_PATH_BYTES];
	bool memory_is_old, cpu_is_old; /* version 1 */
};

/* Returns false if the process is in none that is known. */
bool cgroup_files_find(const char *root, pid_t pid, struct cgroup_files *files);

/* Each returns whether it is known. At the root of version 2 nothing is. */
bool cgroup_files_memory(const char *root, const struct cgroup_files *files, __u64 *bytes);
bool cgroup_files_limit(const char *root, const struct cgroup_files *files, __u64 *bytes);
bool cgroup_files_throttled(const char *root, const struct cgroup_files *files, __u64 *count,
			    __u64 *ns);
bool cgroup_files_pressure(const char *root, const struct cgroup_files *files, __u64 *some_us);

#endif /* MEMSCOPE_HOST_CGROUP_FILES_H */
