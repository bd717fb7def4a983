/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of checkpoint_load() that has a file of its own.
 */
#ifndef MEMSCOPE_LEDGER_CHECKPOINT_LOAD_H
#define MEMSCOPE_LEDGER_CHECKPOINT_LOAD_H

#include "ledger/checkpoint.h"

/* Returns 0, 1 (a newer version's: left out), -EINVAL or -ENOMEM. */
int checkpoint_load_allocation(struct checkpoint *anchor, const void *record);

#endif /* MEMSCOPE_LEDGER_CHECKPOINT_LOAD_H */
