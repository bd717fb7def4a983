// SPDX-License-Identifier: BSD-2-Clause
#include "agent/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"

#define PPM 1000000ull
#define SECOND_NS 1000000000ull
#define TICK_NS (SECOND_NS / 10)   /* while there are many calls; else every second, */
#define EARLY_NS (SECOND_NS / 200) /* or as soon as a process will have used up its credit */
#define RECORD_NS (10 * SECOND_NS) /* between two records of a step that lasts */
#define RETRY_NS (10 * SECOND_NS)  /* until probes that could not come back are tried again */
#define QUIET_NS (60 * SECOND_NS)  /* with all probes, until the log says that they are back */
#define CALL_TRAPS 3               /* that a call costs at most */
#define MANY 4                     /* times the budget: worth a look at once */

/* ---- what is said of it ---------------------------------------------------------------------- */

static int record(struct budget *budget, struct cost *cost, enum ms_budget_step step,
		  uint64_t now_ns)
{
	struct cost_budget *of = &cost->budget;
	struct ms_budget budget_record = {
		.event = { .ts_ns = now_ns,
			   .start_ns = cost->start_ns,
			   .pid = cost->pid,
			   .tid = cost->pid,
			   .type = MS_TYPE_BUDGET,
			   .size = sizeof(budget_record) },
		.lasted_ns = of->since_ns ? now_ns - of->since_ns : 0,
		.spent_ns = cost->spent.all_ns - of->since_spent_ns,
		.budget_ppm = (uint32_t)budget->governor.options.budget_ppm,
		.step = step,
		.before = of->step,
		.stackless = (of->governed.is_stackless ? MS_BUDGET_IS_STACKLESS : 0) |
			     (of->is_stackless ? MS_BUDGET_WAS_STACKLESS : 0),
	};

	if (step != of->step)
		budget->counts.changes[step]++;
	of->step = step;
	of->is_stackless = of->governed.is_stackless;
	of->since_ns = now_ns;
	of->since_spent_ns = cost->spent.all_ns;
	return budget->feed(budget->context, &budget_record, sizeof(budget_record));
}

static int record_all(struct budget *budget, uint64_t now_ns, bool last)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < budget->costs->count; i++) {
		struct cost *cost = budget->costs->processes[i];
		const struct cost_budget *of = &cost->budget;
		const enum ms_budget_step step = budget_step(budget, cost);
		const bool lasts = (of->step != MS_BUDGET_ALL || of->is_stackless) &&
				   (last || now_ns - of->since_ns >= RECORD_NS);

		if (step != of->step || of->governed.is_stackless != of->is_stackless || lasts)
			err = record(budget, cost, step, now_ns);
	}
	return err;
}

static void say_entries(const struct budget *budget, const struct cost *cost)
{
	if (cost->budget.governed.at_entries)
		log_info(
			"process %u: tracing costs it more than the budget of %.4g %%: of its copies,"
			" memsets, launches and synchronisation, only the entries are traced",
			cost->pid, (double)budget->governor.options.budget_ppm * 100 / PPM);
	else
		log_info("process %u: its copies, memsets, launches and synchronisation are traced"
			 " as usual again",
			 cost->pid);
}

static void say_stacks(const struct budget *budget, const struct cost *cost)
{
	if (cost->budget.governed.is_stackless)
		log_info("process %u: tracing costs it more than the budget of %.4g %%: no call"
			 " stacks of its allocations are taken",
			 cost->pid, (double)budget->governor.options.budget_ppm * 100 / PPM);
	else
		log_info("process %u: call stacks of its allocations are taken again", cost->pid);
}

/* Not each time that they go and come back. */
static void say_off(struct budget *budget, uint64_t now_ns)
{
	if (!budget->governor.off) {
		budget->on_ns = now_ns;
		return;
	}
	if (!budget->is_said)
		log_info(
			"tracing costs a process more than the budget: copies, memsets, launches and"
			" synchronisation of all processes are traced for parts of the time only");
	budget->is_said = true;
}

static void say_on(struct budget *budget, uint64_t now_ns)
{
	if (!budget->is_said || budget->governor.off || now_ns - budget->on_ns < QUIET_NS)
		return;
	budget->is_said = false;
	log_info("copies, memsets, launches and synchronisation are traced all the time again");
}

