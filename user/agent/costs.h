/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tracing costs the traced programs: how often each has run into a probe, as its records say,
 * times what that takes on this machine. So it is an estimate, on the high side, and keeping it
 * costs the programs nothing. The costs are a sink of the pipeline.
 */
#ifndef MEMSCOPE_AGENT_COSTS_H
#define MEMSCOPE_AGENT_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/governor.h"
#include "base/map.h"
#include "ledger/stacks.h"
#include "sink.h"

/* What a trap takes if it could not be measured: the highest that was (docs/cost-and-safety.md). */
#define COSTS_TRAP_NS 900

/*
 * If the probes of a process' bulk calls are removed and come back, its calls wait while the kernel
 * changes its code: that takes it as much as so long a time with the probes.
 */
#define COSTS_SWITCH_NS 50000000ull

/* Of a process that lives. Times are CPU time of its threads. */
struct cost {
	uint32_t pid;
	uint64_t start_ns;           /* as in struct ms_event */
	struct governor_spent spent; /* since it is traced */
	uint64_t stack_ns;           /* what the last stack cost */
	uint64_t recent_ppm;         /* of a CPU, when costs_look() was called last */
	uint64_t looked_ns;          /* `spent.all_ns` then */
	struct cost_budget {
		struct governor_process governed;
		struct governor_spent noted; /* of these, what it knows of */
		enum ms_budget_step step;    /* that was recorded last, */
		bool is_stackless;           /* with that, */
		uint64_t since_ns;           /* when that was, and */
		uint64_t since_spent_ns;     /* `spent.all_ns` then */
	} budget;                            /* agent/budget.h */
};

#define COSTS_ENDED 256

struct costs {
	struct sink sink;            /* first: the pipeline hands copies over */
	const struct stacks *stacks; /* NULL: none are taken */
	uint64_t trap_ns;            /* of a probe alone */
	bool measured;               /* here, else COSTS_TRAP_NS */
	struct cost **processes;
	size_t count, capacity;
	struct map places;           /* event_process_key() -> a struct cost */
	uint64_t ended[COSTS_ENDED]; /* event_process_key() of those that ended last */
	size_t ended_next;
	uint64_t spent_ns;    /* of all processes, also of those that have ended */
	uint64_t highest_ppm; /* of those that lived at the last look */
	uint64_t look_ns;     /* when that was, CLOCK_MONOTONIC */
};

/*
 * `stacks` of the pipeline's state outlive the costs, or are NULL; `trap_ns` is 0 if it is not
 * known; `now_ns`: CLOCK_MONOTONIC.
 */
void costs_init(struct costs *costs, const struct stacks *stacks, uint64_t trap_ns,
		uint64_t now_ns);
void costs_fini(struct costs *costs);

/* Notes what each process has spent since the last look. */
void costs_look(struct costs *costs, uint64_t now_ns);

/* Returns NULL if nothing has been seen of that process, or it has ended. */
struct cost *costs_find(const struct costs *costs, uint32_t pid, uint64_t start_ns);

/* The process has had the probes of its bulk calls removed: that, and that they come back. */
void costs_note_switch(struct costs *costs, struct cost *cost);

/*
 * What such an event has cost its process, in nanoseconds, without its call stack: 0 if it is no
 * record of a call.
 */
uint64_t costs_of_event(const struct costs *costs, const struct event *event);

#endif /* MEMSCOPE_AGENT_COSTS_H */
