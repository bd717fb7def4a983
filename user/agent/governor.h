/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides what is given up so that tracing costs no program more than the budget. Pure: its caller
 * says what each process has spent, and does what the governor decides.
 *
 * Each process has a credit, which grows by its budget and shrinks by what it spends: so the budget
 * holds over GOVERNOR_CREDIT_NS, however unevenly calls come. Once a process has used up its
 * credit, the ends of its bulk calls (copies, memsets, launches, synchronisation) are no longer
 * watched. If that is not enough, the probes of bulk calls are removed: in all processes, because a
 * probe is in a library. They come back when those that were the reason have half of their credit
 * again. Call stacks of allocations are given up where they are what costs too much: beside calls
 * that take more than the budget without bulk calls, or when the ends of these are given up.
 * Allocations and frees are always traced, whatever they cost.
 */
#ifndef MEMSCOPE_AGENT_GOVERNOR_H
#define MEMSCOPE_AGENT_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define GOVERNOR_CREDIT_NS 10000000000ull /* of time whose budget a process can save up */
#define GOVERNOR_DEBT_NS 300000000000ull  /* it owes at most the budget of that time */
#define GOVERNOR_CALM_NS 10000000000ull   /* of few calls, until their ends are watched again */
#define GOVERNOR_OFF_NS 1000000000ull     /* for so long, the probes do not come back */
/* When the probes come back, even if allocations alone take more than the budget. */
#define GOVERNOR_RETRY_NS 60000000000ull

struct governor_options {
	uint64_t budget_ppm; /* of a CPU, of each process; 0: there is no limit */
	bool can_enter;      /* MS_BUDGET_ENTRIES helps on this kernel */
	bool can_remove;     /* MS_BUDGET_OFF is possible */
};

/* CPU time of a process for what tracing does, in nanoseconds. */
struct governor_spent {
	uint64_t all_ns;
	uint64_t bulk_ns;   /* of that, for bulk calls, */
	uint64_t stacks_ns; /* and for call stacks */
	uint64_t spared_ns; /* what stacks would have cost, if they had been taken */
};

/* A process that lives. A zeroed one is new. */
struct governor_process {
	bool known;
	bool at_entries;         /* its step, as long as the probes are there */
	bool is_settled;         /* it was so before the last interval, or cannot be */
	bool is_reason;          /* for the probes not being there */
	bool is_over;            /* because of calls that are never given up: nothing helps */
	bool is_stackless;       /* no stacks are taken of it */
	int64_t credit_ns;       /* negative: a debt */
	uint64_t calm_ns;        /* for so long, it would have kept within half of its budget */
	uint64_t calm_stacks_ns; /* with stacks */
	uint64_t recent_ppm;     /* of a CPU: what its bulk calls have cost in the last interval */
	uint64_t probed_ppm;     /* what all calls did in the last one with all probes */
};

struct governor {
	struct governor_options options;
	bool off;        /* the probes of bulk calls are removed */
	uint64_t off_ns; /* for so long */
};

void governor_init(struct governor *governor, const struct governor_options *options);

/*
 * What the process has spent in the interval of `ns` that has ended. Returns whether `at_entries`
 * or `is_stackless` has changed.
 */
bool governor_note(const struct governor *governor, struct governor_process *process, uint64_t ns,
		   const struct governor_spent *spent);

/*
 * After governor_note() of all processes for an interval of `ns`. Returns whether `off` has
 * changed: then the probes are to be removed or to come back.
 */
bool governor_turn(struct governor *governor, struct governor_process *const *processes,
		   size_t count, uint64_t ns);

/*
 * For how long the probes can stay until a process has used up its credit, if its calls go on as in
 * the last interval with probes: a look every so often would see it too late. UINT64_MAX: for ever.
 */
uint64_t governor_lasts_ns(const struct governor *governor,
			   struct governor_process *const *processes, size_t count);

enum ms_budget_step governor_step(const struct governor *governor,
				  const struct governor_process *process);

#endif /* MEMSCOPE_AGENT_GOVERNOR_H */
