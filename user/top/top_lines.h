/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a screen: text with styles (top_bar.h), independent of the terminal.
 */
#ifndef MEMSCOPE_TOP_TOP_LINES_H
#define MEMSCOPE_TOP_TOP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct top_lines {
	struct string *lines; /* `height` of them; the terminal cuts those that are too long */
	size_t width, height, capacity;
	bool ascii; /* the terminal shows nothing else */
};

/* Empties them, for a terminal of that size. Returns 0 or -ENOMEM. */
int top_lines_begin(struct top_lines *lines, size_t width, size_t height);
void top_lines_fini(struct top_lines *lines);

/* Whether something is missing because there was no memory for it. */
bool top_lines_failed(const struct top_lines *lines);

/* How many columns the text takes; styles take none. */
size_t top_lines_width(const char *text, size_t length);

/* How many bytes of it fit into `width` columns. */
size_t top_lines_cut(const char *text, size_t length, size_t width);

/*
 * Appends a text in a field of `width` columns: cut, or padded with spaces (on the left if
 * `right`).
 */
void top_lines_put(struct string *line, const struct string *text, size_t width, bool right);

/*
 * Shows lines of `text` from line `from` on, those behind the first `*scroll`, which is made less
 * if that would leave room for more; at most `height` of them. Returns how many there are in all.
 */
size_t top_lines_scroll(struct top_lines *lines, size_t from, size_t height,
			const struct string *text, size_t *scroll);

#endif /* MEMSCOPE_TOP_TOP_LINES_H */
