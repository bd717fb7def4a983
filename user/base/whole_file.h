/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that gets its name once all of it has been written: a reader who finds it has a whole one,
 * and what was there before stays until then. It belongs to the user who writes it, whatever was
 * there.
 */
#ifndef MEMSCOPE_BASE_WHOLE_FILE_H
#define MEMSCOPE_BASE_WHOLE_FILE_H

#include <stdbool.h>

#include "base/draft.h"

/* A zeroed one is none. */
struct whole_file {
	char *path; /* where it shall be, as it was named */
	bool is_part;
	struct draft part; /* what is to be written; if not `is_part`, `path` itself is */
};

/*
 * Creates the file that is to be written. It has the mode and group of the caller's own file if it
 * takes the place of one, else the umask's. A pipe, a device or a descriptor
 * (/dev/stdout) is written to as it is; a file that is a mount is refused, and so is what lies
 * behind a link of another user's (base/place.h). Returns 0 or -errno, logged.
 */
int whole_file_begin(struct whole_file *file, const char *path);

/* Gives it its name if it is `whole`, else removes it. Returns 0 or -errno, logged. */
int whole_file_end(struct whole_file *file, bool whole);

#endif /* MEMSCOPE_BASE_WHOLE_FILE_H */
