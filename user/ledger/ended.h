/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of processes that have ended. Each would cost some KiB for ever, so only those that
 * ended last and those that held the most stay as they are; the others become one sum.
 */
#ifndef MEMSCOPE_LEDGER_ENDED_H
#define MEMSCOPE_LEDGER_ENDED_H

#include "ledger/state.h"

#define ENDED_RECENT 32 /* that ended last; also because a late record may still be on its way */
#define ENDED_LARGE 32  /* of the others: with the highest peaks */

/* Position of a process that is to be kept no longer, or -1. */
long ended_choose(const struct state *state);

/* Adds it to `sum`. Returns 0 or -ENOMEM (then nothing was added). */
int ended_add(struct process *sum, const struct process *process);

#endif /* MEMSCOPE_LEDGER_ENDED_H */
