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

#include "report/recording_account.h"
#include "pipeline.h"
#include "store/dump_reader.h"

/*
 * What a recording may take that was made by somebody who means harm: so much, and so much more for
 * each byte of its blocks. A real one takes at least two bytes for an event (half a byte, if its
 * clock is a coarse one), and what is live takes less than 24 bytes of memory for each of them.
 */
#define REPLAY_BYTES (24ull << 20)
#define REPLAY_BYTES_PER_BYTE 24
#define REPLAY_WORK (2ull << 20) /* that of reading a record of an anchor is 1 */
#define REPLAY_WORK_PER_BYTE 8
#define REPLAY_WORK_EVENT 4
#define REPLAY_WORK_COPY 12 /* where its ends lie may have to be looked for among all sizes */
#define REPLAY_WORK_PROCESS 64
#define REPLAY_EFFORT (1ull << 20) /* ledger/effort.h */
#define REPLAY_EFFORT_PER_BYTE 4

/*
 * What is left of that which does not go with the length, for recordings that are read one after
 * the other and kept: a file can have very many short ones.
 */
struct replay_limits {
	uint64_t bytes, work, effort;
};

/* Limits for so many files, each of which may be one. */
struct replay_limits replay_limits_of(size_t files);

struct replay;

/*
 * The pipeline and the limits stay the caller's; NULL: this is the only one. NULL without memory.
 */
struct replay *replay_new(struct pipeline *pipeline, struct replay_limits *limits);

/* What names frames of a recording that have no name in it: symbols/frame_names.h. */
struct replay_namer {
	size_t (*put)(void *context, struct ms_frame_record *record, size_t room);
	void (*inlined)(void *context, size_t number, struct ms_frame_record *record, size_t room);
	void *context;
};

/* NULL: frames are as they were recorded. It stays the caller's. */
void replay_name(struct replay *replay, const struct replay_namer *namer);

/* All has been read. `kept`: bytes of memory that what was read goes on to take. */
void replay_close(struct replay *replay, uint64_t kept);

/* Nothing may be fed to the pipeline any more. */
void replay_free(struct replay *replay);

/*
 * Takes what the reader gave, in its order. Returns 0, -ENOMEM, an error of the pipeline's sinks,
 * or -E2BIG if the state and what the sinks make of it take more memory, or reading it more work,
 * than any real recording of that length.
 */
int replay_item(struct replay *replay, const struct dump_item *item);

const struct recording_account *replay_account(const struct replay *replay);

/* Why there is nothing to report of all that was taken: a text; NULL: there is something. */
const char *replay_unusable(const struct replay *replay);

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
