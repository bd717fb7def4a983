/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole screen of `memscope-bpf top`: how the last look appears on a terminal of some size. The
 * cost depends on the size and, for the page of the largest blocks, on the blocks of one process.
 * The terminal itself is top_tty.h's.
 */
#ifndef MEMSCOPE_TOP_TOP_SCREEN_H
#define MEMSCOPE_TOP_TOP_SCREEN_H

#include "top/top_lines.h"
#include "top/top_view.h"
#include "top/top_words.h"

#define TOP_SCREEN_LEAST_WIDTH 40
#define TOP_SCREEN_LEAST_HEIGHT 10

/* `message`: the last line, safe for terminals; NULL: none. */
void top_screen_draw(struct top_lines *lines, struct top_view *view, const struct top *top,
		     const struct top_status *status, const char *message);

#endif /* MEMSCOPE_TOP_TOP_SCREEN_H */
