/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A phase: a part of a program's work with one name, inside the same outer phases. Its times and
 * amounts are sums over all times that it occurred. A part of timeline/phases.h.
 */
#ifndef MEMSCOPE_TIMELINE_PHASE_H
#define MEMSCOPE_TIMELINE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "timeline/phase_sums.h"

enum phase_kind {
	PHASE_THREAD,  /* has the calls of its thread */
	PHASE_RANGE,   /* has the calls of all threads of the process */
	PHASE_INSTANT, /* it only has a count */
	PHASE_OTHERS,  /* all phases that found no place */
	PHASE_KINDS_COUNT,
};

#define PHASE_VALUES 512 /* that a percentile is made of, at most */

/*
 * One value for each time that the phase occurred. If there are more than PHASE_VALUES, it keeps
 * every second one, then every fourth and so on, evenly spread.
 */
struct phase_values {
	int64_t *values;
	uint32_t count, capacity;
	uint32_t stride, skipped; /* 0: all are there */
	int64_t total, max, p95;  /* p95: after phase_finish(); the others are of all times */
};

struct phase {
	const struct phase *parent; /* NULL: it is in none */
	uint32_t pid;
	uint64_t start_ns; /* with the pid, the process */
	char comm[MS_COMM_BYTES];
	char *name;               /* NULL: it has none, or it could not be read */
	bool name_is_cut;         /* it is longer */
	uint64_t domain;          /* of NVTX, by its handle */
	uint8_t kind;             /* enum phase_kind */
	uint8_t source;           /* enum ms_marker_source: of its first time */
	uint32_t depth;           /* how many it is in */
	uint32_t number;          /* in the order in which they were first seen */
	uint64_t count;           /* times, with those that did not end */
	uint64_t open;            /* that did not end before the process, or the recording, did */
	uint64_t first_ns;        /* when it began first, CLOCK_MONOTONIC */
	uint64_t last_ns;         /* when it ended last; 0: it has not */
	struct phase_values time; /* ns */
	struct phase_values held; /* bytes: by how much more the process held afterwards */
	uint64_t peak_bytes;      /* the most that the process held in it */
	struct phase_sums sums;
	uint64_t hash;      /* of parent and name: in the map of all phases */
	struct phase *next; /* with the same hash */
};

/* One time that it occurred, from beginning to end. */
struct phase_time {
	uint64_t begin_ns, end_ns;
	uint64_t held_before, held_after, peak_bytes; /* of the process */
	bool ended;                                   /* it did, before the process */
};

void phase_take(struct phase *phase, const struct phase_time *time);

/* The same of an instant. */
void phase_take_instant(struct phase *phase, uint64_t ts_ns);

/* If there is no memory, percentiles are computed from fewer values. */
void phase_add(struct phase_values *values, int64_t value);

/* Call them after the last value. */
void phase_finish_values(struct phase_values *values);
void phase_finish(struct phase *phase);
void phase_free(struct phase *phase);

/* About how much memory it takes. */
size_t phase_bytes(const struct phase *phase);

/*
 * Compares pointers, for qsort(): a phase comes after the one that it lies in; otherwise phases are
 * in the order in which they were first seen.
 */
int phase_by_place(const void *a, const void *b);

#endif /* MEMSCOPE_TIMELINE_PHASE_H */
