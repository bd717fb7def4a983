/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says of processes and devices, held against what was seen of them, as JSON.
 */
#ifndef MEMSCOPE_RENDER_JSON_NVML_H
#define MEMSCOPE_RENDER_JSON_NVML_H

#include "ledger/state.h"
#include "render/json_writer.h"
#include "timeline/nvml_series.h"

/* The member "nvml" of a process: null if NVML said nothing of it. */
void json_nvml_process(struct json *json, const struct process *process);

/* The member "nvml_devices" of a recording: [] if NVML was not asked, or did not answer. */
void json_nvml_devices(struct json *json, const struct state *state);

/* The member "nvml_timeline": what each device held, sample by sample. */
void json_nvml_series(struct json *json, const struct nvml_series *series);

#endif /* MEMSCOPE_RENDER_JSON_NVML_H */
