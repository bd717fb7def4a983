/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live blocks that are alike, counted: 49 of 8 MiB from cudaMalloc. Alike are blocks of one process
 * and one size, from one function, in one kind of memory, on one device.
 */
#ifndef MEMSCOPE_LEDGER_ALIKE_H
#define MEMSCOPE_LEDGER_ALIKE_H

#include "ledger/state.h"

#define ALIKE_KEPT 32        /* groups of an exited process, those that hold most */
#define ALIKE_BLOCKS 0x10000 /* as many are sorted while tracing goes on */

struct alike_group {
	struct allocation one; /* of them, the oldest */
	uint64_t count, bytes;
	bool at_least; /* there may be more: only the largest blocks were looked at */
	uint64_t newest_ts_ns;
};

/*
 * Groups of what a process holds, or held when it exited, those that hold most first. If it holds
 * more than `max_blocks`, only the largest (PROCESS_LARGEST) are looked at. The caller frees the
 * array. NULL without memory.
 */
struct alike_group *alike_of(const struct process *process, size_t max_blocks, size_t *count);

/* What a process that exits held, one by one and together, before its ledgers are forgotten. */
void alike_note_exit(struct process *process);

#endif /* MEMSCOPE_LEDGER_ALIKE_H */
