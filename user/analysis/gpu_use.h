/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the time GPUs were at work for a process, by CUPTI's times: too little, or so much
 * that the host does not matter. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_GPU_USE_H
#define MEMSCOPE_ANALYSIS_GPU_USE_H

#include "analysis/analysis.h"
#include "analysis/process_activity.h"

#define GPU_USE_MOST 50 /* percent: then it is what the host does, or the GPU */

/* What is known of one GPU: nanoseconds between its first work and its last. */
struct gpu_use {
	const struct gpu_device *device;
	uint64_t span_ns, busy_ns;
	struct gpu_gap_sum gaps; /* in which it is idle */
	uint64_t pauses_ns;      /* without work: not among the gaps */
	uint64_t observed_ns;    /* in which CUPTI's times were recorded */
	struct gpu_gaps all;
	uint64_t computed; /* of the process, percent of the time */
	bool has_computed;
};

/* 0 if CUPTI has said nothing of the process. */
size_t gpu_use_devices(const struct process_activity *activity);

/* Of the i-th device, to be freed. Returns 0 or -ENOMEM. */
int gpu_use_take(struct gpu_use *use, const struct process_activity *activity,
		 const struct analysis_options *options, size_t i);
void gpu_use_fini(struct gpu_use *use);

/* Of kernels, copies and memsets on all devices, added up. */
uint64_t gpu_use_work_ns(const struct gpu_times *times);

/* Busy, in percent of the time in which it had work. */
uint64_t gpu_use_busy_share(const struct gpu_use *use);

bool gpu_use_is_idle(const struct gpu_use *use, const struct analysis_options *options);
bool gpu_use_is_busy(const struct gpu_use *use, const struct analysis_options *options);

/* Whether one was idle: then gaps between calls say less. */
bool gpu_use_any_is_idle(const struct process_activity *activity,
			 const struct analysis_options *options);

/*
 * Whether all had work for most of the time of the process, and were idle for less than so many
 * percent of it: then nothing that the host did can have cost more.
 */
bool gpu_use_hides_host(const struct process_activity *activity,
			const struct analysis_options *options, uint64_t percent);

/* Copies among the work of all devices, in percent of its time, added up. */
uint64_t gpu_use_copies_share(const struct process_activity *activity);

/* Whether records of CUPTI are missing: it was busy for longer. */
bool gpu_use_misses_some(const struct process_activity *activity, const struct gpu_use *use);

#endif /* MEMSCOPE_ANALYSIS_GPU_USE_H */
