/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table in the columns of a terminal. Numbers are aligned to the right and never broken; where
 * there is not enough room, headings and then text go on in the next line, and a table that is too
 * wide even so goes on below, with its first column again, in rows that have more.
 */
#ifndef MEMSCOPE_RENDER_COLUMNS_H
#define MEMSCOPE_RENDER_COLUMNS_H

#include "render/document.h"
#include "render/wrap.h"

struct columns {
	const struct document_column *heads; /* the caller's, and live until it is drawn */
	size_t count;
	struct columns_cell *cells; /* by rows */
	size_t cells_count, capacity;
	struct string text; /* of all of them */
	bool failed;        /* there was no memory for a cell */
};

/* Empties it. */
void columns_begin(struct columns *columns, const struct document_column *heads);

/* Row by row: a cell for each column. */
void columns_add(struct columns *columns, const char *text, size_t length, bool strong);

/* `width`: of a line; 0: it may be of any length. */
void columns_draw(const struct columns *columns, struct string *out, size_t width,
		  const struct wrap_look *look);
void columns_fini(struct columns *columns);

#endif /* MEMSCOPE_RENDER_COLUMNS_H */
