/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rule about a device that is nearly full. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_PRESSURE_H
#define MEMSCOPE_ANALYSIS_PRESSURE_H

#include "analysis/findings.h"
#include "analysis/process_activity.h"

/* The driver reported how much of a device is free, or the program's live set has changed. */
void pressure_event(struct process_activity *activity, const struct event *event,
		    const struct change *change);

#endif /* MEMSCOPE_ANALYSIS_PRESSURE_H */
