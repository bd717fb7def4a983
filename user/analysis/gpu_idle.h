/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether GPUs had enough to do, by CUPTI's times of their work, and what the host did when they
 * had not. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_GPU_IDLE_H
#define MEMSCOPE_ANALYSIS_GPU_IDLE_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* Whether a GPU of the process was measured to be idle: then gaps between calls say less. */
bool gpu_idle_is_measured(const struct process_activity *activity,
			  const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_GPU_IDLE_H */
