/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that gets its name once all of it has been written: whoever finds it has a whole one, and
 * what was there before stays until then.
 */
#ifndef MEMSCOPE_OUTPUT_WHOLE_FILE_H
#define MEMSCOPE_OUTPUT_WHOLE_FILE_H

#include <stdbool.h>

/* A zeroed one is none. */
struct whole_file {
	char *path; /* where it shall be */
	char *part; /* what is to be written, beside it; NULL: `path` itself, no plain file */
};

/*
 * Creates the file that is to be written: as `path` is if that exists, else readable by its owner
 * alone. A pipe, a device or a descriptor (/dev/stdout) is written to as it is; a file that is a
 * mount is refused. Returns 0 or -errno, logged.
 */
int whole_file_begin(struct whole_file *file, const char *path);

/* What to open: it exists unless it is `path` itself. */
const char *whole_file_part(const struct whole_file *file);

/* Gives it its name if it is `whole`, else removes it. Returns 0 or -errno, logged. */
int whole_file_end(struct whole_file *file, bool whole);

#endif /* MEMSCOPE_OUTPUT_WHOLE_FILE_H */
