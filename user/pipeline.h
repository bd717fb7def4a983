/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one path of all events, live and recorded: decode, apply to the state, hand to every sink.
 */
#ifndef MEMSCOPE_PIPELINE_H
#define MEMSCOPE_PIPELINE_H

#include <stddef.h>

#include "event/event.h"
#include "event/filter.h"
#include "ledger/state.h"
#include "ledger/summary.h"
#include "sink.h"

#define PIPELINE_SINKS 8

struct pipeline {
	struct state state;
	struct filter filter;
	struct sink *sinks[PIPELINE_SINKS];
	size_t sinks_count;
	uint64_t ticked_ns; /* when the sinks last got the time */
	uint64_t shown;     /* calls */
	uint64_t filtered[MS_OPS_COUNT];
	uint64_t refused;
	uint64_t from_ns;            /* what was before only makes the state; 0: all */
	uint64_t until_ns;           /* what comes later is left out; 0: nothing */
	bool begun;                  /* from_ns has been reached */
	bool shows_sums;             /* sinks get calls that were only counted, too */
	struct ms_counters recorded; /* what the records say that the kernel side counted */
	int err;                     /* the first failure of the state or a sink: -errno */
};

/* One more consumer, which stays the caller's: in all, PIPELINE_SINKS at most. */
void pipeline_add_sink(struct pipeline *pipeline, struct sink *sink);

/*
 * Feeds one record; `context` is the struct pipeline. This is the ring buffers' callback, and what
 * the dump reader and the fuzzers call. Returns 0, or -errno once a sink has failed.
 */
int pipeline_feed(void *context, void *record, size_t length);

/* What the filter has to know of what an event did. */
struct filter_effect pipeline_effect(const struct change *change);

/* About how much memory the state and the sinks take. Costs more with more processes. */
size_t pipeline_bytes(const struct pipeline *pipeline);

/* After a batch of records. */
int pipeline_flush(struct pipeline *pipeline);

/* The time is `now_ns`: live, at least ten times a second. Sinks hear of it once per second. */
int pipeline_tick(struct pipeline *pipeline, uint64_t now_ns);

/* Fills in what the pipeline knows of the summary so far; counters and times are the caller's. */
void pipeline_summarise(const struct pipeline *pipeline, struct summary *summary);

/*
 * After the last record: fills in what the pipeline knows of `*summary` (counters and times are the
 * caller's) and lets every sink finish.
 */
int pipeline_finish(struct pipeline *pipeline, struct summary *summary);

#endif /* MEMSCOPE_PIPELINE_H */
