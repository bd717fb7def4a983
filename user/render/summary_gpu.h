/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What GPUs did, in the text of a trace.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_GPU_H
#define MEMSCOPE_RENDER_SUMMARY_GPU_H

#include "base/string.h"
#include "ledger/state.h"

/* A process's; nothing if nothing is known of it. */
void summary_gpu_append(struct string *out, const struct process *process);

/* One kernel, copy or memset. */
void summary_gpu_append_activity(struct string *out, const struct ms_activity_body *activity,
				 const struct change *change);

#endif /* MEMSCOPE_RENDER_SUMMARY_GPU_H */
