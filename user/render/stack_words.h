/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames and stacks as people read them.
 */
#ifndef MEMSCOPE_RENDER_STACK_WORDS_H
#define MEMSCOPE_RENDER_STACK_WORDS_H

#include "base/string.h"
#include "ledger/stacks.h"

/*
 * Appends "libtorch.so(at::empty+0x1d) [0x2dd9f]", or "train.step (train.py:7)"; "?" for NULL.
 * Nothing in it can move a terminal's cursor.
 */
void stack_words_append(struct string *out, const struct frame *frame);

/* The function alone, or where in which file it is: "at::empty", "libcrypt.so+0x1234". */
void stack_words_append_function(struct string *out, const struct frame *frame);

/* Why it ends, an enum ms_stack_end: in words, and as JSON has it. */
const char *stack_words_end(uint8_t end);
const char *stack_words_end_name(uint8_t end);

#endif /* MEMSCOPE_RENDER_STACK_WORDS_H */
