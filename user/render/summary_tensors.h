/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a trace's summary: what the allocator of a framework has given to a process.
 */
#ifndef MEMSCOPE_RENDER_SUMMARY_TENSORS_H
#define MEMSCOPE_RENDER_SUMMARY_TENSORS_H

#include <stdbool.h>

#include "base/string.h"
#include "ledger/state.h"

/* How the summary writes bytes. */
struct summary_sizes {
	bool exact; /* all digits */
	bool sum;   /* the process is the sum of several */
};

void summary_tensors_append(struct string *out, const struct process *process, size_t width,
			    const struct summary_sizes *sizes);

#endif /* MEMSCOPE_RENDER_SUMMARY_TENSORS_H */
