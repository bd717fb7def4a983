/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What allocations, or tensors, from one place come to; a part of report/sites.h.
 */
#ifndef MEMSCOPE_REPORT_SITE_TOTAL_H
#define MEMSCOPE_REPORT_SITE_TOTAL_H

#include "ledger/tensor_worth.h"

/* How exact the bytes of tensors are: see tensor_worth_error(). */
struct site_chance {
	uint64_t most;                     /* that a block stands for; 0: they are exact */
	double live, peak, at_peak, alloc; /* variances */
};

/*
 * What allocations from one place come to. Of tensors these are estimates, if the stacks of some
 * of them were left to chance.
 */
struct site_total {
	/* In the end; of a process that has ended: then. */
	uint64_t live_bytes, live_count;
	uint64_t peak_bytes;          /* the most at a time, of each process by itself */
	uint64_t at_peak_bytes;       /* of tensors: when the process had most in all of them */
	uint64_t alloc_bytes, allocs; /* in all */
	struct site_chance chance;
};

/* Each is counted in TENSOR_WORTH_PARTS of a block until site_total_round(). */
void site_total_hold(struct site_total *total, const struct tensor_worth *worth);
void site_total_add_alloc(struct site_total *total, const struct tensor_worth *worth);

/* What was allocated before it was looked at may be released: nothing is below 0. */
void site_total_release(struct site_total *total, const struct tensor_worth *worth);

/* Nothing is live. */
void site_total_clear(struct site_total *total);

/* Tensors of the process are at their peak. */
void site_total_note_peak(struct site_total *total);

/* From parts to whole blocks. */
void site_total_round(struct site_total *total);

/* Adds places up. Their peaks were not at one time, so the sum of those is the most it can be. */
void site_total_add(struct site_total *to, const struct site_total *from);

/* How many bytes they may be off in at most 5 of 100 cases. */
uint64_t site_total_live_error(const struct site_total *total);
uint64_t site_total_peak_error(const struct site_total *total);
uint64_t site_total_at_peak_error(const struct site_total *total);
uint64_t site_total_alloc_error(const struct site_total *total);

#endif /* MEMSCOPE_REPORT_SITE_TOTAL_H */
