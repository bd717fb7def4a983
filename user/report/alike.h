/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live blocks that are alike (ledger/alike.h), of all processes of a recording.
 */
#ifndef MEMSCOPE_REPORT_ALIKE_H
#define MEMSCOPE_REPORT_ALIKE_H

#include "ledger/alike.h"
#include "report/report.h"

struct alike {
	const struct process *process;
	struct alike_group group;
};

/*
 * Of the processes and devices that the report is about, those that hold most first; the caller
 * frees the array. NULL without memory.
 */
struct alike *alike_find(const struct report_recording *recording, size_t *count);

#endif /* MEMSCOPE_REPORT_ALIKE_H */
