/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as aligned text, for terminals.
 */
#ifndef MEMSCOPE_RENDER_DIFF_TEXT_H
#define MEMSCOPE_RENDER_DIFF_TEXT_H

#include <stddef.h>

#include "base/string.h"
#include "render/document_text.h"
#include "report/diff.h"

/* At most `top` rows of everything. */
void diff_text(struct string *out, const struct diff *diff, size_t top,
	       const struct document_text_options *options);

#endif /* MEMSCOPE_RENDER_DIFF_TEXT_H */
