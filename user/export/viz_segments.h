/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process has in the end, as segments of a snapshot with their blocks; a part of
 * -f memory_viz.
 */
#ifndef MEMSCOPE_EXPORT_VIZ_SEGMENTS_H
#define MEMSCOPE_EXPORT_VIZ_SEGMENTS_H

#include "export/viz_process.h"

/* After the last entry of all processes. Nothing can be added to the process any more. */
void viz_segments_put(struct viz_output *output, struct viz_process *process);

#endif /* MEMSCOPE_EXPORT_VIZ_SEGMENTS_H */
