/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that a process was attached to late in, since no loader of ours would find them: their
 * paths are kept in a file, a line for each, so that the next capture can put probes into them
 * before a process maps them.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_KNOWN_LIBRARIES_H
#define MEMSCOPE_CAPTURE_TARGETS_KNOWN_LIBRARIES_H

#include <sys/types.h>

#define KNOWN_LIBRARIES_MOST 64 /* those that were added last, but what is gone goes first */
#define KNOWN_LIBRARIES_MOST_OF_USER 16 /* of files of one owner; root may have all */

/*
 * Calls `visit` for each that is there. Its descriptor is closed after the call. No path is looked
 * at that leads across a mount of a server (NFS) or program (FUSE), which may never answer.
 */
void known_libraries_each(const char *list, int (*visit)(int fd, const char *path, void *context),
			  void *context);

/*
 * Adds the one with that path and inode. Returns 0, also if it is there; -ESTALE or -ENOENT: the
 * path does not lead to it in our own mount namespace; -EXDEV: it leads across such a mount; or
 * another -errno.
 */
int known_libraries_add(const char *list, const char *path, dev_t dev, ino_t inode);

#endif /* MEMSCOPE_CAPTURE_TARGETS_KNOWN_LIBRARIES_H */
