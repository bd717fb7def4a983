/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where processes spend time in CUDA calls: by call stack (ledger/stacks.h) and function. Kept
 * while a recording is replayed. Calls whose stack is not known, or that were not watched to their
 * return, have no place here, nor have those that another call makes: their time is a part of its.
 *
 * Launches of which chance chose some are kept in a struct of their own. What one of these stands
 * for counts there, so that the sums are estimates; they have no time and no bytes.
 */
#ifndef MEMSCOPE_REPORT_CALL_SITES_H
#define MEMSCOPE_REPORT_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"

/* What calls from one place come to. */
struct call_site_total {
	uint64_t calls, failed;
	uint64_t duration_ns; /* of the threads that called */
	uint64_t bytes;       /* of those whose size is known */
	uint64_t chosen;      /* by chance, and stand for `calls`; 0: each was counted */
	uint64_t one_in;      /* the smallest chance of those was 1 in so many */
	double variance;      /* of `calls` */
};

/* Of one process. */
struct call_site {
	uint64_t process; /* event_process_key() */
	uint32_t stack;   /* id */
	uint16_t row;     /* of the probe table: what is called there */
	struct call_site_total total;
};

struct call_sites {
	struct call_site *list;
	size_t count, capacity;
	struct map places; /* of process, stack and row -> position */
	uint64_t others;   /* calls that found no place */
	/* By op: that have a place, and whose stack is not known. */
	struct call_site_total placed[MS_OPS_COUNT], unplaced[MS_OPS_COUNT];
	bool waits; /* there was one that does not allocate: such stacks were asked for */
};

void call_sites_fini(struct call_sites *sites);
size_t call_sites_bytes(const struct call_sites *sites);

/* What a sink of the pipeline gets. Returns 0 or -ENOMEM: then something is not known. */
int call_sites_event(struct call_sites *sites, const struct state *state,
		     const struct event *event);

/* The same of a launch that chance chose: an event of type LAUNCH_SAMPLE, or any other. */
int call_sites_sample(struct call_sites *launches, const struct state *state,
		      const struct event *event);

/* How many calls an estimate may be off: in at least 95 of 100 cases it is not more. */
uint64_t call_sites_error(const struct call_site_total *total);

/* Places of all processes that are alike, as one. */
struct call_site_row {
	const struct stack *stack;
	uint64_t processes;
	uint16_t row;
	struct call_site_total total;
};

/*
 * By call stack, or (`lines`) by Python's lines, where it has any. Those in which most time is
 * spent first, or with most calls, in an array to be freed. NULL without memory.
 */
struct call_site_row *call_sites_rows(const struct call_sites *sites, const struct state *state,
				      bool lines, size_t *count);

/*
 * A stack of the line (or else the stack) from which calls of these ops (bit set of enum ms_op), by
 * that function (MS_NO_ROW: any), took most of the process's time, and how much. NULL: none is
 * known.
 */
const struct stack *call_sites_longest(const struct call_sites *sites, const struct state *state,
				       uint64_t process, uint32_t ops, uint16_t row,
				       uint64_t *duration_ns);

/* How long all of these calls took, from wherever. */
uint64_t call_sites_ns(const struct call_sites *sites, uint64_t process, uint32_t ops,
		       uint16_t row);

/* Calls that are in no row, of those kinds of which others are: their stack is not known. */
struct call_site_total call_sites_unplaced(const struct call_sites *sites);

/* Calls that are in no row, of all kinds. */
struct call_site_total call_sites_without_stack(const struct call_sites *sites);

/* Of a call; 0 without any. */
uint64_t call_sites_mean_ns(const struct call_site_total *total);

#endif /* MEMSCOPE_REPORT_CALL_SITES_H */
