/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations and frees: what they do to a process's ledger and totals. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_ALLOCATIONS_H
#define MEMSCOPE_LEDGER_ALLOCATIONS_H

#include "ledger/state.h"

/* An allocation that the call has made: all that the call itself says of it. */
struct allocation allocations_made_by(const struct event *event, const struct change *change);

/*
 * Whether the process has as many allocations of that kind as are followed: then one that would be
 * one more counts in the totals and is not in what is live.
 */
bool blocks_are_many(struct process *process, enum ms_key key, const struct allocation *more);

/*
 * Puts a new allocation into the ledger and the totals; its id is given here. There must be none at
 * its address. Returns 0 or -ENOMEM.
 */
int allocations_add(struct state *state, struct process *process, enum ms_key key,
		    struct allocation *allocation);

/* Takes one that has left the ledger out of what is live. */
void allocations_uncount(struct process *process, const struct allocation *allocation);

/* Allocations that the event made, or ended, without a record of each. */
void allocations_note_made(struct change *change, uint8_t space, uint64_t count, uint64_t bytes);
void allocations_note_implicit(struct change *change, uint8_t space, uint64_t count,
			       uint64_t bytes);

/* Each returns 0 or -ENOMEM. */
int allocations_alloc(struct state *state, struct process *process, const struct event *event,
		      struct change *change);
int allocations_free_begin(struct process *process, const struct event *event);
int allocations_free(struct process *process, const struct event *event, struct change *change);

/* What a free that has been entered has taken out of the ledger. Returns 0 or -ENOMEM. */
int blocks_pend(struct process *process, const struct pending_free *freed);

/*
 * The thread is in no call: of the frees that it has begun, the ends were lost. They are taken to
 * have succeeded.
 */
void allocations_returned(struct process *process, uint32_t tid);

/*
 * Of frees that have been entered, no end will be seen: the process or its program ends. What they
 * would have freed is live. Returns 0 or -ENOMEM.
 */
int allocations_settle(struct process *process, uint64_t ts_ns, struct change *change);

/* Whether an allocation of that context is live; 0: one whose context is not known. */
bool allocations_any_in(struct process *process, uint64_t context);

/*
 * Ends every allocation of the context, or all of them (0): nobody frees those one by one. Reserved
 * addresses, physical memory and mappings belong to the process, and what pools and graphs have
 * allocated to the device: a context ends without them.
 */
void allocations_end(struct process *process, uint64_t context, struct change *change);

#endif /* MEMSCOPE_LEDGER_ALLOCATIONS_H */
