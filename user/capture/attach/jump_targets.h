/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of a file are entered elsewhere than at their first byte: their probes must not
 * be behind it.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_JUMP_TARGETS_H
#define MEMSCOPE_CAPTURE_ATTACH_JUMP_TARGETS_H

#include "capture/attach/library.h"

/*
 * Moves no point of the library behind a place that is entered: by other functions that begin
 * between a function's entry and its point, and by branches from anywhere in the file, as of parts
 * of a function that the compiler has moved away, and of code written by hand. Returns 0 or
 * -ENOMEM; if not all of the file could be read, no point is behind its function's first byte.
 */
int jump_targets_distrust(struct library *library, int fd);

#endif /* MEMSCOPE_CAPTURE_ATTACH_JUMP_TARGETS_H */
