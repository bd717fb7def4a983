// SPDX-License-Identifier: BSD-2-Clause
#include "agent/stack_room.h"

#include "base/clock.h"
#include "base/log.h"

void stack_room_look(struct stack_upkeep *upkeep, struct live *live, struct state *state)
{
	const uint64_t now_ns = clock_monotonic_ns(), before = upkeep->forgotten;

	if (!stack_upkeep_is_due(upkeep, state, now_ns))
		return;
	if (stack_upkeep_forget(upkeep, state, now_ns)) {
		log_warning("there is no memory to make room for new call stacks; it is tried again"
			    " in a minute");
		return;
	}
	live_keep_stacks(live, &state->stacks);
	log_info("%llu call stacks of which nothing is live were forgotten, to make room for new"
		 " ones; %zu are kept",
		 (unsigned long long)(upkeep->forgotten - before), state->stacks.stacks_count);
}
