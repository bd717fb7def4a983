/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which devices are there for those who look at what is now: a process that has ended may have
 * meant one by a number that nobody else means by it, and left no name of it.
 */
#ifndef MEMSCOPE_LEDGER_DEVICES_OF_NOW_H
#define MEMSCOPE_LEDGER_DEVICES_OF_NOW_H

#include "ledger/state.h"

/*
 * Finds out which devices are `past`: no call has said what they are, nothing lies on them, and no
 * process that is running means them. Costs a look at each device of each process.
 */
void devices_of_now_settle(struct state *state);

#endif /* MEMSCOPE_LEDGER_DEVICES_OF_NOW_H */
