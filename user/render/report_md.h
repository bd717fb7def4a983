/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as Markdown (CommonMark with tables): for tickets and chat.
 */
#ifndef MEMSCOPE_RENDER_REPORT_MD_H
#define MEMSCOPE_RENDER_REPORT_MD_H

#include <stdbool.h>

#include "base/string.h"
#include "report/report.h"

/* `ascii`: for a terminal that cannot show anything else; `thresholds`: as report_document(). */
void report_md(struct string *out, const struct report *report, bool ascii, bool thresholds);

#endif /* MEMSCOPE_RENDER_REPORT_MD_H */
