/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a process that may hold functions to probe: the code it has mapped and the code it
 * is expected to map, each opened as the very file that it is, in whichever mount namespace and
 * even if it was deleted.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_FILES_H
#define MEMSCOPE_CAPTURE_TARGETS_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/proc.h"

struct file {
	int fd;           /* -errno: it is a CUDA library by its name, and cannot be opened */
	const char *path; /* as the process sees it */
	bool mapped;      /* else expected to be */
};

/*
 * Opens a mapped file: through the mapping itself if `map_files` (FEATURE_MAP_FILES), else by its
 * path, if that still leads to the same file. Returns a descriptor or -errno.
 */
int file_open_mapping(pid_t pid, const struct proc_mapping *mapping, bool map_files);

/* The same of a process that is gone: by its path in our own mount namespace. */
int file_open_here(const struct proc_mapping *mapping);

/*
 * Whether a CUDA library, by its name, could not be opened, and not because the mapping is gone.
 * `fd` is file_open_mapping()'s.
 */
bool file_is_unread(int fd, const struct proc_mapping *mapping);

/*
 * Calls `visit` for every file of the process; if it is about to execute `program` (else NULL), for
 * that one and what it is linked with, too. A file can come more than once; its descriptor is
 * closed after the call. What cannot be opened does not come, but for mapped CUDA libraries.
 * Returns the first non-zero result of `visit`, 0, or -errno: -ESRCH if the process is gone.
 */
int file_each(pid_t pid, bool map_files, const char *program,
	      int (*visit)(const struct file *file, void *context), void *context);

#endif /* MEMSCOPE_CAPTURE_TARGETS_FILES_H */
