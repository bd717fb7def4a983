/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times of kernels and copies of a process, in JSON.
 */
#ifndef MEMSCOPE_RENDER_JSON_GPU_H
#define MEMSCOPE_RENDER_JSON_GPU_H

#include "ledger/state.h"
#include "render/json_writer.h"

/* The member "gpu": null if it is not known. */
void json_gpu_process(struct json *json, const struct process *process);

#endif /* MEMSCOPE_RENDER_JSON_GPU_H */
