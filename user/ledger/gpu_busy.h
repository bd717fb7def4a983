/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a device was busy for a process, and the gaps in between. A part of gpu_times.h.
 */
#ifndef MEMSCOPE_LEDGER_GPU_BUSY_H
#define MEMSCOPE_LEDGER_GPU_BUSY_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/gpu_gaps.h"

/*
 * Intervals of the last seconds in which something ran. CUPTI delivers its buffers in any order,
 * and each thread of a program has its own. Older intervals are only kept as a sum.
 */
#define GPU_LATE_NS 5000000000ull
#define GPU_INTERVALS_LEAST 4096u
#define GPU_INTERVALS_MOST 1048576u
struct gpu_busy {
	struct gpu_call *intervals;
	size_t count, capacity;
	size_t united;       /* they are disjoint and sorted if that equals `count` */
	uint64_t settled_ns; /* of those that are no longer there */
	uint64_t settled_until_ns;
	uint64_t late;        /* intervals that came too late: some of their time may be missing */
	struct gpu_gaps gaps; /* before those that are no longer there */
};

/* Returns 0 or -ENOMEM. `calls` are those of the process. */
int gpu_busy_add(struct gpu_busy *busy, struct gpu_host_calls *calls, struct gpu_call interval);

/* What ended by then becomes a sum. Returns 0 or -ENOMEM. */
int gpu_busy_settle(struct gpu_busy *busy, struct gpu_host_calls *calls, uint64_t until_ns);

/* How long the device was busy. */
uint64_t gpu_busy_ns(const struct gpu_busy *busy);

/* All gaps so far, to be freed with gpu_gaps_fini(). Returns 0 or -ENOMEM. */
int gpu_busy_gaps(const struct gpu_busy *busy, const struct gpu_host_calls *calls,
		  struct gpu_gaps *gaps);

void gpu_busy_fini(struct gpu_busy *busy);
size_t gpu_busy_bytes(const struct gpu_busy *busy);

#endif /* MEMSCOPE_LEDGER_GPU_BUSY_H */
