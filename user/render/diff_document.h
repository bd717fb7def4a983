/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as what people read, without saying how that looks: headings, sentences and tables, one
 * after the other. Formats that are for people draw these.
 */
#ifndef MEMSCOPE_RENDER_DIFF_DOCUMENT_H
#define MEMSCOPE_RENDER_DIFF_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diff.h"

struct diff_column {
	const char *name; /* NULL: there are no more */
	bool number;
};

/* Text is safe for terminals, and has to be escaped for the format. */
struct diff_cell {
	const char *text;
	size_t length;
	bool strong; /* it differs by more than noise */
	bool sorted; /* a number: by which rows are sorted, if they are; else by the text */
	int64_t value;
	const char *exact; /* in full, if the text is rounded; NULL: it is not */
};

/* What draws. */
struct diff_drawing {
	void (*heading)(struct diff_drawing *drawing, const char *name, const char *text);
	void (*paragraph)(struct diff_drawing *drawing, const char *text, size_t length);
	void (*table)(struct diff_drawing *drawing, const char *name, const char *caption,
		      const struct diff_column *columns);
	void (*row)(struct diff_drawing *drawing);
	void (*cell)(struct diff_drawing *drawing, const struct diff_cell *cell);
	void (*row_end)(struct diff_drawing *drawing);
	void (*table_end)(struct diff_drawing *drawing, size_t left_out);
	size_t top;  /* rows of a table, at most */
	bool failed; /* there was no memory for some of it */
};

/* All of it but the verdict. */
void diff_document_tables(struct diff_drawing *drawing, const struct diff *diff);

#endif /* MEMSCOPE_RENDER_DIFF_DOCUMENT_H */
