/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records what a capture feeds: into a dump, or into a flight recorder's ring of which bundles are
 * made when something happens. Whatever becomes of the disk, the pipe or the file, the capture goes
 * on, and what could not be written is counted and logged.
 */
#ifndef MEMSCOPE_STORE_RECORDER_H
#define MEMSCOPE_STORE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline.h"
#include "store/properties.h"
#include "store/triggers.h"

struct recorder_options {
	const char *path;       /* NULL: standard output */
	const char *host;       /* not NULL: `path` is a template of bundles, store/bundle.h */
	uint64_t segment_bytes; /* after so many a new segment begins */
	uint64_t ring_bytes;    /* 0: everything is kept */
	/*
	 * The ring is that directory, which stays: what an earlier recorder has left there is taken
	 * over. NULL: one beside `path`, which must not exist and is gone in the end. Of one that
	 * stays, segments end after `segment_ns` and go after `ring_ns`; 0: they have time.
	 */
	const char *ring_directory;
	uint64_t segment_ns, ring_ns;
	uint32_t triggers; /* of a ring: bit set of enum trigger_kind; none: it becomes `path`
				 * in the end */
	uint32_t bundles_an_hour; /* because memory ran out, at most; 0: as many as there is need */
	uint32_t bundles_asked;   /* by TRIGGER_SIGNAL, at most; 0: five */
	bool sum_copies;          /* copies and memsets are summed up, ledger/copy_aggregator.h */

	/* What the segments' descriptions and the end say; `reason` why the latter is written. */
	void (*describe)(void *context, struct properties *properties);
	void (*describe_end)(void *context, const char *reason, struct properties *properties);
	/* What the kernel side has counted so far. Returns 0 or -errno. */
	int (*counters)(void *context, struct ms_counters *counters);
	void *context;
};

struct recorder;

/*
 * Creates what it writes to, and the first segment's beginning. The recorder becomes a sink of the
 * pipeline, which stays the caller's and is to show all calls. Returns 0 or -errno, logged.
 */
int recorder_open(struct recorder **recorder, struct pipeline *pipeline,
		  const struct recorder_options *options);

/*
 * After a batch of records, at least ten times a second. Returns 0, -EPIPE (nobody reads it any
 * more), or what recording cannot go on after.
 */
int recorder_tick(struct recorder *recorder);

/* What a ring that stays may take from now on. */
struct recorder_ring {
	uint64_t segment_bytes, bytes;
	uint64_t segment_ns, ns;
};

void recorder_set_ring(struct recorder *recorder, const struct recorder_ring *ring);

/* Has a bundle written when recorder_tick() is called next, if TRIGGER_SIGNAL is asked for. */
void recorder_signal(struct recorder *recorder);

/* The same for TRIGGER_LIMIT. */
void recorder_reached(struct recorder *recorder);

/*
 * After the last record: ends the dump. Returns 0, or -errno, logged, if what is to stay could not
 * be written.
 */
int recorder_end(struct recorder *recorder, const char *reason);

/* Nothing was recorded: removes what recorder_open() made. */
void recorder_discard(struct recorder *recorder);

void recorder_close(struct recorder *recorder);

struct recorder_counts {
	uint64_t bytes;             /* of the dump, or in the ring; of bundles not */
	uint64_t unwritten_blocks;  /* and those that others have taken out of the file */
	uint64_t unwritten_records; /* in those */
	uint64_t gone_records;      /* of these, those that had been written */
	struct bundle_counts bundles;
	uint64_t oldest_ns; /* when what is in the ring begins; 0: not known, or there is none */
};

struct recorder_counts recorder_counts(const struct recorder *recorder);

/* What is left in the end: the dump, or the last bundle; NULL: nothing. */
const char *recorder_result(const struct recorder *recorder);

/* The ring's directory, if it stays because a bundle could not be written; else NULL. */
const char *recorder_ring(const struct recorder *recorder);

#endif /* MEMSCOPE_STORE_RECORDER_H */
