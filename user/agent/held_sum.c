// SPDX-License-Identifier: BSD-2-Clause
#include "agent/held_sum.h"

#define MS_NS 1000000ull

void held_sum_advance(struct held_sum *sum, uint64_t ts_ns)
{
	if (ts_ns <= sum->last_ns)
		return;
	sum->byte_ns += (unsigned __int128)sum->live * (ts_ns - sum->last_ns);
	sum->last_ns = ts_ns;
}

void held_sum_set(struct held_sum *sum, uint64_t live, uint64_t ts_ns)
{
	if (!sum->there) {
		sum->there = true;
		sum->since_ns = sum->last_ns = ts_ns;
		sum->min = sum->max = sum->live = live;
		return;
	}
	held_sum_advance(sum, ts_ns);
	sum->live = live;
	sum->min = live < sum->min ? live : sum->min;
	sum->max = live > sum->max ? live : sum->max;
}

struct history_held held_sum_take(struct held_sum *sum)
{
	const struct history_held held = {
		.ms = (sum->last_ns - sum->since_ns + MS_NS / 2) / MS_NS,
		.min_bytes = sum->min,
		.max_bytes = sum->max,
		.byte_ms = (uint64_t)(sum->byte_ns / MS_NS),
	};

	sum->byte_ns %= MS_NS;
	sum->min = sum->max = sum->live;
	sum->since_ns = sum->last_ns;
	return held;
}

void held_sum_join(struct history_held *to, const struct history_held *other)
{
	to->ms = other->ms > to->ms ? other->ms : to->ms;
	to->min_bytes += other->min_bytes;
	to->max_bytes += other->max_bytes;
	to->byte_ms += other->byte_ms;
}
