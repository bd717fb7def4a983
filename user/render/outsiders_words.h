/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report says, a line each, of processes that are not what was asked for to be recorded, or
 * not any more: children, and those that have left a cgroup. Nothing if there are none.
 */
#ifndef MEMSCOPE_RENDER_OUTSIDERS_WORDS_H
#define MEMSCOPE_RENDER_OUTSIDERS_WORDS_H

#include "base/string.h"
#include "report/report.h"

void outsiders_words(struct string *out, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_OUTSIDERS_WORDS_H */
