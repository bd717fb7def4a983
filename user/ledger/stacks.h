/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where calls came from: the stacks of a run and the frames that they are made of, each kept once,
 * by its id. Allocations have the id of their stack.
 */
#ifndef MEMSCOPE_LEDGER_STACKS_H
#define MEMSCOPE_LEDGER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"
#include "base/string.h"
#include "ledger/id_aliases.h"

/* Texts are interned, "" if they are not known. */
struct frame {
	const char *function;
	const char *module; /* path */
	const char *build_id;
	const char *source; /* path */
	uint64_t address;   /* as the module's symbols have it */
	uint32_t id;
	uint32_t line;   /* of `source`; 0: not known */
	uint32_t offset; /* from where the function begins */
	uint8_t kind;    /* enum ms_frame_kind */
	uint8_t flags;   /* enum ms_frame_flags */
};

struct stack {
	uint64_t hash;
	/* Name of the library on whose behalf it is, or of the program; NULL: not known. */
	const char *owner;
	/* Which stacks have in common whose frames are the same, and whose Python frames are. */
	uint64_t likeness;
	uint64_t lines; /* 0: it has no Python frames */
	uint32_t id;
	uint32_t first; /* position of its innermost frame in `links` */
	uint16_t count;
	uint8_t end; /* enum ms_stack_end */
};

struct stacks {
	/*
	 * What comes again by another id is known by both: for recordings. Who makes the ids
	 * forgets what is not asked for by its own, and so keeps each by itself.
	 */
	bool joins;
	struct frame *frames;
	size_t frames_count, frames_capacity;
	struct stack *stacks;
	size_t stacks_count, stacks_capacity;
	uint32_t *links; /* positions of frames, + 1; 0: one that is not known */
	size_t links_count, links_capacity;
	struct map frame_places, stack_places; /* id -> position */
	struct map lines_places;               /* stacks_lines() -> id of the first with these */
	struct map same_frames, same_stacks;   /* hash of all that one is -> place of the first */
	struct id_aliases frame_aliases, stack_aliases; /* ids of those that are the same */
	struct string_table texts;                      /* of frames */
	uint64_t others;                                /* stacks and frames that found no place */
};

/* A zeroed struct stacks is empty and ready. */
void stacks_fini(struct stacks *stacks);
size_t stacks_bytes(const struct stacks *stacks);

/* What the records say; they have been checked (event/event.h). Return 0 or -ENOMEM. */
int stacks_add_frame(struct stacks *stacks, const struct ms_frame_record *record);
int stacks_add(struct stacks *stacks, const struct ms_stack *record);

/*
 * Forgets all stacks but those whose ids are keys in `wanted`, and all frames that these do not
 * have. Texts and owners then have other addresses. Returns 0, or -ENOMEM with nothing forgotten.
 */
int stacks_keep(struct stacks *stacks, const struct map *wanted);

/* How much of what there is room for is taken, in sixteenths, of whatever is shortest. */
unsigned int stacks_fullness(const struct stacks *stacks);

/* NULL: there is none of that id, or 0. Valid until the next is added; its id is the first. */
const struct stack *stacks_find(const struct stacks *stacks, uint32_t id);

/*
 * The first id of a stack that something has happened with, of which that may be a later one; that
 * itself, if the stack is not known. If that may be so because ids have made way, it is counted.
 */
uint32_t stacks_use(struct stacks *stacks, uint32_t id);

/* Python's lines, if there are any, through whatever native code, or however much was found. */
static inline uint64_t stacks_lines(const struct stack *stack)
{
	return stack->lines ? stack->lines : stack->likeness;
}

/* The id of the first stack that had the same lines; that id itself, if it is not known. */
uint32_t stacks_first_alike(const struct stacks *stacks, uint32_t id);

/* The one at that place, the innermost is 0; NULL: it is not known. */
const struct frame *stacks_frame(const struct stacks *stacks, const struct stack *stack,
				 size_t place);

/* The last part of a path, which is a part of that text. */
const char *stacks_name_of(const char *path);

/*
 * Whether a file is a part of CUDA that takes memory for others: the driver, the runtime, NVML.
 * Libraries that are on top of these (cuDNN, NCCL) are not.
 */
bool stacks_is_cuda(const char *path);

#endif /* MEMSCOPE_LEDGER_STACKS_H */
