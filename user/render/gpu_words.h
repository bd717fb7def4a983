/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words for the times of GPUs: how they are known, and what of them is missing. The same in
 * the report and in the summary of a trace.
 */
#ifndef MEMSCOPE_RENDER_GPU_WORDS_H
#define MEMSCOPE_RENDER_GPU_WORDS_H

#include "base/string.h"
#include "ledger/state.h"

/* A kernel's name as people write it, shortened; NULL: "?". */
void gpu_words_kernel(struct string *out, const char *name);

/* "CUPTI 13.0"; what is measured or why nothing is. Ends with a full stop. */
void gpu_words_state(struct string *out, const struct gpu_times *times);

/* How much could be joined with calls, and how far the clocks can be apart; nothing if neither. */
void gpu_words_joins(struct string *out, const struct gpu_times *times);

/* What was lost. Returns false if nothing was, as far as is known. */
bool gpu_words_losses(struct string *out, const struct gpu_times *times);

const char *gpu_words_state_name(uint32_t state);   /* of enum ms_gpu_state: "on" */
const char *gpu_words_reason_name(uint32_t reason); /* of enum ms_gpu_reason */

#endif /* MEMSCOPE_RENDER_GPU_WORDS_H */
