/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says, held against what was seen, in the summary of a trace.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_NVML_H
#define MEMSCOPE_RENDER_SUMMARY_NVML_H

#include "base/string.h"
#include "ledger/state.h"
#include "render/text.h"

/* NVML's last number of a process, broken down; nothing if it said nothing of it. */
void summary_nvml_append(struct string *out, const struct process *process,
			 const struct text_options *options);

/* What is in use on each device, and by whom; nothing if NVML was not asked or did not answer. */
void summary_nvml_append_devices(struct string *out, const struct state *state,
				 const struct text_options *options);

#endif /* MEMSCOPE_RENDER_SUMMARY_NVML_H */
