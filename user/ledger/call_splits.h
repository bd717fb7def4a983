/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process's calls spent their time, by what they do. A part of state_apply(), and what
 * outputs show of it.
 */
#ifndef MEMSCOPE_LEDGER_CALL_SPLITS_H
#define MEMSCOPE_LEDGER_CALL_SPLITS_H

#include "ledger/state.h"

/* Counts a call that no other traced call made, if it is known what its thread did in it. */
void call_splits_apply(struct process *process, const struct event *event);

/* So many more. */
void call_splits_add(struct call_split *to, const struct call_split *more);

/* How long the threads ran in these calls. */
uint64_t call_splits_running_ns(const struct call_split *split);

/* Of all kinds of calls. */
struct call_split call_splits_sum(const struct process *process);

#endif /* MEMSCOPE_LEDGER_CALL_SPLITS_H */
