/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames and stacks as people read them.
 */
#ifndef MEMSCOPE_RENDER_STACK_WORDS_H
#define MEMSCOPE_RENDER_STACK_WORDS_H

#include "base/string.h"
#include "ledger/stacks.h"
#include "report/site_ends.h"

/*
 * Appends "libtorch.so(at::empty+0x1d) [0x2dd9f]", or "train.step (train.py:7)"; "?" for NULL.
 * Nothing in it can move a terminal's cursor.
 */
void stack_words_append(struct string *out, const struct frame *frame);

/* Appends "at::empty", "libtorch.so+0x2dd9f", or the same as above. */
void stack_words_append_function(struct string *out, const struct frame *frame);

/*
 * Appends what tells two stacks apart, the innermost first: lines of Python, if there are any, the
 * innermost one and the program's own, "linear (functional.py:10) < ... < train (train.py:22)" (at
 * most four of them);
 * else the functions that are not CUDA's own, "take < fill (fill.c:12) < main". What programs have
 * chosen is as it is, for the caller to make safe: a document does.
 */
void stack_words_append_chain(struct string *out, const struct stacks *stacks,
			      const struct stack *stack);

/* The same without the lines: "linear (functional.py) < ... < train (train.py)". */
void stack_words_append_functions(struct string *out, const struct stacks *stacks,
				  const struct stack *stack);

/*
 * How many frames from the i-th on are the Python interpreter's own, in a stack that has lines of
 * Python: those say what it interprets.
 */
size_t stack_words_interpreter(const struct stacks *stacks, const struct stack *stack, size_t i);

/* The innermost line of the program itself, in Python if there is one; NULL: none is known. */
const struct frame *stack_words_own_line(const struct stacks *stacks, const struct stack *stack);

/* Why it ends, an enum ms_stack_end: in words, and as JSON has it. */
const char *stack_words_end(uint8_t end);
const char *stack_words_end_name(uint8_t end);

/* Of how many allocations it is not known where they were made, or only in part: they lack it. */
void stack_words_append_ends(struct string *out, const struct site_ends *ends);

#endif /* MEMSCOPE_RENDER_STACK_WORDS_H */
