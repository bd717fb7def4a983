/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole screen of `memscope-bpf top`: what a terminal of some size shows of the last look.
 * Drawing costs what there is room for and, for the largest blocks, a step for each block of one
 * process. Nothing here knows a terminal.
 */
#ifndef MEMSCOPE_TOP_TOP_SCREEN_H
#define MEMSCOPE_TOP_TOP_SCREEN_H

#include "top/top_lines.h"
#include "top/top_view.h"
#include "top/top_words.h"

#define TOP_SCREEN_LEAST_WIDTH 40
#define TOP_SCREEN_LEAST_HEIGHT 10

/* `message`: what is to be said at the bottom, safe; NULL: nothing. */
void top_screen_draw(struct top_lines *lines, struct top_view *view, const struct top *top,
		     const struct top_status *status, const char *message);

#endif /* MEMSCOPE_TOP_TOP_SCREEN_H */
