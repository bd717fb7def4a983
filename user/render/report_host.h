/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel said of the host while it was recorded, as tables and as JSON.
 */
#ifndef MEMSCOPE_RENDER_REPORT_HOST_H
#define MEMSCOPE_RENDER_REPORT_HOST_H

#include "render/document.h"
#include "render/json_writer.h"

/* Pressure, NUMA nodes, links of GPUs; nothing if the host was not looked at. */
void report_host_tables(struct document *document, const struct report_recording *recording);

/* Members "host_samples", "numa_nodes" and "gpu_links" of a recording. */
void report_host_json(struct json *json, const struct state *state);

/* The member "host" of a process. */
void report_host_json_process(struct json *json, const struct process *process);

/* Members "gpu_node" and "placement" of a process. */
void report_host_json_placement(struct json *json, const struct report_recording *recording,
				const struct process *process);

#endif /* MEMSCOPE_RENDER_REPORT_HOST_H */
