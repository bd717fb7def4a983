// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_md.h"

#include "render/diff_document.h"
#include "render/document_md.h"

void diff_md(struct string *out, const struct diff *diff, size_t top)
{
	struct document_md md;

	document_md_init(&md, out, top);
	diff_document(&md.document, diff);
	document_md_fini(&md);
}