/* ---- what is done ---------------------------------------------------------------------------- */

/* What cannot be done helps nothing: the next step follows, or it is asked again. */
static void apply(struct budget *budget, const struct cost *cost,
		  const struct governor_process *before, struct governor_process *now)
{
	const pid_t pid = (pid_t)cost->pid;

	if (now->at_entries != before->at_entries) {
		if (live_set_entries(budget->live, pid, cost->start_ns, now->at_entries))
			now->at_entries = true;
		else
			say_entries(budget, cost);
	}
	if (now->is_stackless != before->is_stackless) {
		if (live_set_stackless(budget->live, pid, cost->start_ns, now->is_stackless))
			now->is_stackless = before->is_stackless;
		else
			say_stacks(budget, cost);
	}
}

static void note(struct budget *budget, struct cost *cost, uint64_t ns)
{
	struct cost_budget *of = &cost->budget;
	const struct governor_process before = of->governed;
	const struct governor_spent spent = {
		.all_ns = cost->spent.all_ns - of->noted.all_ns,
		.bulk_ns = cost->spent.bulk_ns - of->noted.bulk_ns,
		.stacks_ns = cost->spent.stacks_ns - of->noted.stacks_ns,
		.spared_ns = cost->spent.spared_ns - of->noted.spared_ns,
	};

	of->noted = cost->spent;
	if (!of->since_ns) {
		of->since_ns = budget->ticked_ns;
		of->since_spent_ns = 0;
	}
	if (governor_note(&budget->governor, &of->governed, ns, &spent))
		apply(budget, cost, &before, &of->governed);
}

/* If they cannot come back yet, the governor will say so again. */
static void set_bulk(struct budget *budget, uint64_t now_ns)
{
	if (live_set_bulk(budget->live, !budget->governor.off) == -EAGAIN)
		budget->governor.off = true;
	say_off(budget, now_ns);
}

/* What removing the probes takes those that are the reason for it. */
static void note_switch(const struct budget *budget)
{
	size_t i;

	for (i = 0; budget->governor.off && i < budget->costs->count; i++)
		if (budget->costs->processes[i]->budget.governed.is_reason)
			costs_note_switch(budget->costs, budget->costs->processes[i]);
}

static void look_early(const struct budget *budget, uint64_t lasts_ns)
{
	if (lasts_ns < TICK_NS)
		loop_set_timer(budget->early, lasts_ns > EARLY_NS ? lasts_ns : EARLY_NS, 0);
}

static void turn(struct budget *budget, uint64_t ns, uint64_t now_ns)
{
	const struct costs *costs = budget->costs;
	struct governor_process **processes = calloc(costs->count + 1, sizeof(*processes));
	size_t i;

	if (!processes)
		return;
	for (i = 0; i < costs->count; i++)
		processes[i] = &costs->processes[i]->budget.governed;
	if (budget->governor.off)
		budget->counts.off_ns += ns;
	if (governor_turn(&budget->governor, processes, costs->count, ns)) {
		note_switch(budget);
		set_bulk(budget, now_ns);
	}
	look_early(budget, governor_lasts_ns(&budget->governor, processes, costs->count));
	free(processes);
}

/* What could not come back may be able to by now. */
static void try_again(struct budget *budget, uint64_t now_ns)
{
	const struct costs *costs = budget->costs;
	size_t i;

	if (budget->governor.off || now_ns - budget->tried_ns < RETRY_NS)
		return;
	budget->tried_ns = now_ns;
	for (i = 0; i < costs->count; i++)
		if (live_misses_bulk(budget->live, (pid_t)costs->processes[i]->pid,
				     costs->processes[i]->start_ns)) {
			live_set_bulk(budget->live, true);
			return;
		}
}

static int tick(struct budget *budget, uint64_t now_ns)
{
	const uint64_t ns = now_ns - budget->ticked_ns;
	size_t i;

	live_look(budget->live);
	for (i = 0; i < budget->costs->count; i++)
		note(budget, budget->costs->processes[i], ns);
	turn(budget, ns, now_ns);
	try_again(budget, now_ns);
	budget->ticked_ns = now_ns;
	say_on(budget, now_ns);
	return record_all(budget, now_ns, false);
}

