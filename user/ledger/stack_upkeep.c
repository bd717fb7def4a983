// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/stack_upkeep.h"

#define HALF 8 /* sixteenths */
#define QUARTER 4
#define NEARLY_ALL 15

bool stack_upkeep_is_due(const struct stack_upkeep *upkeep, const struct state *state,
			 uint64_t now_ns)
{
	unsigned int at = upkeep->after + QUARTER;

	at = at < HALF ? HALF : at > NEARLY_ALL ? NEARLY_ALL : at;
	if (upkeep->times && now_ns - upkeep->at_ns < STACK_UPKEEP_NS)
		return false;
	return stacks_fullness(&state->stacks) >= at;
}

static int want_stacks(const struct process *process, struct map *wanted)
{
	size_t key, i;
	int err = 0;

	for (key = 0; key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];

		for (i = 0; !err && i < ledger->count; i++)
			if (ledger->entries[i].stack)
				err = map_set(wanted, ledger->entries[i].stack, 1);
	}
	return err;
}

int stack_upkeep_forget(struct stack_upkeep *upkeep, struct state *state, uint64_t now_ns)
{
	const size_t before = state->stacks.stacks_count;
	struct map wanted = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < state->processes_count; i++)
		err = want_stacks(state->processes[i], &wanted);
	if (!err)
		err = stacks_keep(&state->stacks, &wanted);
	map_fini(&wanted);
	upkeep->times++;
	upkeep->at_ns = now_ns;
	if (err)
		return err;
	for (i = 0; i < state->processes_count; i++)
		usage_drop_parts(state->processes[i]->usage);
	upkeep->after = stacks_fullness(&state->stacks);
	upkeep->forgotten += before - state->stacks.stacks_count;
	return 0;
}
