/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts a thread's Python frames where they belong among its native ones: in place of the calls of
 * the interpreter's evaluating function that run them.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_STACK_H
#define MEMSCOPE_SYMBOLS_PYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/* Whether that is the name of the evaluating function, or of a part that the compiler split off. */
bool python_stack_is_evaluation(const char *function);

/*
 * `frames`: those of one stack, Python ones in their order and native ones in theirs. Writes to
 * `order` which of them follow each other, and returns how many: native frames that Python frames
 * stand for are left out. What has no place among the native frames, because they end too early, or
 * because it is of another thread, comes behind them.
 */
size_t python_stack_order(const struct ms_stack_frame *frames, size_t count,
			  bool (*evaluates)(const struct ms_stack_frame *frame, void *context),
			  void *context, __u16 order[MS_STACK_MOST]);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_STACK_H */
