/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the dynamic loader of a process finds its libraries, inside the process's own root: so that
 * probes can be put into a file before the process maps it.
 */
#ifndef MEMSCOPE_HOST_LOADER_H
#define MEMSCOPE_HOST_LOADER_H

#include <limits.h>

struct loader {
	int root_fd;              /* the root directory of the process */
	const char *library_path; /* LD_LIBRARY_PATH, may be "" */
	const char *directory;    /* the working directory of the process, for relative paths */
};

/*
 * Opens `path` below the root directory, symbolic links included. Returns a descriptor or -errno.
 */
int loader_open_in_root(int root_fd, const char *path);

/*
 * Opens the library `name` that the loader would take for a file lying in `origin` with these paths
 * (NULL: none); puts its path into `path`. Returns a descriptor or -errno. See ld.so(8).
 */
int loader_find(const struct loader *loader, const char *name, const char *origin,
		const char *rpath, const char *runpath, char path[PATH_MAX]);

/* The same for a program that execvp(3) finds in the list of directories `list`. */
int loader_find_program(const struct loader *loader, const char *name, const char *list,
			char path[PATH_MAX]);

#endif /* MEMSCOPE_HOST_LOADER_H */
