/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forgets stacks that no live allocation was made from, so that there is room for new ones in a
 * capture that goes on for months. Ids are not given again: whatever has one that is forgotten says
 * nothing of its stack, and no other.
 */
#ifndef MEMSCOPE_LEDGER_STACK_UPKEEP_H
#define MEMSCOPE_LEDGER_STACK_UPKEEP_H

#include "ledger/state.h"

#define STACK_UPKEEP_NS 60000000000ull /* it takes time, and costs programs: not more often */

/* Zeroed, it has forgotten nothing. */
struct stack_upkeep {
	uint64_t forgotten, times;
	uint64_t at_ns;     /* of the last time */
	unsigned int after; /* fullness (ledger/stacks.h) that the last time left */
};

/* Whether half of the room is taken, or what the last time left and a quarter more. */
bool stack_upkeep_is_due(const struct stack_upkeep *upkeep, const struct state *state,
			 uint64_t now_ns);

/* Does it. The caller sees to what else has ids of stacks. Returns 0 or -ENOMEM. */
int stack_upkeep_forget(struct stack_upkeep *upkeep, struct state *state, uint64_t now_ns);

#endif /* MEMSCOPE_LEDGER_STACK_UPKEEP_H */
