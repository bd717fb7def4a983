/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of store/replay.h: frames of a recording get the names, and the functions that a compiler
 * had put into their code, which were not known when it was made.
 */
#ifndef MEMSCOPE_STORE_REPLAY_NAMES_H
#define MEMSCOPE_STORE_REPLAY_NAMES_H

#include "abi.h"
#include "base/map.h"
#include "store/replay.h"

struct replay_names {
	const struct replay_namer *namer; /* NULL: frames are as they were recorded */
	struct map inlined;               /* id of a frame -> those in its code: replay_names.c */
	uint32_t inlined_ids;             /* given so far, from the highest one down */
	uint64_t frame[(sizeof(struct ms_frame_record) + MS_FRAME_TEXTS_MAX) / 8]; /* scratch */
};

/* A zeroed one is ready. */
void replay_names_fini(struct replay_names *names);

/* What knew frames is gone: all that come from now on are new. */
void replay_names_forget(struct replay_names *names);

/*
 * Names the frame in `record`, which may be any record, with room for `room` bytes, and may be
 * longer afterwards. Before a frame comes what was put into its code: calls `take` for each, with
 * that in `record`. A stack gets these frames, too; what is then more than a stack may have is left
 * out at its outer end. Returns 0, -ENOMEM or what `take` returned.
 */
int replay_names_put(struct replay_names *names, void *record, size_t room,
		     int (*take)(void *context), void *context);

#endif /* MEMSCOPE_STORE_REPLAY_NAMES_H */
