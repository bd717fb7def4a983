/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small text files that decide what a privileged process does: configurations, keys, passwords.
 */
#ifndef MEMSCOPE_BASE_TRUSTED_FILE_H
#define MEMSCOPE_BASE_TRUSTED_FILE_H

#include <stddef.h>

/*
 * Reads the rest of an open file of at most `most` bytes, without a byte 0, and ends it with one.
 * Refuses it if users other than its reader and root could have written it. Returns 0 or -errno,
 * logged; the caller frees `*text`.
 */
int trusted_file_take(int fd, const char *path, size_t most, char **text);

/* Opens it, too. */
int trusted_file_read(const char *path, size_t most, char **text);

/* Overwrites a text that is a secret, and frees it. NULL does nothing. */
void trusted_file_forget(char *text);

#endif /* MEMSCOPE_BASE_TRUSTED_FILE_H */
