/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Some calls make as much work as there are nodes in a graph, or mappings in a range of addresses,
 * and cost a program whose driver is its own nothing. Of such work each process may cause so much
 * for each microsecond that goes by: more than a real driver could do. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_EFFORT_H
#define MEMSCOPE_LEDGER_EFFORT_H

#include "ledger/state.h"

/* Time goes on, as the process's records have it. */
void effort_advance(struct process *process, uint64_t ts_ns);

/*
 * Work with so many things, each about as much as an allocation. Returns whether it is to be done:
 * if not, what it was about is to be counted.
 */
bool effort_pay(struct process *process, uint64_t count);

#endif /* MEMSCOPE_LEDGER_EFFORT_H */
