/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of `memscope-bpf top` that scroll by lines: a process, and the help.
 */
#ifndef MEMSCOPE_TOP_TOP_PAGES_H
#define MEMSCOPE_TOP_TOP_PAGES_H

#include "top/top_lines.h"
#include "top/top_view.h"
#include "top/top_words.h"

/* Draws `height` lines, from line `from` on. */
void top_pages_process(struct top_lines *lines, size_t from, size_t height, struct top_view *view,
		       const struct top *top, const struct top_status *status);
void top_pages_help(struct top_lines *lines, size_t from, size_t height, struct top_view *view);

#endif /* MEMSCOPE_TOP_TOP_PAGES_H */
