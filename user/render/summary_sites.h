/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By call stack, in the summary of a trace: where memory of devices was allocated, and where time
 * was spent in calls. Nothing if no stacks were taken.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_SITES_H
#define MEMSCOPE_RENDER_SUMMARY_SITES_H

#include "ledger/summary.h"
#include "render/json.h"
#include "render/text.h"

/* The largest ten of each. */
void summary_sites_append(struct string *out, const struct summary *summary,
			  const struct text_options *options);

/* Members `sites` and `call_sites`, a hundred of each; null: no stacks were taken. */
void summary_sites_json(struct json *json, const struct summary *summary);

#endif /* MEMSCOPE_RENDER_SUMMARY_SITES_H */
