/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look of `memscope-bpf top` as plain tables, for output that is not a terminal.
 */
#ifndef MEMSCOPE_TOP_TOP_TEXT_H
#define MEMSCOPE_TOP_TOP_TEXT_H

#include "render/document.h"
#include "top/top.h"
#include "top/top_words.h"

/* The rows in their order, at most the document's `top`. */
void top_text_append(struct document *document, const struct top *top,
		     const struct top_status *status);

#endif /* MEMSCOPE_TOP_TOP_TEXT_H */
