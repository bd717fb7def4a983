/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies, memsets and synchronisation: their totals, and which way copies go whose direction the
 * driver finds out by itself. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_TRANSFERS_H
#define MEMSCOPE_LEDGER_TRANSFERS_H

#include "ledger/state.h"

/* Sets change->direction, too. */
void transfers_apply(struct process *process, const struct event *event, struct change *change);

#endif /* MEMSCOPE_LEDGER_TRANSFERS_H */
