/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live blocks that are alike, counted: 49 of 8 MiB from cudaMalloc. Alike are blocks of one process
 * and one size, from one function, in one kind of memory, on one device.
 */
#ifndef MEMSCOPE_REPORT_ALIKE_H
#define MEMSCOPE_REPORT_ALIKE_H

#include "report/report.h"

struct alike {
	const struct process *process;
	const struct allocation *allocation; /* one of them, the process's */
	size_t count;
	bool at_least; /* there may be more: of an exited process only the largest are known */
	uint64_t bytes;
	uint64_t oldest_ts_ns, newest_ts_ns;
};

/*
 * Of the processes and devices that the report is about, those that hold most first; the caller
 * frees the array. NULL without memory.
 */
struct alike *alike_find(const struct report_recording *recording, size_t *count);

#endif /* MEMSCOPE_REPORT_ALIKE_H */
