// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_text.h"

#include "render/report_document.h"

void report_text(struct string *out, const struct report *report, bool thresholds,
		 const struct document_text_options *options)
{
	struct document_text text;

	document_text_init(&text, out, report->options.top, options);
	report_document(&text.document, report, thresholds);
	document_text_fini(&text);
}
