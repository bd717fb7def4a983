/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of --suppress: reading it, and the messages about lines that were of no use.
 */
#ifndef MEMSCOPE_COMMANDS_SUPPRESS_FILE_H
#define MEMSCOPE_COMMANDS_SUPPRESS_FILE_H

#include "report/suppressions.h"

/* Returns 0 or -errno, logged. */
int suppress_file_read(struct suppressions *suppressions, const char *path);

/* Warns of each entry that no finding matches, or of which a finding is only a part. */
void suppress_file_tell(const struct suppressions *suppressions, const char *path);

#endif /* MEMSCOPE_COMMANDS_SUPPRESS_FILE_H */
