/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of processes that have ended. Each would cost some KiB for ever, so only those that
 * ended last and those that held the most stay as they are; the others become one sum.
 */
#ifndef MEMSCOPE_LEDGER_ENDED_H
#define MEMSCOPE_LEDGER_ENDED_H

#include "ledger/state.h"

#define ENDED_RECENT STATE_RECENT /* that ended last; a late record may still be on its way */
#define ENDED_LARGE 32            /* of the others: with the highest peaks */

/* The process has just ended. */
void ended_note(struct ended *ended, struct process *process);

/* Whether one of those that have ended is to be kept no longer. */
bool ended_are_many(const struct state *state);

/* Which one that is; it is known here no longer. */
struct process *ended_choose(struct state *state);

/* Finds out anew which have ended and how large they were. Returns 0 or -ENOMEM. */
int ended_renew(struct state *state);

void ended_fini(struct ended *ended);
size_t ended_bytes(const struct ended *ended);

/* Adds it to `sum`. */
void ended_add(struct process *sum, const struct process *process);

#endif /* MEMSCOPE_LEDGER_ENDED_H */
