/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the history's database, also while the agent writes it: who used how much, when.
 */
#ifndef MEMSCOPE_HISTORY_READER_H
#define MEMSCOPE_HISTORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history/schema.h"

struct history_reader;

/*
 * Returns 0, or -errno: -ENOENT if there is none, -EILSEQ if it is damaged or not a history,
 * -EPROTO if it is one of another version. Nothing is logged.
 */
int history_reader_open(struct history_reader **reader, const char *path);
void history_reader_close(struct history_reader *reader);

/* When it begins and ends, in seconds since 1970; both 0 if it is empty. Returns 0 or -errno. */
int history_reader_range(struct history_reader *reader, uint64_t *first_s, uint64_t *end_s);

enum history_by {
	HISTORY_BY_PROCESS,
	HISTORY_BY_POD,
	HISTORY_BY_CONTAINER,
	HISTORY_BY_USER,
	HISTORY_BY_JOB,
	HISTORY_BY_DEVICE,
};

struct history_query {
	uint64_t from_s, to_s; /* since 1970 */
	enum history_by by;
	bool points; /* wants history_usage.points */
};

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
	bool inexact;            /* a process may have held more or less than was seen */
	uint64_t first_s, end_s; /* of the intervals that it is in */
	uint64_t peak_bytes;
	unsigned __int128 byte_ms, idle_byte_ms, unknown_byte_ms; /* the latter two are parts */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	uint64_t launches, graph_launches; /* not with HISTORY_BY_DEVICE */
	bool used_known;
	uint64_t used_peak_bytes, used_ms; /* by NVML, HISTORY_BY_DEVICE */
	unsigned __int128 used_byte_ms;

	struct history_point *points; /* in order */
	size_t points_count, points_capacity;
	struct {
		uint64_t start_s, max_bytes, byte_ms;
	} open; /* the interval that is added up */
	int64_t last_process;
};

struct history_happening {
	uint64_t ts_ms, count;
	uint64_t pid;                              /* 0: not known */
	char *process;                             /* its name; these may be NULL */
	char *user, *place, *device, *kind, *what; /* as in struct history_event */
	bool bytes_known;
	uint64_t bytes;
};

struct history_usage {
	enum history_level level;
	uint64_t from_s, to_s;    /* whole intervals of that level */
	uint64_t observed_ms;     /* so long the agent was there */
	struct history_row *rows; /* those that used most first */
	size_t rows_count, rows_capacity;
	struct history_happening *events; /* in order; the last HISTORY_EVENTS_MOST */
	size_t events_count, events_capacity;
	uint64_t events_left_out;
};

#define HISTORY_EVENTS_MOST 1000

/*
 * By the finest rollups that are kept for the whole range, if that is not too long. Returns 0 or
 * -errno, as above. Free it in any case.
 */
int history_reader_query(struct history_reader *reader, const struct history_query *query,
			 struct history_usage *usage);
void history_usage_fini(struct history_usage *usage);

#endif /* MEMSCOPE_HISTORY_READER_H */
