/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of one process in `memscope-bpf top`, as documents: its spaces, its call sites, its
 * largest blocks. The page of blocks costs a step for each live block; the others cost what they
 * show.
 */
#ifndef MEMSCOPE_TOP_TOP_DETAIL_H
#define MEMSCOPE_TOP_TOP_DETAIL_H

#include "render/document.h"
#include "top/top_view.h"
#include "top/top_words.h"

/* A paragraph that identifies the process. */
void top_detail_who(struct document *document, const struct process *process);

/* A part of its page. */
void top_detail_append(struct document *document, enum top_tab tab, const struct state *state,
		       const struct process *process, const struct top_status *status);

/* The 20 call stacks that hold most, of all rows: for plain tables, which have no pages. */
void top_detail_sites_of_all(struct document *document, const struct top *top);

const char *top_detail_tab_name(enum top_tab tab);

#endif /* MEMSCOPE_TOP_TOP_DETAIL_H */
