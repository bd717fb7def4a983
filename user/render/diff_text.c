// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_text.h"

#include "render/diff_document.h"

void diff_text(struct string *out, const struct diff *diff, size_t top,
	       const struct document_text_options *options)
{
	struct document_text text;

	document_text_init(&text, out, top, options);
	diff_document(&text.document, diff);
	document_text_fini(&text);
}
