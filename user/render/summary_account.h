/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The account of events, at the end of the summary for people: seen = shown + filtered + lost, why,
 * and what tracing took.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_ACCOUNT_H
#define MEMSCOPE_RENDER_SUMMARY_ACCOUNT_H

#include <stdbool.h>

#include "base/string.h"
#include "ledger/summary.h"

/* `lines`: there was a line for each event that is shown. */
void summary_account_append(struct string *out, const struct summary *summary, bool lines);

#endif /* MEMSCOPE_RENDER_SUMMARY_ACCOUNT_H */
