// SPDX-License-Identifier: BSD-2-Clause
#include "agent/governor.h"

#define PPM 1000000ull

/* A call whose end is watched costs at most so many times as much as its entry alone. */
#define WITH_END 3

/* Stacks that cost less than this part of the budget are not what costs too much. */
#define WORTH 8

void governor_init(struct governor *governor, const struct governor_options *options)
{
	*governor = (struct governor){ .options = *options };
}

enum ms_budget_step governor_step(const struct governor *governor,
				  const struct governor_process *process)
{
	if (governor->off)
		return MS_BUDGET_OFF;
	return process->at_entries ? MS_BUDGET_ENTRIES : MS_BUDGET_ALL;
}

/* What a process may spend in that time. */
static int64_t budget_of(const struct governor *governor, uint64_t ns)
{
	return (int64_t)(ns * governor->options.budget_ppm / PPM);
}

static void keep_account(const struct governor *governor, struct governor_process *process,
			 uint64_t ns, uint64_t spent_ns)
{
	const int64_t most_ns = budget_of(governor, GOVERNOR_CREDIT_NS);
	const int64_t least_ns = -budget_of(governor, GOVERNOR_DEBT_NS);

	if (!process->known)
		process->credit_ns = most_ns;
	process->known = true;
	/* The budget may have been lowered. */
	if (process->credit_ns < least_ns)
		process->credit_ns = least_ns;
	process->credit_ns += budget_of(governor, ns);
	if (process->credit_ns > most_ns)
		process->credit_ns = most_ns;
	if (spent_ns > (uint64_t)(process->credit_ns - least_ns))
		process->credit_ns = least_ns;
	else
		process->credit_ns -= (int64_t)spent_ns;
}

static bool is_more(const struct governor *governor, uint64_t spent_ns, uint64_t ns)
{
	return spent_ns > (uint64_t)budget_of(governor, ns);
}

/* Whether it would keep within half of the budget if the ends of its calls were watched. */
static bool is_calm(const struct governor *governor, uint64_t ns,
		    const struct governor_spent *spent)
{
	return !is_more(governor, 2 * (spent->all_ns + (WITH_END - 1) * spent->bulk_ns), ns);
}

static void choose_entries(const struct governor *governor, struct governor_process *process,
			   uint64_t ns, const struct governor_spent *spent)
{
	if (governor->off || !process->at_entries || process->credit_ns < 0 ||
	    !is_calm(governor, ns, spent))
		process->calm_ns = 0;
	else
		process->calm_ns += ns;
	if (process->credit_ns < 0 && spent->bulk_ns && governor->options.can_enter)
		process->at_entries = true;
	else if (process->calm_ns >= GOVERNOR_CALM_NS)
		process->at_entries = false;
}

/* They are what costs too much if the rest is no bulk calls, or cannot be given up any more. */
static void choose_stacks(const struct governor *governor, struct governor_process *process,
			  uint64_t ns, const struct governor_spent *spent)
{
	const bool without_bulk = is_more(governor, spent->all_ns - spent->bulk_ns, ns);

	if (!process->is_stackless || process->credit_ns < 0 ||
	    is_more(governor, 2 * (spent->all_ns + spent->spared_ns), ns))
		process->calm_stacks_ns = 0;
	else
		process->calm_stacks_ns += ns;
	if (process->credit_ns < 0 && is_more(governor, WORTH * spent->stacks_ns, ns) &&
	    (process->is_settled || without_bulk))
		process->is_stackless = true;
	else if (process->calm_stacks_ns >= GOVERNOR_CALM_NS)
		process->is_stackless = false;
}

static uint64_t ppm_of(uint64_t spent_ns, uint64_t ns)
{
	return spent_ns < UINT64_MAX / PPM ? spent_ns * PPM / ns : UINT64_MAX;
}

bool governor_note(const struct governor *governor, struct governor_process *process, uint64_t ns,
		   const struct governor_spent *spent)
{
	const bool before = process->at_entries, was_stackless = process->is_stackless;
	const uint64_t kept_ns = spent->all_ns - spent->bulk_ns - spent->stacks_ns;

	if (!governor->options.budget_ppm || !ns)
		return false;
	if (ns > GOVERNOR_DEBT_NS)
		ns = GOVERNOR_DEBT_NS;
	keep_account(governor, process, ns, spent->all_ns);
	process->is_settled = before || !governor->options.can_enter;
	process->recent_ppm = ppm_of(spent->bulk_ns, ns);
	if (!governor->off)
		process->probed_ppm = ppm_of(spent->all_ns, ns);
	process->is_over = process->credit_ns < 0 && is_more(governor, kept_ns, ns);
	choose_entries(governor, process, ns, spent);
	choose_stacks(governor, process, ns, spent);
	return process->at_entries != before || process->is_stackless != was_stackless;
}

/* It has used up its credit, and spends too much on bulk calls although it is at entries alone. */
static bool has_to_stop(const struct governor *governor, const struct governor_process *process)
{
	return process->credit_ns < 0 && process->is_settled &&
	       process->recent_ppm > governor->options.budget_ppm;
}

static bool has_recovered(const struct governor *governor, const struct governor_process *process)
{
	return process->credit_ns >= budget_of(governor, GOVERNOR_CREDIT_NS) / 2 ||
	       (process->is_over && governor->off_ns >= GOVERNOR_RETRY_NS);
}

static bool begin(struct governor *governor, struct governor_process *const *processes,
		  size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		processes[i]->is_reason = has_to_stop(governor, processes[i]);
		governor->off |= processes[i]->is_reason;
	}
	governor->off_ns = 0;
	return governor->off;
}

static bool end(struct governor *governor, struct governor_process *const *processes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (processes[i]->is_reason && !has_recovered(governor, processes[i]))
			return false;
	governor->off = false;
	return true;
}

bool governor_turn(struct governor *governor, struct governor_process *const *processes,
		   size_t count, uint64_t ns)
{
	if (!governor->options.budget_ppm || !governor->options.can_remove)
		return false;
	if (!governor->off)
		return begin(governor, processes, count);
	governor->off_ns += ns;
	if (governor->off_ns < GOVERNOR_OFF_NS)
		return false;
	return end(governor, processes, count);
}

uint64_t governor_lasts_ns(const struct governor *governor,
			   struct governor_process *const *processes, size_t count)
{
	const uint64_t budget_ppm = governor->options.budget_ppm;
	uint64_t lasts_ns = UINT64_MAX;
	size_t i;

	if (governor->off || !governor->options.can_remove)
		return UINT64_MAX;
	for (i = 0; i < count; i++) {
		const struct governor_process *process = processes[i];
		uint64_t ns;

		if (process->credit_ns < 0 || process->probed_ppm <= budget_ppm)
			continue;
		ns = (uint64_t)process->credit_ns * PPM / (process->probed_ppm - budget_ppm);
		lasts_ns = ns < lasts_ns ? ns : lasts_ns;
	}
	return lasts_ns;
}
