/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs mark of their work, as slices of lanes of their own: one for each thread and NVTX
 * domain, as what a thread marks nests, and some for the ranges of a process, which do not. A part
 * of export/traces.h.
 *
 * They are told as they begin and end. What is open when nothing more is known of the process ends
 * there.
 */
#ifndef MEMSCOPE_EXPORT_MARKER_LANES_H
#define MEMSCOPE_EXPORT_MARKER_LANES_H

#include "export/traces.h"

/* A record of kind MS_TYPE_MARKER. An end whose beginning is not known is left out. */
void marker_lanes_take(struct traces *traces, struct traces_process *process,
		       const struct event *event);

/* All that is open ends. */
void marker_lanes_end(struct traces *traces, struct traces_process *process, uint64_t ts_ns);

void marker_lanes_free(struct traces *traces, struct traces_process *process);

#endif /* MEMSCOPE_EXPORT_MARKER_LANES_H */
