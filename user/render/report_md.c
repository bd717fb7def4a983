// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_md.h"

#include "render/document_md.h"
#include "render/report_document.h"

void report_md(struct string *out, const struct report *report, bool ascii, bool thresholds)
{
	struct document_md md;

	document_md_init(&md, out, report->options.top);
	md.document.ascii = ascii;
	report_document(&md.document, report, thresholds);
	document_md_fini(&md);
}
