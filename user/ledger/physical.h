/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management: memory without an address (cuMemCreate) and the addresses that it is
 * mapped at. Memory lives until every reference to its handle has been given back and nothing is
 * mapped to it; a handle that has been given back may be handed out again before that. A part of
 * state_apply().
 */
#ifndef MEMSCOPE_LEDGER_PHYSICAL_H
#define MEMSCOPE_LEDGER_PHYSICAL_H

#include "ledger/state.h"

/* A mapping has been made: of which memory, and so on which device, goes into `*mapping`. */
void physical_map(struct process *process, struct allocation *mapping, uint64_t handle);

/* One has been taken away; its memory may end with it: `change->implicit`. */
void physical_unmap(struct process *process, const struct allocation *mapping,
		    struct change *change);

/* cuMemRetainAllocationHandle. Returns 0 or -ENOMEM. */
int physical_refer(struct process *process, const struct ms_call *call);

/*
 * The handle has been handed out again: every reference has been given back, unseen. Returns
 * whether the memory it stood for lives on, because it is mapped.
 */
bool physical_displace(struct process *process, uint64_t handle);

/*
 * The handle is about to be given back, and if this is the last reference, free to be handed out
 * again. Copies the memory to `*released`. Returns 1, 0 if the handle is not known, or -ENOMEM.
 */
int physical_release_begin(struct process *process, uint64_t handle, struct allocation *released);

/* It has been given back. Returns whether the memory has ended. */
bool physical_release_end(struct process *process, struct allocation *released);

/* It could not be. Returns 0 or -ENOMEM. */
int physical_release_undo(struct process *process, uint64_t handle,
			  const struct allocation *released);

#endif /* MEMSCOPE_LEDGER_PHYSICAL_H */
