/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of `memscope-bpf top`: a row for each process with what it holds, how that changed
 * since the last look and in the last minute, and how often it calls. A sink of the pipeline
 * follows peaks. A look computes everything else, so its cost depends on the number of processes,
 * not on what is live. Pure.
 */
#ifndef MEMSCOPE_TOP_TOP_H
#define MEMSCOPE_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "ledger/state.h"
#include "ledger/process_selection.h"
#include "sink.h"

#define TOP_SAMPLES 60 /* of what a process holds, one a second */

/* The order of rows, in the order of --sort's words. */
enum top_sort {
	TOP_LIVE,
	TOP_GROWTH,
	TOP_RATE,
	TOP_PEAK,
	TOP_PID,
	TOP_SORTS,
};

const char *top_sort_name(enum top_sort sort);

/* What is kept of a process between two looks. */
struct top_history {
	uint64_t number;                       /* struct process, number */
	uint64_t look;                         /* the last one that it was part of */
	uint64_t live_bytes, allocs, launches; /* as of that one */
	uint64_t peak_bytes;                   /* of what it held on devices at a time */
	uint64_t first_bytes; /* what it held before the first sample, as far as that is known */
	uint64_t samples[TOP_SAMPLES]; /* a ring */
	uint32_t samples_count;        /* so many are known */
	bool ended;                    /* that has been shown */
};

/* All amounts are of memory on devices, as usage_is_on_device() has it. */
struct top_row {
	uint64_t number;   /* struct process, number */
	uint64_t start_ns; /* with the pid, for state_find() */
	uint32_t pid;
	uint32_t history; /* position */
	uint64_t live_bytes, peak_bytes;
	int64_t growth_bytes;      /* since the last look */
	int64_t minute_bytes;      /* in the last TOP_SAMPLES seconds, or since it is seen */
	uint64_t allocs, launches; /* since the last look */
	uint64_t nvml_bytes;       /* what NVML says that it holds */
	int64_t unexplained_bytes; /* of that */
	uint64_t exit_bytes;       /* what it held when it ended */
	bool nvml_known;
	bool peak_known;
	bool held_before;  /* it may hold memory from before top attached */
	bool inexact;      /* `live_bytes` may be wrong */
	bool entries_only; /* what is live is not known at all */
	bool ended;        /* since the last look */
};

struct top {
	struct sink sink;  /* first */
	struct map places; /* number of a process -> position in `histories` */
	/*
	 * NULL: the sink follows peaks. Else the state is an agent's answer, and this has its
	 * peaks: number of a process -> bytes.
	 */
	const struct map *told_peaks;
	const struct process_selection *selection; /* NULL: all processes are shown */
	struct top_history *histories;
	size_t histories_count, histories_capacity;
	uint64_t seconds; /* samples so far */

	/* Of the last look: */
	uint64_t look;               /* counts from 1; 0: there was none */
	uint64_t at_ns, interval_ns; /* CLOCK_MONOTONIC; since the look before, or the beginning */
	struct top_row *rows;
	size_t rows_count, rows_capacity;
	size_t running, ended; /* processes that use CUDA: that run; that have ended so far */
	size_t left_out;       /* of those that run: `selection` leaves them out */
	uint64_t live_bytes;   /* of all of them */
	bool nvml_known;       /* of some process */
	int err;               /* -ENOMEM: something could not be kept */
};

/* `now_ns`: when top begins, CLOCK_MONOTONIC. The caller adds `top->sink` to a pipeline. */
void top_init(struct top *top, uint64_t now_ns);
void top_fini(struct top *top);

/* Makes new rows, in no order. `now_ns`: when the state was so. Returns 0 or -ENOMEM. */
int top_look(struct top *top, uint64_t now_ns);

/* Sorts the rows; equal ones by PID. `reversed`: the least first. */
void top_sort_rows(struct top *top, enum top_sort sort, bool reversed);

/* NULL: the process is no longer known. Valid until the next event. */
const struct process *top_process(const struct top *top, const struct top_row *row);

/* What it held, a second apart, the newest last; returns how many, at most TOP_SAMPLES. */
size_t top_samples(const struct top *top, const struct top_row *row, uint64_t samples[TOP_SAMPLES]);

/* `count` calls in the last interval, per second, rounded; 0 without an interval. */
uint64_t top_per_second(const struct top *top, uint64_t count);

#endif /* MEMSCOPE_TOP_TOP_H */
