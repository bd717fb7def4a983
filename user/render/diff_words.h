/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the formats of a diff say alike: the verdict, how processes and rows are called.
 */
#ifndef MEMSCOPE_RENDER_DIFF_WORDS_H
#define MEMSCOPE_RENDER_DIFF_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "report/diff.h"
#include "render/verdict.h"

void diff_verdict(struct verdict *verdict, const struct diff *diff);

/* Appends "train (10, now 99)"; safe for terminals. */
void diff_append_pair(struct string *out, const struct diff_pair *pair);

/* Appends the difference with its sign: "+15 MiB". */
void diff_append_change(struct string *out, enum finding_unit unit, uint64_t a, uint64_t b);

/* Appends a number's change: "allocations +20". */
void diff_append_metric(struct string *out, const struct diff_row *row, enum diff_metric metric);

/* Appends "4 MiB to 8 MiB". */
void diff_append_class(struct string *out, uint8_t size_class);

/* Appends "12 MiB more device memory at the end (...)": what --fail-on growth says. */
void diff_append_growth(struct string *out, const struct diff_growth *growth);

/* Appends "train (99)". */
void diff_append_finding_process(struct string *out, const struct diff_finding *one);

/* Appends "leak-growth in train (99) by cudaMalloc (15 MiB)". */
void diff_append_finding(struct string *out, const struct diff_finding *one);

/* Appends "cuCtxSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) in train (99)". */
void diff_append_failure(struct string *out, const struct diff_row *row);

/* "ended otherwise: killed by signal 9 now, exited with 0 before" */
void diff_append_ends(struct string *out, const struct diff_pair *pair);

/* The direction of a copy: "HtoD"; NULL: not known. */
const char *diff_direction(const struct diff_row *row);

/* The first table that has rows of that dimension is called so. */
const char *diff_title(enum diff_dimension dimension);

#endif /* MEMSCOPE_RENDER_DIFF_WORDS_H */
