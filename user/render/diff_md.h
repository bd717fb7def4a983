/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as Markdown (CommonMark with tables): for terminals, tickets and pull requests.
 */
#ifndef MEMSCOPE_RENDER_DIFF_MD_H
#define MEMSCOPE_RENDER_DIFF_MD_H

#include <stddef.h>

#include "base/string.h"
#include "report/diff.h"

/* At most `top` rows of everything. */
void diff_md(struct string *out, const struct diff *diff, size_t top);

#endif /* MEMSCOPE_RENDER_DIFF_MD_H */
