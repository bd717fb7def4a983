/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's kernels: what its function handles are called, and how often each was launched. A
 * part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_KERNELS_H
#define MEMSCOPE_LEDGER_KERNELS_H

#include "ledger/state.h"

/* A handle has got a name, or stands for the same function as another one. Returns 0 or -ENOMEM. */
int kernels_name(struct state *state, struct process *process, const struct ms_name *name);

/* A launch of a kernel: which, goes into change->kernel. Returns 0 or -ENOMEM. */
int kernels_launch(struct process *process, const struct event *event, struct change *change);

/* One that the process does not have yet; its name is interned. Returns 0 or -ENOMEM. */
int kernels_add(struct process *process, const struct kernel *kernel);

#endif /* MEMSCOPE_LEDGER_KERNELS_H */