/* Of all processes together, by what the kernel side counts anyway. */
static uint64_t seen(const struct budget *budget)
{
	struct ms_counters counters;
	uint64_t count = 0;
	size_t i;

	if (live_counters(budget->live, &counters))
		return budget->calls;
	for (i = 0; i < MS_KINDS_COUNT; i++)
		count += counters.seen[i];
	return count;
}

static bool are_many(const struct budget *budget, uint64_t ns)
{
	const uint64_t budget_ns = ns * budget->governor.options.budget_ppm / PPM;
	const uint64_t calls = seen(budget) - budget->calls;

	return calls * CALL_TRAPS * budget->costs->trap_ns > MANY * budget_ns;
}

static void lift(struct budget *budget)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const bool was_off = budget->governor.off;

	budget->governor.off = false;
	if (was_off)
		set_bulk(budget, now_ns);
	if (!budget->governor.off)
		record_all(budget, now_ns, true);
}

static int on_tick(void *context, uint64_t is_early)
{
	struct budget *budget = context;
	const uint64_t now_ns = clock_monotonic_ns(), ns = now_ns - budget->ticked_ns;
	int err;

	if (!budget->governor.options.budget_ppm && budget->governor.off)
		lift(budget);
	if (!budget->governor.options.budget_ppm ||
	    (!is_early && ns < SECOND_NS && !are_many(budget, ns)))
		return 0;
	err = tick(budget, now_ns);
	budget->calls = seen(budget);
	return err;
}

int budget_open(struct budget *budget, const struct budget_options *options, struct loop *loop)
{
	const struct governor_options governor = {
		.budget_ppm = options->ppm,
		.can_enter = live_can_set_entries(options->live),
		.can_remove = live_can_set_bulk(options->live),
	};
	int err;

	*budget = (struct budget){ .costs = options->costs,
				   .live = options->live,
				   .feed = options->feed,
				   .context = options->context,
				   .ticked_ns = clock_monotonic_ns() };
	governor_init(&budget->governor, &governor);
	if (options->ppm && !governor.can_remove)
		log_warning("this kernel removes probes too slowly: the budget is not kept");
	err = loop_add_timer(loop, 0, 0, on_tick, budget, true, &budget->early);
	return err ? err : loop_add_timer(loop, TICK_NS, TICK_NS, on_tick, budget, false, NULL);
}

void budget_set(struct budget *budget, uint64_t ppm)
{
	const bool begins = !budget->governor.options.budget_ppm;
	size_t i;

	budget->governor.options.budget_ppm = ppm;
	budget->ticked_ns = clock_monotonic_ns();
	for (i = 0; (begins || !ppm) && i < budget->costs->count; i++) {
		struct cost *cost = budget->costs->processes[i];

		if (cost->budget.governed.at_entries)
			live_set_entries(budget->live, (pid_t)cost->pid, cost->start_ns, false);
		if (cost->budget.governed.is_stackless)
			live_set_stackless(budget->live, (pid_t)cost->pid, cost->start_ns, false);
		cost->budget.governed = (struct governor_process){ 0 };
		cost->budget.noted = cost->spent;
	}
	if (!ppm)
		lift(budget);
}

void budget_close(struct budget *budget)
{
	if (budget->costs)
		record_all(budget, clock_monotonic_ns(), true);
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum ms_budget_step budget_step(const struct budget *budget, const struct cost *cost)
{
	if (live_misses_bulk(budget->live, (pid_t)cost->pid, cost->start_ns))
		return MS_BUDGET_OFF;
	return governor_step(&budget->governor, &cost->budget.governed);
}

size_t budget_at(const struct budget *budget, enum ms_budget_step step)
{
	size_t i, count = 0;

	for (i = 0; i < budget->costs->count; i++)
		count += budget_step(budget, budget->costs->processes[i]) == step;
	return count;
}

size_t budget_stackless(const struct budget *budget)
{
	size_t i, count = 0;

	for (i = 0; i < budget->costs->count; i++)
		count += budget->costs->processes[i]->budget.governed.is_stackless;
	return count;
}

size_t budget_over(const struct budget *budget)
{
	size_t i, count = 0;

	for (i = 0; i < budget->costs->count; i++)
		count += budget->costs->processes[i]->budget.governed.is_over;
	return count;
}
