/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules about copies: the same bytes back and forth, and host memory that is not page-locked. A
 * part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_COPIES_H
#define MEMSCOPE_ANALYSIS_COPIES_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

void copies_free(struct copies *copies);
size_t copies_bytes(const struct copies *copies);

/* Memory that the driver can copy from and to at once. Returns 0 or -ENOMEM. */
int copies_alloc(struct track *track, const struct allocation *allocation);
void copies_end(struct track *track, const struct allocation *allocation);
void copies_forget_pinned(struct track *track);

/* Something may have written to the device's memory. */
void copies_device_changed(struct track *track);

/* A copy that succeeded. Returns 0 or -ENOMEM. */
int copies_event(struct track *track, const struct event *event, const struct change *change);

/* Rules: rule_fn in analysis/findings.h. */
int copies_report_redundant(struct track *track, const struct analysis_options *options,
			    struct findings *findings);
int copies_report_pageable(struct track *track, const struct analysis_options *options,
			   struct findings *findings);

#endif /* MEMSCOPE_ANALYSIS_COPIES_H */
