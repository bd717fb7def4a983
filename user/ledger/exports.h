/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sizes of what processes export by handle, so that what another process opens by that has one:
 * the call that opens it says none.
 */
#ifndef MEMSCOPE_LEDGER_EXPORTS_H
#define MEMSCOPE_LEDGER_EXPORTS_H

#include "ledger/state.h"

void exports_fini(struct exports *exports);
size_t exports_bytes(const struct exports *exports);

/* What the call exports, if it is known. Returns 0 or -ENOMEM. */
int exports_apply(struct state *state, struct process *process, const struct ms_call *call);

/* Returns 0 or -ENOMEM. If there are too many, those that came first are forgotten. */
int exports_add(struct exports *exports, uint64_t handle, uint64_t size_bytes);

/* Whether the size of what a handle (a hash) opens is known. */
bool exports_find(const struct exports *exports, uint64_t handle, uint64_t *size_bytes);

#endif /* MEMSCOPE_LEDGER_EXPORTS_H */
