/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with symbols, by the build id of what was traced: from a directory that the user names, or
 * from a debuginfod server if he asks for that. A file with another build id is never used.
 */
#ifndef MEMSCOPE_SYMBOLS_SYMBOL_FILES_H
#define MEMSCOPE_SYMBOLS_SYMBOL_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct symbol_files_options {
	const char *directory; /* NULL: none */
	bool debuginfod;       /* the servers in DEBUGINFOD_URLS are asked */
};

struct symbol_files;

/*
 * Looks through the directory, and the ones in it, for ELF files. Returns 0 or -errno, logged: the
 * directory cannot be read, or debuginfod cannot be used.
 */
int symbol_files_open(struct symbol_files **files, const struct symbol_files_options *options);
void symbol_files_close(struct symbol_files *files);

/*
 * A descriptor of the file with that build id (hexadecimal digits), which the caller closes;
 * negative: there is none. `name`: of the file that was traced; if one of that name is there with
 * another build id, a warning says so; -ESTALE if that was all that could be asked.
 */
int symbol_files_find(struct symbol_files *files, const char *build_id, const char *name);

/* Whether there is any in the directory; if not, a warning has said so. */
bool symbol_files_any(const struct symbol_files *files);

#endif /* MEMSCOPE_SYMBOLS_SYMBOL_FILES_H */
