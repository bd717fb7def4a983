/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of the rules about GPUs that CUPTI has timed share.
 */
#ifndef MEMSCOPE_TESTS_ANALYSED_GPU_H
#define MEMSCOPE_TESTS_ANALYSED_GPU_H

#include "analysed.h"

#define STEPS 100

static inline void status(struct run *run, enum ms_gpu_state state, uint64_t dropped)
{
	union record record = record_gpu_status(state, MS_GPU_REASON_NONE);

	record.gpu_status.is.dropped = dropped;
	feed(run, record);
}

static inline void kernel_at(struct run *run, uint64_t begin_ns, uint64_t ns)
{
	static uint32_t correlation;

	feed(run, record_activity(MS_ACTIVITY_KERNEL, ++correlation, begin_ns, ns));
}

static inline void look(struct run *run, uint64_t cpu_ns, uint64_t queue_ns)
{
	union record load = record_load(SECOND + cpu_ns, queue_ns, GIB);

	load.load.throttled_ns = load.load.throttled = 0;
	load.load.cgroup_stall_us = load.load.major_faults = 0;
	feed(run, record_of(0, 0, record_host(8 * GIB, 0)));
	feed(run, load);
}

static inline uint64_t said(const struct finding *finding, const char *what)
{
	size_t i;

	for (i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].what, what))
			return finding->evidence[i].value;
	fail_msg("nothing is said of: %s", what);
	return 0;
}

#endif /* MEMSCOPE_TESTS_ANALYSED_GPU_H */
