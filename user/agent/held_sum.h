/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much is held over an interval: the lowest and the highest amount, and bytes times time.
 */
#ifndef MEMSCOPE_AGENT_HELD_SUM_H
#define MEMSCOPE_AGENT_HELD_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "history/batch.h"

/* A zeroed one is of what is not there yet. */
struct held_sum {
	uint64_t since_ns, last_ns; /* the interval's part in which it is there, so far */
	uint64_t live, min, max;
	unsigned __int128 byte_ns; /* until `last_ns` */
	bool there;
};

/* Time passes. */
void held_sum_advance(struct held_sum *sum, uint64_t ts_ns);

/* From now on, `live` bytes are held. */
void held_sum_set(struct held_sum *sum, uint64_t live, uint64_t ts_ns);

/*
 * What the sum is until it was advanced last, and begins the next interval there. What is less than
 * a millisecond's worth goes to that one.
 */
struct history_held held_sum_take(struct held_sum *sum);

/* Adds what something else held in the same interval. */
void held_sum_join(struct history_held *to, const struct history_held *other);

/* What a counter has counted since then, which may have begun anew. */
static inline uint64_t held_sum_counted(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

#endif /* MEMSCOPE_AGENT_HELD_SUM_H */
