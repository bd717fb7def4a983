/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents as Markdown (CommonMark with tables): for tickets, chat and pull requests.
 */
#ifndef MEMSCOPE_RENDER_DOCUMENT_MD_H
#define MEMSCOPE_RENDER_DOCUMENT_MD_H

#include "render/document.h"

struct document_md {
	struct document document; /* first */
	struct string *out;
	size_t items; /* of the list that is open */
};

/* At most `top` rows of everything. */
void document_md_init(struct document_md *md, struct string *out, size_t top);

/* What there was no memory for is missing in `out`, which says so. */
void document_md_fini(struct document_md *md);

#endif /* MEMSCOPE_RENDER_DOCUMENT_MD_H */
