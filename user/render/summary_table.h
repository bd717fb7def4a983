/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a trace's summary: columns of a fixed width, so that one below another is easy to
 * read. Where a line is too narrow for all of them, some give way, in an order that each table has.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_TABLE_H
#define MEMSCOPE_RENDER_SUMMARY_TABLE_H

#include <stdint.h>

#include "base/string.h"

struct summary_column {
	const char *head; /* NULL: there are no more */
	int width;        /* flush right; negative: flush left; of the last one, the least */
	int gives_way;    /* 1: before all others, 2: after that; 0: never */
};

struct summary_table {
	struct string *out;
	size_t width; /* of a line; 0: of any length */
	const struct summary_column *columns;
	uint32_t left_out; /* bit set of columns */
};

/* With a line of headings. */
void summary_table_begin(struct summary_table *table, struct string *out, size_t width,
			 const struct summary_column *columns);

/*
 * A cell for each column. It may be wider than that, but has no control characters. What does not
 * fit into the line is cut off.
 */
void summary_table_row(const struct summary_table *table, const char *const *cells);

/* Text from `begin` on: sentences that are longer than a line go on in the next one, indented. */
void summary_table_wrap(struct string *out, size_t begin, size_t width);

#endif /* MEMSCOPE_RENDER_SUMMARY_TABLE_H */
