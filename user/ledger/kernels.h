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

/*
 * Of several processes, or an anchor: one with the launches that it has had, of which more may
 * follow; its name is the state's. What finds no place is one of the other kernels. Returns 0 or
 * -ENOMEM.
 */
int kernels_add(struct process *process, const struct kernel *kernel);

/*
 * The state's copy of a name, or limit_other_kernels: it is one too many, and counted. NULL without
 * memory.
 */
const char *kernels_intern(struct state *state, struct process *process, const char *name,
			   size_t length);

/* Whether the process has launched kernels of PyTorch, by their names. */
bool kernels_are_of_torch(const struct process *process);

/* For anchors. Returns 0 or -ENOMEM. */
int kernels_set_name(struct process *process, uint64_t handle, const char *name);
int kernels_set_alias(struct process *process, uint64_t handle, uint64_t alias);

#endif /* MEMSCOPE_LEDGER_KERNELS_H */
