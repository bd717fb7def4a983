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
int copies_alloc(struct process_activity *activity, const struct allocation *allocation);
void copies_end(struct process_activity *activity, const struct allocation *allocation);
void copies_forget_pinned(struct process_activity *activity);

/* Something may have written to the device's memory. */
void copies_device_changed(struct process_activity *activity);

/* A copy that succeeded. Returns 0 or -ENOMEM. */
int copies_event(struct process_activity *activity, const struct event *event,
		 const struct change *change);

#endif /* MEMSCOPE_ANALYSIS_COPIES_H */
