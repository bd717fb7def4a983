/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of documents (with its marks, render/document.h) in the columns of a terminal: how wide it
 * is, where a line ends, what of it may be shown.
 */
#ifndef MEMSCOPE_RENDER_WRAP_H
#define MEMSCOPE_RENDER_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct wrap_look {
	bool ascii;  /* what is not ASCII is "?" */
	bool colour; /* what is strong is bold */
};

/* Columns that it takes: one for each character. Names are ASCII by then, and bars are narrow. */
size_t wrap_width(const char *text, size_t length);

/* Columns of the widest word. */
size_t wrap_word_width(const char *text, size_t length);

/*
 * How many bytes go on a line of `width` columns (at least 1); `*next` is where the next one is.
 * Lines end at spaces, but not at those between marks of code or of a command, nor before a unit; a
 * word that is too long is broken.
 */
size_t wrap_line(const char *text, size_t length, size_t width, size_t *next);

/* Cuts what has been written from `begin` on to `width` columns, of which the last is ">" then. */
void wrap_cut(struct string *out, size_t begin, size_t width);

/* Appends it for a terminal: nothing in it moves the cursor, whatever it is. */
void wrap_append(struct string *out, const char *text, size_t length, const struct wrap_look *look);

#endif /* MEMSCOPE_RENDER_WRAP_H */
