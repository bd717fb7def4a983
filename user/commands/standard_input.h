/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording on standard input, which "-" stands for: readers go back and forth in it, so what
 * comes through a pipe is kept in a file without a name first.
 */
#ifndef MEMSCOPE_COMMANDS_STANDARD_INPUT_H
#define MEMSCOPE_COMMANDS_STANDARD_INPUT_H

/*
 * If "-" is among the files (which end with NULL), makes standard input one that can be read back
 * and forth. Returns 0 or -errno, logged.
 */
int standard_input_prepare(char *const *files);

#endif /* MEMSCOPE_COMMANDS_STANDARD_INPUT_H */
