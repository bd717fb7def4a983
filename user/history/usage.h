/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a query of the history gives: rows about who used how much, and what happened.
 */
#ifndef MEMSCOPE_HISTORY_USAGE_H
#define MEMSCOPE_HISTORY_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history/rise.h"
#include "history/schema.h"

/* What one interval says of a row. */
struct history_point {
	uint64_t start_s;
	uint64_t mean_bytes; /* over the whole interval */
	uint64_t max_bytes;
};

/*
 * What a process, pod, user, ... held of the memory of devices. If it was several allocations of
 * several kinds, or by several processes, `peak_bytes` is the sum of their peaks of an interval,
 * which need not have been at the same moment.
 */
struct history_row {
	char *name;              /* "": of those of which it is not known */
	uint64_t pid;            /* HISTORY_BY_PROCESS; else 0 */
	char *user, *place;      /* HISTORY_BY_PROCESS: where it ran, for people; may be NULL */
	char *device_name;       /* HISTORY_BY_DEVICE; may be NULL */
	uint64_t processes;      /* HISTORY_BY_DEVICE: 0 */
	uint64_t inexact;        /* of any of them: bits of enum history_inexact */
	uint64_t first_s, end_s; /* of the intervals that it is in */
	uint64_t peak_bytes;
	bool peak_is_sum; /* at most so much was held at a time; else exactly that */
	unsigned __int128 byte_ms, idle_byte_ms, unknown_byte_ms; /* the latter two are parts */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	uint64_t launches, graph_launches; /* not with HISTORY_BY_DEVICE */
	bool used_known;
	uint64_t used_peak_bytes, used_ms; /* by NVML, HISTORY_BY_DEVICE */
	unsigned __int128 used_byte_ms;

	bool pointed;                 /* it is among those that have points */
	struct history_point *points; /* in order */
	size_t points_count, points_capacity;
	struct {
		uint64_t start_s, min_bytes, max_bytes, byte_ms;
		uint64_t parts; /* that held something */
	} open;                 /* the interval that is added up */
	struct rise rise;       /* HISTORY_BY_PROCESS: without the first interval and the last */
};

struct history_happening {
	uint64_t ts_ms, count;
	uint64_t pid;                              /* 0: not known */
	char *process;                             /* its name; these may be NULL */
	char *user, *place, *device, *kind, *what; /* as in struct history_event */
	uint64_t inexact; /* of the process: bits of enum history_inexact */
	bool bytes_known;
	uint64_t bytes;
};

struct history_usage {
	enum history_level level;
	uint32_t step_s;          /* of points: one or several intervals of that level */
	uint64_t from_s, to_s;    /* whole steps */
	uint64_t observed_ms;     /* so long the agent was there */
	struct history_row *rows; /* those that used most first */
	size_t rows_count, rows_capacity;
	struct history_happening *events; /* in order; the last HISTORY_EVENTS_MOST */
	size_t events_count, events_capacity;
	uint64_t events_left_out;
};

#define HISTORY_EVENTS_MOST 1000
#define HISTORY_OTHERS "(others)" /* the row of what is not among the first 50,000 rows */

/* Returns NULL without memory. */
struct history_row *history_usage_add_row(struct history_usage *usage, const char *name);

/* Marks those rows that used most, without a new order. Returns 0 or -ENOMEM. */
int history_usage_choose(struct history_usage *usage, size_t most);

/* Those that used most become the first. */
void history_usage_sort(struct history_usage *usage);
void history_usage_fini(struct history_usage *usage);

#endif /* MEMSCOPE_HISTORY_USAGE_H */
