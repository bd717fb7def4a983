/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents as aligned text, for terminals. What is strong in a table has a star, and is bold where
 * there is colour.
 */
#ifndef MEMSCOPE_RENDER_DOCUMENT_TEXT_H
#define MEMSCOPE_RENDER_DOCUMENT_TEXT_H

#include "render/columns.h"
#include "render/document.h"
#include "render/wrap.h"

struct document_text_options {
	size_t width; /* columns of a line */
	struct wrap_look look;
};

struct document_text {
	struct document document; /* first */
	struct string *out;
	struct document_text_options options;
	struct columns columns; /* of the table that is open */
	size_t items;           /* of the list that is open */
};

/* At most `top` rows of everything. */
void document_text_init(struct document_text *text, struct string *out, size_t top,
			const struct document_text_options *options);

/* What there was no memory for is missing in `out`, which says so. */
void document_text_fini(struct document_text *text);

#endif /* MEMSCOPE_RENDER_DOCUMENT_TEXT_H */
