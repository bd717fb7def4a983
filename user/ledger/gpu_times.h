/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What GPUs did for a process and how long it took, from CUPTI's records: kernels by name, copies
 * by direction, the busy time of each device. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_GPU_TIMES_H
#define MEMSCOPE_LEDGER_GPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/call_times.h"
#include "ledger/gpu_busy.h"
#include "ledger/gpu_joins.h"

struct process;
struct state;

struct gpu_total {
	uint64_t count;
	uint64_t untimed; /* of these: their times are not known */
	uint64_t bytes;   /* of copies and memsets, with those that are not timed */
	uint64_t total_ns, least_ns, most_ns;
};

struct gpu_kernel {
	uint64_t id;      /* of its name; 0: CUPTI gave none */
	const char *name; /* interned; NULL: not known */
	struct gpu_total total;
	struct call_times runs; /* those with times, for call_times_percentile(); none in sums */
};

struct gpu_device {
	int32_t device;             /* ordinal as the process sees it; -1: unknown */
	uint64_t first_ns, last_ns; /* begin of the first activity, end of the last; 0: none */
	uint64_t kernels_ns, copies_ns,
		memsets_ns; /* added up: more than the time, if they overlap */
	uint64_t activities;
	struct gpu_busy busy;
};

struct gpu_times {
	struct ms_gpu_status_body status; /* the last; state OFF and reason NONE: it said nothing */
	uint64_t statuses;
	uint64_t first_status_ns, last_status_ns; /* when they came, CLOCK_MONOTONIC */
	uint64_t total;   /* activities that came: kernels, copies, memsets, calls, overheads */
	struct map names; /* id -> interned name */
	struct map kernel_places; /* id -> position in `kernels` */
	struct gpu_kernel *kernels;
	size_t kernels_count, kernels_capacity;
	struct gpu_total others;                          /* kernels that found no place */
	struct gpu_total copies[MS_DIRECTIONS_COUNT + 1]; /* the last: direction unknown */
	struct gpu_total pageable;                        /* of the copies, on the host's side */
	struct gpu_total memsets;
	struct gpu_total overheads;
	uint64_t device_launched; /* kernels, by kernels */
	uint64_t in_graphs;       /* kernels, copies and memsets of graphs */
	struct gpu_device *devices;
	size_t devices_count, devices_capacity;
	struct gpu_joins joins;
	struct gpu_host_calls calls;
};

/* The name of a kind of overhead, by CUPTI's number; NULL: unknown. */
const char *gpu_overhead_name(uint16_t kind);

/* Returns 0 or -ENOMEM. `*link` as in gpu_joins_activity(). */
int gpu_times_activity(struct process *process, const struct ms_activity_body *activity,
		       const struct gpu_link **link);
int gpu_times_set_name(struct process *process, uint64_t id, const char *name);
int gpu_times_name(struct state *state, struct process *process, const struct ms_gpu_name *name);
int gpu_times_status(struct process *process, const struct ms_gpu_status *status);

/*
 * What gives a device work, with known times: kernels, copies and memsets. Not calls, overheads of
 * the driver, and what CUPTI had no times for.
 */
bool gpu_times_is_work(const struct ms_activity_body *activity);

/* Notes a call of the process, at its end, if the process has times. */
int gpu_times_call(struct process *process, const struct event *event);

/* The name of the kernel; NULL: unknown. */
const char *gpu_times_kernel(const struct process *process, uint64_t id);

/* Kernels in all. */
struct gpu_total gpu_times_kernels(const struct gpu_times *times);
struct gpu_total gpu_times_copies(const struct gpu_times *times);

/*
 * The kernels, those with the largest total time first, in an array to be freed; NULL without
 * memory.
 */
const struct gpu_kernel **gpu_times_sorted(const struct gpu_times *times);

/* Sets all counts to 0. */
void gpu_times_restart(struct gpu_times *times);

/* Adds one process to a sum of several, which has no intervals: devices of the same number are
 * taken for one, and their times are added up. Returns 0 or -ENOMEM. */
int gpu_times_add(struct process *sum, const struct process *process);

size_t gpu_times_bytes(const struct gpu_times *times);
void gpu_times_free(struct gpu_times *times);

#endif /* MEMSCOPE_LEDGER_GPU_TIMES_H */
