/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents, or parts of them, in an HTML page: tables that can be sorted and filtered. A heading
 * begins a section, which goes on to the next one.
 */
#ifndef MEMSCOPE_RENDER_DOCUMENT_HTML_H
#define MEMSCOPE_RENDER_DOCUMENT_HTML_H

#include "render/document.h"
#include "render/report_html.h"

struct document_html {
	struct document document; /* first */
	struct html *html;
	const struct document_column *column; /* of the next cell */
	enum document_block list;             /* that is open; DOCUMENT_PARAGRAPH: none */
	bool in_section;
};

/* At most `top` rows of everything. */
void document_html_init(struct document_html *of, struct html *html, size_t top);

/* Ends what is open. What there was no memory for is missing in the page, which says so. */
void document_html_fini(struct document_html *of);

#endif /* MEMSCOPE_RENDER_DOCUMENT_HTML_H */
