/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids of frames, by what these are; and which frames a stack has that would have too many, because
 * functions that a compiler put into others are frames, too.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_FRAME_IDS_H
#define MEMSCOPE_CAPTURE_STACKS_FRAME_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"
#include "capture/stacks/code_map.h"

/*
 * How many ids a frame may have if `put` are there and `rest` frames follow: each of those has a
 * place. What led to a call matters most.
 */
static inline size_t frame_ids_room(size_t put, size_t rest)
{
	return MS_STACK_MOST - put - rest;
}

/*
 * Puts the ids of functions that are in one another, the innermost first, from `first` on: of more
 * than there is room for, the innermost and the one that has them all. Returns how many.
 */
static inline size_t frame_ids_fit(uint32_t first, size_t count, uint32_t *ids, size_t room)
{
	const size_t fitting = count < room ? count : room;
	size_t i;

	for (i = 0; i < fitting; i++)
		ids[i] = first + (uint32_t)i;
	if (fitting)
		ids[fitting - 1] = first + (uint32_t)count - 1;
	return fitting;
}

/* What a map has of a frame besides its first id: how many it has, and a bit. */
#define FRAME_IDS_SHIFT 32
#define FRAME_IDS_NAMELESS (1ull << 63) /* of code that may get a name yet */

/*
 * Ids are given by what frames are: two processes that have mapped one file share them. Code in no
 * file (`module` NULL) is what it is at its address, in its process and program.
 */
uint64_t frame_ids_key(const struct ms_event *event, const struct ms_stack_frame *frame,
		       const struct code_range *range, const struct module *module,
		       uint64_t program);

/*
 * Only what has ids that all are keys of `wanted` stays in the map; without memory, nothing does.
 * Returns how many ids that are.
 */
uint32_t frame_ids_keep(struct map *frames, const struct map *wanted);

#endif /* MEMSCOPE_CAPTURE_STACKS_FRAME_IDS_H */
