/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why an allocation failed, judged from what is known of that moment. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_CAUSE_H
#define MEMSCOPE_ANALYSIS_OOM_CAUSE_H

#include "analysis/analysis.h"

/* Fills in the cause and how sure it is; everything else must be there. */
void oom_cause_find(struct analysis_oom *oom, const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_OOM_CAUSE_H */
