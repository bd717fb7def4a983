/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What GPUs did for a process, as slices of lanes of their own: one for each stream of a device,
 * and further ones where something overlaps in a stream. A part of export/traces.h.
 *
 * CUPTI hands its records over seconds later, and in any order. So they are kept, and told in the
 * order in which they ran.
 */
#ifndef MEMSCOPE_EXPORT_GPU_LANES_H
#define MEMSCOPE_EXPORT_GPU_LANES_H

#include "export/traces.h"

/* Joins a call that began then with what it made the GPU do. */
uint64_t gpu_lanes_flow(const struct traces_process *process, uint64_t call_begin_ns);

/* A record of kind MS_TYPE_ACTIVITY. What is no work of the GPU, or has no times, is left out. */
void gpu_lanes_take(struct traces *traces, struct traces_process *process,
		    const struct event *event, const struct change *change);

/* Nothing is kept back any more. */
void gpu_lanes_end(struct traces *traces, struct traces_process *process);

void gpu_lanes_free(struct traces *traces, struct traces_process *process);

#endif /* MEMSCOPE_EXPORT_GPU_LANES_H */
