/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as a document: what changed, whatever it looks like.
 */
#ifndef MEMSCOPE_RENDER_DIFF_DOCUMENT_H
#define MEMSCOPE_RENDER_DIFF_DOCUMENT_H

#include "render/document.h"
#include "report/diff.h"

void diff_document(struct document *document, const struct diff *diff);

/* All of it but its heading and the verdict. */
void diff_document_tables(struct document *document, const struct diff *diff);

#endif /* MEMSCOPE_RENDER_DIFF_DOCUMENT_H */
