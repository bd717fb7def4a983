/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of processes on the screen of `memscope-bpf top`: with as many columns as fit.
 */
#ifndef MEMSCOPE_TOP_TOP_LIST_H
#define MEMSCOPE_TOP_TOP_LIST_H

#include "top/top_lines.h"
#include "top/top_view.h"
#include "top/top_words.h"

/* Draws from line `from` on: a heading and at most `height` - 1 rows, with the selected row. */
void top_list_draw(struct top_lines *lines, size_t from, size_t height, struct top_view *view,
		   const struct top *top, const struct top_status *status);

#endif /* MEMSCOPE_TOP_TOP_LIST_H */
