// SPDX-License-Identifier: BSD-2-Clause
#include "agent/costs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

#define PPM 1000000ull

/*
 * Hundredths of a trap, with the trap itself: what calls take of which there are 10,000 to a
 * million a second, with work in between (docs/agent.md), on a kernel that protects itself with
 * "Safe RET". That is more than in a loop of calls alone (docs/cost-and-safety.md). The entry alone
 * of a call that is usually followed takes more than that of one which never is.
 */
enum percent {
	PERCENT_CALL = 280,  /* with its end */
	PERCENT_ENTRY = 190, /* without it */
	PERCENT_STACK = 150, /* of a call, besides, and */
	PERCENT_FRAME = 35,  /* each frame of it */
};

#define FRAMES_UNKNOWN 32 /* that a stack is taken to have of which nothing is known */

static enum percent percent_of(const struct event *event)
{
	return event->call->known & MS_KNOWN_RESULT ? PERCENT_CALL : PERCENT_ENTRY;
}

static uint64_t times(const struct costs *costs, uint64_t percent, uint64_t count)
{
	return costs->trap_ns * percent * count / 100;
}

uint64_t costs_of_event(const struct costs *costs, const struct event *event)
{
	/* The driver's function that the runtime's has called has been run into, too. */
	if (event->call)
		return times(costs, percent_of(event),
			     event->call->driver_row == MS_NO_ROW ? event->count :
								    2 * event->count);
	if (event->name)
		return times(costs, PERCENT_CALL, 1);
	return event->loss ? times(costs, PERCENT_CALL, event->loss->lost) : 0;
}

/* What the stack has cost that was taken of the call; 0: none was. */
static uint64_t cost_of_stack(const struct costs *costs, const struct event *event)
{
	const uint32_t id = event->call ? event_stack_id(event->call) : 0;
	const struct stack *stack = costs->stacks ? stacks_find(costs->stacks, id) : NULL;

	if (!id)
		return 0;
	return times(costs, PERCENT_STACK + PERCENT_FRAME * (stack ? stack->count : FRAMES_UNKNOWN),
		     1);
}

static bool is_bulk(const struct event *event)
{
	if (event->call)
		return MS_BULK_OPS >> event->probe->spec.kind & 1;
	return event->loss && event->loss->op < MS_OPS_COUNT && MS_BULK_OPS >> event->loss->op & 1;
}

void costs_note_switch(struct costs *costs, struct cost *cost)
{
	const uint64_t probed_ppm = cost->budget.governed.probed_ppm;
	const uint64_t most_ppm = probed_ppm < PPM ? probed_ppm : PPM;
	const uint64_t spent_ns = COSTS_SWITCH_NS * most_ppm / PPM;

	cost->spent.all_ns += spent_ns;
	cost->spent.bulk_ns += spent_ns;
	costs->spent_ns += spent_ns;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct cost *costs_find(const struct costs *costs, uint32_t pid, uint64_t start_ns)
{
	const uint64_t *place = map_get(&costs->places, event_process_key(pid, start_ns));

	return place ? (struct cost *)(uintptr_t)*place : NULL;
}

/* Returns NULL without memory. */
static struct cost *add(struct costs *costs, const struct ms_event *header)
{
	const uint64_t key = event_process_key(header->pid, header->start_ns);
	struct cost *cost;

	if (memory_grow(&costs->processes, &costs->capacity, costs->count + 1,
			sizeof(*costs->processes)))
		return NULL;
	cost = calloc(1, sizeof(*cost));
	if (!cost || map_set(&costs->places, key, (uintptr_t)cost)) {
		free(cost);
		return NULL;
	}
	cost->pid = header->pid;
	cost->start_ns = header->start_ns;
	costs->processes[costs->count++] = cost;
	return cost;
}

static void forget(struct costs *costs, const struct ms_event *header)
{
	struct cost *cost = costs_find(costs, header->pid, header->start_ns);
	size_t i;

	if (!cost)
		return;
	map_remove(&costs->places, event_process_key(header->pid, header->start_ns));
	for (i = 0; costs->processes[i] != cost; i++)
		;
	costs->processes[i] = costs->processes[--costs->count];
	free(cost);
	costs->ended[costs->ended_next++ % COSTS_ENDED] =
		event_process_key(header->pid, header->start_ns);
}

/* The rings are read one after the other: its last calls can come after its end. */
static bool has_ended(const struct costs *costs, const struct ms_event *header)
{
	const uint64_t key = event_process_key(header->pid, header->start_ns);
	size_t i;

	for (i = 0; i < COSTS_ENDED; i++)
		if (costs->ended[i] == key)
			return true;
	return false;
}

static void add_stack(struct costs *costs, struct cost *cost, const struct event *event)
{
	const uint64_t stack_ns = cost_of_stack(costs, event);

	if (stack_ns) {
		cost->stack_ns = stack_ns;
		cost->spent.stacks_ns += stack_ns;
		cost->spent.all_ns += stack_ns;
		costs->spent_ns += stack_ns;
	} else if (cost->budget.governed.is_stackless && event->call &&
		   event->probe->spec.op == MS_OP_ALLOC) {
		cost->spent.spared_ns += cost->stack_ns;
	}
}

static int take(struct sink *sink, const struct event *event)
{
	struct costs *costs = (struct costs *)sink;
	const uint64_t spent_ns = costs_of_event(costs, event);
	struct cost *cost;

	costs->spent_ns += spent_ns;
	if (event->header->type == MS_TYPE_EXIT)
		forget(costs, event->header);
	if (!spent_ns && event->header->type != MS_TYPE_ATTACH)
		return 0;
	cost = costs_find(costs, event->header->pid, event->header->start_ns);
	/* Losses are looked at later. */
	if (!cost && (event->loss || has_ended(costs, event->header)))
		return 0;
	if (!cost)
		cost = add(costs, event->header);
	if (!cost)
		return -ENOMEM;
	cost->spent.all_ns += spent_ns;
	if (is_bulk(event))
		cost->spent.bulk_ns += spent_ns;
	add_stack(costs, cost, event);
	return 0;
}

void costs_init(struct costs *costs, const struct stacks *stacks, uint64_t trap_ns, uint64_t now_ns)
{
	*costs = (struct costs){ .sink.record = take,
				 .stacks = stacks,
				 .trap_ns = trap_ns ? trap_ns : COSTS_TRAP_NS,
				 .measured = trap_ns,
				 .look_ns = now_ns };
}

void costs_fini(struct costs *costs)
{
	while (costs->count)
		free(costs->processes[--costs->count]);
	free(costs->processes);
	map_fini(&costs->places);
	*costs = (struct costs){ 0 };
}

void costs_look(struct costs *costs, uint64_t now_ns)
{
	const uint64_t ns = now_ns - costs->look_ns;
	size_t i;

	if (!ns)
		return;
	costs->highest_ppm = 0;
	for (i = 0; i < costs->count; i++) {
		struct cost *cost = costs->processes[i];

		/* In a second even 1,000 threads do not spend so much that this overflows. */
		cost->recent_ppm = (cost->spent.all_ns - cost->looked_ns) * PPM / ns;
		cost->looked_ns = cost->spent.all_ns;
		if (cost->recent_ppm > costs->highest_ppm)
			costs->highest_ppm = cost->recent_ppm;
	}
	costs->look_ns = now_ns;
}
