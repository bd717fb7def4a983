/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts a thread's Python frames where they belong among its native ones: in place of the calls of
 * the interpreter's evaluating function that run them.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_STACK_H
#define MEMSCOPE_SYMBOLS_PYTHON_STACK_H

#include <stddef.h>

#include "abi.h"

/* What a native frame is to Python. */
enum python_stack_part {
	PYTHON_STACK_OTHER,
	PYTHON_STACK_INTERPRETER, /* a function of the interpreter */
	PYTHON_STACK_EVALUATION,  /* the one that evaluates frames, or a part of it */
};

/*
 * By its function's name and its file's path; "" is what is not known. Interpreters that are made
 * of tail calls (3.14) have a function for each instruction, with names that are stripped as a
 * rule.
 */
enum python_stack_part python_stack_part_of(const char *function, const char *path);

/*
 * `frames`: those of one stack, Python ones in their order and native ones in theirs. Writes to
 * `order` which of them follow each other, and returns how many: native frames that Python frames
 * stand for are left out. If none of them is known to evaluate, all Python frames come in front of
 * the innermost function of the interpreter. What has no place among the native frames, because
 * they end too early, or because it is of another thread, comes behind them.
 */
size_t python_stack_order(const struct ms_stack_frame *frames, size_t count,
			  enum python_stack_part (*part_of)(const struct ms_stack_frame *frame,
							    void *context),
			  void *context, __u16 order[MS_STACK_MOST]);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_STACK_H */
