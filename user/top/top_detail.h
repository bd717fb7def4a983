/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `memscope-bpf top` says of one process: its spaces, its call sites, its largest blocks, as
 * documents. Looking at the blocks costs a step for each that is live, the rest goes with what is
 * shown.
 */
#ifndef MEMSCOPE_TOP_TOP_DETAIL_H
#define MEMSCOPE_TOP_TOP_DETAIL_H

#include "render/document.h"
#include "top/top_view.h"
#include "top/top_words.h"

/* Who it is, in a paragraph. */
void top_detail_who(struct document *document, const struct process *process);

/* `tab` of its page. */
void top_detail_append(struct document *document, enum top_tab tab, const struct state *state,
		       const struct process *process, const struct top_status *status);

const char *top_detail_tab_name(enum top_tab tab);

#endif /* MEMSCOPE_TOP_TOP_DETAIL_H */
