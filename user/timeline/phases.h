/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs did between their markers (struct ms_marker). A phase is identified by its name and
 * the phases that it lies in. Memory is bounded, whatever names a program makes up.
 *
 * A phase of a thread (push and pop) lies in the phases that the thread is in, of any NVTX domain,
 * and has the calls of this thread. A range (start and end) lies in no phase, and has the calls of
 * all threads of its process. In both cases, held memory is that of the whole process. An end
 * without a beginning, or a beginning that the thread has left without an end, is counted, but is
 * not in the sums.
 */
#ifndef MEMSCOPE_TIMELINE_PHASES_H
#define MEMSCOPE_TIMELINE_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"
#include "timeline/phase.h"

#define PHASES_OF_PROCESS 256 /* different ones; more are one, "others" */
#define PHASES_MOST 8192      /* of all processes */
#define PHASES_PROCESSES 1024 /* markers of more are only counted */
#define PHASES_THREADS 4096   /* of a process, that are or were in one */
#define PHASES_DEPTH 64       /* of one thread at a time */
#define PHASES_RANGES 1024    /* of a process, at a time */

struct phases {
	struct phase **phases; /* in the order in which they were first seen */
	size_t count, capacity;
	struct map by_hash;    /* -> the first phase with it */
	struct map by_process; /* event_process_key() -> struct phases_process */
	struct phases_process **processes;
	size_t processes_count, processes_capacity;
	uint64_t markers;   /* that were looked at */
	uint64_t unmatched; /* ends whose beginning is not known */
	uint64_t left;      /* beginnings that were left without an end (exceptions, longjmp) */
	uint64_t dropped;   /* that found no place: too many at a time, or too many processes */
	uint64_t ambiguous; /* ends of a range by a number that several had then */
	bool incomplete;    /* there was no memory for something */
	/* Each phase that ends, and each instant; NULL: not wanted. Set before the first event. */
	void (*ended)(void *context, const struct phase *phase, uint32_t tid, uint64_t begin_ns,
		      uint64_t end_ns);
	void *context;
};

/* Takes markers, calls, and ends of processes; `change` is the result of state_apply(). */
void phases_event(struct phases *phases, const struct event *event, const struct change *change);

/* Call it when the state is replaced (a checkpoint). Open phases count as left. */
void phases_gap(struct phases *phases);

/* Call it after the last event: it ends all open phases. Afterwards, `phases` is only read. */
void phases_finish(struct phases *phases, uint64_t ts_ns);

void phases_fini(struct phases *phases);

/* About how much memory they take. */
size_t phases_bytes(const struct phases *phases);

#endif /* MEMSCOPE_TIMELINE_PHASES_H */
