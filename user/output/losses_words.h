/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was lost, how much and why, in words.
 */
#ifndef MEMSCOPE_OUTPUT_LOSSES_WORDS_H
#define MEMSCOPE_OUTPUT_LOSSES_WORDS_H

#include "base/string.h"
#include "model/losses.h"

/* "12 events and 3 other records" */
void losses_append_amount(struct string *out, const struct losses *losses);

/* "4 of them were not followed: ...", of `untracked` calls that were mentioned before. */
void losses_append_untracked(struct string *out, uint64_t untracked);

#endif /* MEMSCOPE_OUTPUT_LOSSES_WORDS_H */
