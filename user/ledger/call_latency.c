// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/call_latency.h"

#include "ledger/call_times.h"
#include "ledger/state.h"

#define BOUND(exponent) ((1ull << (exponent)) - 1)

const uint64_t call_latency_bounds[CALL_LATENCY_BOUNDS] = {
	BOUND(10), BOUND(12), BOUND(14), BOUND(16), BOUND(18), BOUND(20),
	BOUND(22), BOUND(24), BOUND(26), BOUND(28), BOUND(30), BOUND(32),
};

bool call_latency_has(enum ms_op op)
{
	return op == MS_OP_ALLOC || op == MS_OP_FREE || op == MS_OP_COPY || op == MS_OP_MEMSET ||
	       op == MS_OP_SYNC;
}

/* Times are whole nanoseconds, so those up to a bound are in buckets that end with it. */
static void add(struct call_latency *latency, const struct call_times *times)
{
	unsigned int i, to = 0;

	for (i = 0; i < times->room; i++) {
		const uint64_t longest = call_times_longest(times->first + i);

		while (to < CALL_LATENCY_BOUNDS && longest > call_latency_bounds[to])
			to++;
		latency->counts[to] += times->buckets[i];
	}
	latency->count += times->timed;
	latency->sum_ns += times->total_ns;
}

static uint64_t seen_one_by_one(const struct call_times *times)
{
	uint64_t count = 0;
	unsigned int i;

	for (i = 0; i < times->room; i++)
		count += times->buckets[i];
	return count;
}

struct call_latency call_latency_of(const struct process *process, enum ms_op op)
{
	struct call_latency latency = { 0 };
	size_t i;

	for (i = 0; i < process->times_count; i++) {
		const struct call_times *times = &process->times[i];

		if (probe_at(times->row)->spec.op != op)
			continue;
		/* If a part of them was summed up, the sum of the others' times is not known. */
		if (seen_one_by_one(times) != times->timed) {
			latency.untimed += times->calls;
			continue;
		}
		add(&latency, times);
		latency.untimed += times->calls - times->timed;
	}
	return latency;
}
