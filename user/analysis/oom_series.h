/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether most of what a process held when memory ran out was made at one place, block by block of
 * one size, and whether that went on evenly until then. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_SERIES_H
#define MEMSCOPE_ANALYSIS_OOM_SERIES_H

#include "analysis/oom_figures.h"

/* Fills in `series`, once `own` is known. Returns 0 or -ENOMEM. */
int oom_series_find(struct analysis_oom *oom, const struct oom_around *around,
		    const struct process *process, const struct analysis_options *options);

/*
 * Whether it went on evenly until the failure, for as long as a program does not take to make what
 * it begins with. A program that loads a model and then works has made nothing in the end.
 */
bool oom_series_is_steady(const struct analysis_oom *oom, const struct analysis_options *options);

#endif /* MEMSCOPE_ANALYSIS_OOM_SERIES_H */
