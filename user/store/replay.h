/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds a dump to a pipeline, as a live capture would: from the first segment on whose anchor is
 * whole. Where blocks are missing, the state is that of the next anchor.
 */
#ifndef MEMSCOPE_STORE_REPLAY_H
#define MEMSCOPE_STORE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline.h"
#include "store/dump_reader.h"

/* What a dump is, and what is wrong with it. */
struct replay_account {
	uint64_t recording;
	uint64_t blocks; /* that are whole */
	uint64_t segments;
	uint64_t events; /* records fed */
	uint64_t calls;  /* that those are about: one, or (MS_TYPE_CALLS) many, or none */
	uint64_t first_ts_ns, last_ts_ns; /* CLOCK_MONOTONIC: the time that they cover */

	uint64_t damaged_bytes;
	uint64_t damaged_places;
	uint64_t missing_blocks;  /* by their numbers */
	uint64_t repeated_blocks; /* by their numbers: not looked at again */
	uint64_t late_blocks;     /* of these, those that come after ones they belong before */
	uint64_t newer_blocks;    /* that this program cannot read: of a newer major version */
	uint64_t recordings;      /* one after the other; what is said below is said of the last */
	uint64_t first_missing_ts_ns, missing_ns; /* when; how long in all */
	uint64_t anchors_used;
	uint64_t uncertain; /* events after a gap, before the next anchor: the state may be wrong */
	uint64_t unanchored;      /* records before the first whole anchor: not fed */
	uint64_t unknown_blocks;  /* of types that this version does not know */
	uint64_t unknown_records; /* likewise, and those in anchors about unknown things */
	uint64_t unknown_calls;   /* of functions that it does not know */
	uint64_t refused;         /* records of anchors and blocks that were not in order */
	bool cut_short;           /* the last block is not whole */
	bool has_end;             /* the recording was ended properly */
};

#define REPLAY_BYTES (256ull << 20)
#define REPLAY_BYTES_PER_BYTE 256

struct replay;

/* The pipeline stays the caller's. NULL without memory. */
struct replay *replay_new(struct pipeline *pipeline);
void replay_free(struct replay *replay);

/*
 * Takes what the reader gave, in its order. Returns 0, -ENOMEM, an error of the pipeline's sinks, or
 * -E2BIG if the state and what the sinks make of it take more memory than that of any real recording of that length could:
 * REPLAY_BYTES, and REPLAY_BYTES_PER_BYTE for each byte of the blocks so far.
 */
int replay_item(struct replay *replay, const struct dump_item *item);

const struct replay_account *replay_account(const struct replay *replay);

/*
 * What the recording says of itself: the newest segment's description, or its end's. NULL: nothing.
 * docs/dump-format.md lists the names. Valid until the next item.
 */
const char *replay_text(const struct replay *replay, const char *name);
const char *replay_end_text(const struct replay *replay, const char *name);

/* The same of numbers; `otherwise` if there is none. */
uint64_t replay_number(const struct replay *replay, const char *name, uint64_t otherwise);
uint64_t replay_end_number(const struct replay *replay, const char *name, uint64_t otherwise);

#endif /* MEMSCOPE_STORE_REPLAY_H */
