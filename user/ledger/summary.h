/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run amounts to, as the sinks that end with a summary get it.
 */
#ifndef MEMSCOPE_LEDGER_SUMMARY_H
#define MEMSCOPE_LEDGER_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "event/losses.h"
#include "event/cgroup_leavers.h"
#include "event/untraced_forks.h"
#include "ledger/state.h"

struct call_sites;

/* What the tool itself took. */
struct summary_cost {
	uint64_t cpu_ns;     /* of this program, all threads, since the capture began */
	uint64_t bpf_runs;   /* 0: the kernel does not count (kernel.bpf_stats_enabled) */
	uint64_t bpf_ns;     /* in the traced programs' threads, without the traps */
	uint64_t ring_bytes; /* of each ring buffer; 0: there was none */
	uint64_t highest_critical, highest_bulk; /* the most that was ever waiting there, bytes */
};

struct summary {
	const struct state *state;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: the time that was observed */
	bool interim;              /* it goes on */
	struct ms_counters counters;
	struct summary_cost cost;
	uint64_t missed_processes; /* at least so many were not attached to in time */
	bool missed_known;         /* else they were not counted */
	uint64_t untraced;         /* at least so many descendants used CUDA and were not traced */
	bool untraced_known;
	const struct untraced_forks *forks; /* children that may have; NULL: not known */
	/* Processes traced on outside of what was chosen; NULL: not known, or none was given. */
	const struct cgroup_leavers *leavers;
	const struct call_sites *call_sites; /* of report/; NULL: no stacks were taken */
	uint32_t stack_ops;                  /* bit set of enum ms_op: whose stacks were taken */
	uint32_t captured_ops; /* bit set of enum ms_op: of the others nothing is known */

	/* Calls: losses.seen = shown + filtered + losses.calls. */
	struct losses losses;
	uint64_t shown;
	uint64_t filtered;
	uint64_t filtered_by_op[MS_OPS_COUNT];
	uint64_t left_out; /* calls in the counters, of processes that were not asked for */
	uint64_t refused;  /* records that could not be decoded: a defect */
};

/* Per second of the time observed; 0 without any. What is too much for 64 bits is their maximum. */
static inline uint64_t summary_per_second(const struct summary *summary, uint64_t bytes)
{
	uint64_t observed_ns = summary->end_ns - summary->start_ns;
	unsigned __int128 rate = (unsigned __int128)bytes * 1000000000;

	if (!observed_ns)
		return 0;
	rate /= observed_ns;
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

static inline bool summary_captured(const struct summary *summary, enum ms_op op)
{
	return summary->captured_ops >> op & 1;
}

#endif /* MEMSCOPE_LEDGER_SUMMARY_H */
