/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a process's calls took, by what they do: all functions of a kind together, in few
 * buckets. It is a view of call_times.h for metrics.
 */
#ifndef MEMSCOPE_LEDGER_CALL_LATENCY_H
#define MEMSCOPE_LEDGER_CALL_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "event/probe.h"

struct process;

#define CALL_LATENCY_BOUNDS 12

/*
 * The longest time, in nanoseconds, of each bucket but the last: from a microsecond to four
 * seconds, in steps of four. They are bounds of call_times.h, too, so that the counts are exact.
 */
extern const uint64_t call_latency_bounds[CALL_LATENCY_BOUNDS];

struct call_latency {
	uint64_t counts[CALL_LATENCY_BOUNDS + 1]; /* of calls, in each bucket alone */
	uint64_t count, sum_ns;                   /* of all of them */
	uint64_t untimed;                         /* further calls, whose times are not known */
};

/* Whether an outside reader wants the times of calls of that kind: they wait for something. */
bool call_latency_has(enum ms_op op);

struct call_latency call_latency_of(const struct process *process, enum ms_op op);

#endif /* MEMSCOPE_LEDGER_CALL_LATENCY_H */
