/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what tracing costs each program within the budget: looks at the costs, asks the governor,
 * has the capture do it, and says so in the log, in the recording and in numbers.
 */
#ifndef MEMSCOPE_AGENT_BUDGET_H
#define MEMSCOPE_AGENT_BUDGET_H

#include "agent/costs.h"
#include "agent/governor.h"
#include "capture/live.h"

struct loop;
struct loop_source;

struct budget_counts {
	uint64_t changes[MS_BUDGET_STEPS]; /* of a process, to that step */
	uint64_t off_ns;                   /* in which bulk calls had no probes */
};

struct budget {
	struct governor governor;
	struct costs *costs;
	struct live *live;
	int (*feed)(void *context, void *record, size_t length);
	void *context;
	struct budget_counts counts;
	uint64_t calls;            /* seen by the last look at their number */
	uint64_t ticked_ns;        /* CLOCK_MONOTONIC: when the governor was asked last */
	uint64_t tried_ns;         /* when probes that are missing were */
	uint64_t on_ns;            /* since when bulk calls have had their probes again */
	bool is_said;              /* that they have not always */
	struct loop_source *early; /* a timer */
};

struct budget_options {
	uint64_t ppm; /* millionths of a CPU; 0: no limit */
	struct costs *costs;
	struct live *live;                                       /* with `governed` */
	int (*feed)(void *context, void *record, size_t length); /* as in struct live_options */
	void *context;
};

/* Looks at the costs from now on. All that it is given outlives the loop. Returns 0 or -errno. */
int budget_open(struct budget *budget, const struct budget_options *options, struct loop *loop);

/* Another budget; without one, everything is traced again. */
void budget_set(struct budget *budget, uint64_t ppm);

/* The loop has ended: records how long the present steps have lasted. */
void budget_close(struct budget *budget);

/* A process' step: also MS_BUDGET_OFF if its bulk calls have no probes for another reason. */
enum ms_budget_step budget_step(const struct budget *budget, const struct cost *cost);

/*
 * How many processes are at that step; of how many no stacks are taken; and how many cost more by
 * allocations and frees alone.
 */
size_t budget_at(const struct budget *budget, enum ms_budget_step step);
size_t budget_stackless(const struct budget *budget);
size_t budget_over(const struct budget *budget);

#endif /* MEMSCOPE_AGENT_BUDGET_H */
