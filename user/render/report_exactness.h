/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the numbers of a report can be trusted, in a sentence: what was lost, which processes
 * held something before they were seen. The verdict ends with it.
 */
#ifndef MEMSCOPE_RENDER_REPORT_EXACTNESS_H
#define MEMSCOPE_RENDER_REPORT_EXACTNESS_H

#include "base/string.h"
#include "report/report.h"

/* Appends the sentence, with its full stop. */
void report_append_exactness(struct string *out, const struct report *report);

/* With what the verdict begins if records could not be written: how many. Else nothing. */
void report_append_unwritten(struct string *out, const struct report *report);

/* "Nothing wrong was found", with what it is not about; what follows goes on. */
void report_append_nothing_found(struct string *out, const struct report *report);

#endif /* MEMSCOPE_RENDER_REPORT_EXACTNESS_H */
