/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process's calls spent their time, by what they do. A part of state_apply(); outputs read
 * it.
 */
#ifndef MEMSCOPE_LEDGER_CALL_SPLITS_H
#define MEMSCOPE_LEDGER_CALL_SPLITS_H

#include "ledger/state.h"

/* Counts a call, unless another traced call made it, or it is unknown what its thread did. */
void call_splits_apply(struct process *process, const struct event *event);

/* Adds one sum to another. */
void call_splits_add(struct call_split *to, const struct call_split *more);

/* How long the threads ran in these calls. */
uint64_t call_splits_running_ns(const struct call_split *split);

/* The sum over all kinds of calls. */
struct call_split call_splits_sum(const struct process *process);

#endif /* MEMSCOPE_LEDGER_CALL_SPLITS_H */
