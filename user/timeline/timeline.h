/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happened when, in a bounded number of buckets: they begin short, and whenever the run is
 * longer than all of them, two become one and each is twice as long.
 */
#ifndef MEMSCOPE_TIMELINE_TIMELINE_H
#define MEMSCOPE_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"

#define TIMELINE_BUCKETS 128 /* even */

struct timeline_level {
	uint64_t max[TIMELINE_BUCKETS];
	uint64_t end[TIMELINE_BUCKETS]; /* when the bucket ended */
	size_t filled;                  /* buckets: the last one's end is the level now */
};

struct timeline_copies {
	uint64_t count[TIMELINE_BUCKETS];
	uint64_t bytes[TIMELINE_BUCKETS];
	/* Those that the host waited for: how long they took says how fast they were. */
	uint64_t timed_bytes[TIMELINE_BUCKETS];
	uint64_t timed_ns[TIMELINE_BUCKETS];
};

/* A process's. */
struct timeline_series {
	size_t place; /* in the timeline's list */
	uint32_t pid;
	uint64_t start_ns;                                       /* with the pid, the process */
	struct timeline_level *levels[MS_SPACES_COUNT];          /* live bytes; NULL: none ever */
	struct timeline_copies *copies[MS_DIRECTIONS_COUNT + 1]; /* the last: direction unknown */
	/* By bucket; not its own where all are 0. */
	uint64_t *allocs, *alloc_bytes, *frees, *launches;
	uint64_t *blocked_ns; /* threads in calls that synchronise, added up */
};

struct timeline {
	uint64_t begin_ns; /* 0: nothing has been seen */
	uint64_t end_ns;
	uint64_t width_ns;
	struct timeline_series **series;
	size_t count, capacity;
	struct map by_identity; /* event_process_key() -> series */
	struct timeline_series *last;
	struct timeline_series *more; /* the sum of processes that are not listed any more */
	uint64_t more_count;          /* the state's, when they were looked at */
	uint64_t lost[TIMELINE_BUCKETS];
	size_t bytes;    /* of memory that series take */
	bool incomplete; /* there was no memory for something */
};

void timeline_fini(struct timeline *timeline);

/* About how much memory it takes. */
size_t timeline_bytes(const struct timeline *timeline);

/* The time that is covered begins. */
void timeline_begin(struct timeline *timeline, uint64_t ts_ns);

/* What an event did; `change` is state_apply()'s answer to it, `state` the state after it. */
void timeline_event(struct timeline *timeline, const struct state *state, const struct event *event,
		    const struct change *change);

/* Events that were lost up to then. */
void timeline_lost(struct timeline *timeline, uint64_t ts_ns, uint64_t count);

/* The state has become another one than the events led to. */
void timeline_state(struct timeline *timeline, const struct state *state, uint64_t ts_ns);

/* After the last event: the levels go on to there. */
void timeline_finish(struct timeline *timeline, const struct state *state, uint64_t ts_ns);

/* Buckets that are in use. */
size_t timeline_length(const struct timeline *timeline);

/* NULL: nothing is known of it. */
const struct timeline_series *timeline_find(const struct timeline *timeline, uint32_t pid,
					    uint64_t start_ns);

#endif /* MEMSCOPE_TIMELINE_TIMELINE_H */
