/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes Python's pickle format (Lib/pickletools.py describes it) into a string, with the opcodes
 * that PyTorch's viewer of memory snapshots knows, and no others (torch/utils/viz/MemoryViz.js).
 *
 * A value that is written is on a stack. What is put between a mark and pickle_append_all() goes
 * into the list that was there before the mark, and pairs between a mark and pickle_set_all() into
 * the dictionary.
 */
#ifndef MEMSCOPE_EXPORT_PICKLE_H
#define MEMSCOPE_EXPORT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

void pickle_begin(struct string *out);
void pickle_end(struct string *out); /* the one value that is left is the whole */

void pickle_dict(struct string *out);
void pickle_list(struct string *out);
void pickle_mark(struct string *out);
void pickle_append_all(struct string *out);
void pickle_set_all(struct string *out);
void pickle_set(struct string *out); /* the last two values into the dictionary before them */

void pickle_u64(struct string *out, uint64_t value); /* above INT64_MAX: INT64_MAX */
void pickle_bool(struct string *out, bool value);
void pickle_text(struct string *out, const char *text, size_t length); /* UTF-8 */

/* Remembers the last value under a number, and puts it again. */
void pickle_remember(struct string *out, uint32_t number);
void pickle_recall(struct string *out, uint32_t number);

#endif /* MEMSCOPE_EXPORT_PICKLE_H */
