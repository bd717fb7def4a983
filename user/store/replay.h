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

#define REPLAY_BYTES (256ull << 20)
#define REPLAY_BYTES_PER_BYTE 256

struct replay;

/* The pipeline stays the caller's. NULL without memory. */
struct replay *replay_new(struct pipeline *pipeline);
void replay_free(struct replay *replay);

/*
 * Takes what the reader gave, in its order. Returns 0, -ENOMEM, an error of the pipeline's sinks,
 * or -E2BIG if the state and what the sinks make of it take more memory than that of any real
 * recording of that length could: REPLAY_BYTES, and REPLAY_BYTES_PER_BYTE for each byte of the
 * blocks so far.
 */
int replay_item(struct replay *replay, const struct dump_item *item);

const struct recording_account *replay_account(const struct replay *replay);

/* Why nothing can be said of all that was taken: a text; NULL: something can. */
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
