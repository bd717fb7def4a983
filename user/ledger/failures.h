/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's calls that failed, by function and result. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_FAILURES_H
#define MEMSCOPE_LEDGER_FAILURES_H

#include "ledger/state.h"

/* A call on that device has failed (-1: not known). Returns 0 or -ENOMEM. */
int failures_note(struct process *process, const struct event *event, int32_t device);

/* So many more like that; what finds no place is counted. Returns 0 or -ENOMEM. */
int failures_add(struct process *process, const struct failure *failure);

void failures_forget(struct process *process);

#endif /* MEMSCOPE_LEDGER_FAILURES_H */
