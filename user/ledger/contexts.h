/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's CUDA contexts: which device each lives on, and what ends with it. A part of
 * state_apply().
 */
#ifndef MEMSCOPE_LEDGER_CONTEXTS_H
#define MEMSCOPE_LEDGER_CONTEXTS_H

#include "ledger/state.h"

/* For anchors: one more. Returns 0 or -ENOMEM. */
int contexts_load(struct process *process, const struct context *context);
void contexts_fini(struct process *process);

/* Returns 0 or -ENOMEM. */
int contexts_apply(struct process *process, const struct event *event, struct change *change);

/* The device on which a call acted: as recorded, or the one its context lives on; -1: unknown. */
int32_t contexts_device(const struct process *process, const struct ms_call *call);

#endif /* MEMSCOPE_LEDGER_CONTEXTS_H */
