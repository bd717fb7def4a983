/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Children of this process without what is known of each live allocation, for who makes a child
 * that needs only sums: with a million allocations, copying their page tables is most of what
 * fork() takes, and writing to pages that the child has, too, takes this process longer.
 */
#ifndef MEMSCOPE_LEDGER_WITHOUT_BLOCKS_H
#define MEMSCOPE_LEDGER_WITHOUT_BLOCKS_H

#include "ledger/state.h"

/*
 * Children that are made between those two must neither look at an allocation nor change or end the
 * state. Where the kernel refuses, or a ledger is small, the child has them all the same.
 */
void without_blocks_begin(const struct state *state);
void without_blocks_end(const struct state *state);

#endif /* MEMSCOPE_LEDGER_WITHOUT_BLOCKS_H */
