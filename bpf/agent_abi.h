/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about what the agent gives up so that it does not cost too much, which
 * abi.h includes.
 */
#ifndef MS_AGENT_ABI_H
#define MS_AGENT_ABI_H

/* What is traced of a process besides allocations and frees, which always are. */
enum ms_budget_step {
	MS_BUDGET_ALL,     /* bulk calls (enum ms_ring) from their entry to their return */
	MS_BUDGET_ENTRIES, /* their entries: neither results nor durations are known */
	MS_BUDGET_OFF,     /* none of them */
	MS_BUDGET_STEPS,
};

/* Whether call stacks are given up as well: bits of ms_budget.stackless. */
enum ms_budget_stackless {
	MS_BUDGET_IS_STACKLESS = 1 << 0,  /* from now on, */
	MS_BUDGET_WAS_STACKLESS = 1 << 1, /* and until now */
};

/* That has changed, or goes on: a record when it does, and now and then. */
struct ms_budget {
	struct ms_event event;
	__u64 lasted_ns;  /* of the step before, since the last such record or its beginning */
	__u64 spent_ns;   /* CPU time that tracing has cost the process meanwhile: an estimate */
	__u32 budget_ppm; /* that it may cost, of a CPU */
	__u32 step;       /* enum ms_budget_step: from now on, */
	__u32 before;     /* and until now */
	__u32 stackless;  /* enum ms_budget_stackless */
};

#endif /* MS_AGENT_ABI_H */
