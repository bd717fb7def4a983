/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mounts that a process has, as /proc/<pid>/mountinfo says: the kernel answers from what it
 * knows, and asks no server. So it can be known of a path whether to look there may take for ever.
 */
#ifndef MEMSCOPE_HOST_MOUNT_H
#define MEMSCOPE_HOST_MOUNT_H

#include <stdbool.h>
#include <stdio.h>

struct mount {
	int number;
	char *place, *type; /* in `line`: where it is, from the process's root; the file system's */
	char *line;         /* zero at first; the caller frees it in the end */
	size_t line_bytes;
};

/* Reads the next one of an open mountinfo. Returns whether there is one more. */
bool mount_read(FILE *mounts, struct mount *mount);

/*
 * Whether the kernel itself has the files of such a file system. Who opens one that a program
 * serves (FUSE) waits for that program, which may be another user's, and never answer; one of a
 * server (NFS), for that. An overlay can lie on such a one, and does not count as local.
 */
bool mount_is_local(const struct mount *mount);

#endif /* MEMSCOPE_HOST_MOUNT_H */
