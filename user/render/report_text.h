/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as aligned text, for terminals.
 */
#ifndef MEMSCOPE_RENDER_REPORT_TEXT_H
#define MEMSCOPE_RENDER_REPORT_TEXT_H

#include <stdbool.h>

#include "base/string.h"
#include "render/document_text.h"
#include "report/report.h"

/* `thresholds`: as report_document(). */
void report_text(struct string *out, const struct report *report, bool thresholds,
		 const struct document_text_options *options);

#endif /* MEMSCOPE_RENDER_REPORT_TEXT_H */
