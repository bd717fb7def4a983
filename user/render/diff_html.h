/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as one HTML file that needs nothing else: the tables of the Markdown, which can be sorted
 * and filtered, in the frame of the HTML report.
 */
#ifndef MEMSCOPE_RENDER_DIFF_HTML_H
#define MEMSCOPE_RENDER_DIFF_HTML_H

#include <stddef.h>

#include "base/string.h"
#include "report/diff.h"

/* At most `top` rows of everything. */
void diff_html(struct string *out, const struct diff *diff, size_t top);

#endif /* MEMSCOPE_RENDER_DIFF_HTML_H */
