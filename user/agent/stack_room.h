/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes room for new call stacks: an agent sees those of all programs that run in months.
 */
#ifndef MEMSCOPE_AGENT_STACK_ROOM_H
#define MEMSCOPE_AGENT_STACK_ROOM_H

#include "capture/live.h"
#include "ledger/stack_upkeep.h"

/* To be called now and then. */
void stack_room_look(struct stack_upkeep *upkeep, struct live *live, struct state *state);

#endif /* MEMSCOPE_AGENT_STACK_ROOM_H */
