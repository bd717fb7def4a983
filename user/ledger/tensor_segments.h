/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the blocks of a framework's allocator lie in its segments (what it has from the driver) at a
 * moment: what is free in pieces, what is free as a whole, and which blocks keep a segment from
 * being given back. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_TENSOR_SEGMENTS_H
#define MEMSCOPE_LEDGER_TENSOR_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct tensor_device;

#define TENSOR_CLASSES 48 /* of free pieces, by the logarithm of their size; the last: and more */
#define TENSOR_PINS 8     /* kinds of blocks that are listed */
#define TENSOR_SITES 4    /* places that sparse or empty segments come from, which are listed */
#define TENSOR_STRIPS 48  /* segments that are drawn */
#define TENSOR_CELLS 128  /* in so many equal parts */
#define TENSOR_MAKERS 4   /* places that their blocks come from, which are told apart */

/* clang-format off */
#define TENSOR_MOMENTS(X) \
	X(OUT_OF_MEMORY, "out_of_memory", "the allocator had none left") \
	X(FAILED_CALL,   "failed_call",   "another request failed") /* of the driver, and no retry of the allocator's */ \
	X(PEAK,          "peak",          "most was reserved") /* just before the last piece of that */ \
	X(END,           "end",           "at the end")
/* clang-format on */

enum tensor_moment {
#define X(moment, name, words) TENSOR_AT_##moment,
	TENSOR_MOMENTS(X)
#undef X
		TENSOR_MOMENTS_COUNT,
};

struct tensor_pieces {
	uint64_t count, bytes;
};

/* Blocks of one size and place in sparse segments. */
struct tensor_pin {
	uint32_t stack; /* id of where they were asked for, of ledger/stacks.h; 0: not known */
	uint64_t block_bytes;
	uint64_t blocks;
	uint64_t segments; /* that they lie in */
};

/* Segments that were taken from the driver at one place. */
struct tensor_site {
	uint32_t stack; /* id, of ledger/stacks.h; 0: not known */
	uint64_t segments, bytes;
};

/* A segment, to be drawn. */
struct tensor_strip {
	uint64_t addr, bytes;
	uint64_t used;               /* bytes in blocks */
	uint64_t blocks;             /* also those that lie in the next one, too */
	uint8_t cells[TENSOR_CELLS]; /* how much of each part is used: 0 none, 255 all */
	/* Where the block was made that has most of it: of `makers`; TENSOR_MAKERS: elsewhere. */
	uint8_t makers[TENSOR_CELLS];
};

/* A piece of memory that the driver has mapped into a reserved range counts as a segment, too. */
struct tensor_segments {
	uint64_t ts_ns;
	uint64_t wanted_bytes;        /* what was asked for then; 0: nothing, or not known */
	uint64_t allocated, reserved; /* as the allocator said last */
	uint64_t before_bytes;        /* of `allocated`: in blocks that are not known */
	uint64_t outside_bytes;       /* in blocks that lie in no known segment */
	bool has_device_free;         /* the program asked how much of the device was free, */
	uint64_t device_free_bytes;   /* after the request had failed */
	bool is_capturing;            /* a CUDA graph, on any stream of the process */

	uint64_t count, bytes;            /* of the segments */
	uint64_t mapped;                  /* how many of them are mapped pieces */
	uint64_t empty, empty_bytes;      /* without any block */
	uint64_t largest_empty;           /* the bytes of the largest */
	uint64_t full;                    /* without a free byte */
	uint64_t free_bytes;              /* in segments with a block */
	uint64_t sparse, sparse_bytes;    /* with blocks in no more than half of their bytes */
	uint64_t sparse_free;             /* free bytes in those, */
	uint64_t pins_blocks, pins_bytes; /* and the blocks */
	uint64_t largest_piece;           /* free bytes on end, between blocks */
	struct tensor_pieces pieces;      /* all of them, */
	struct tensor_pieces classes[TENSOR_CLASSES]; /* and by size: [i]: of 2^i bytes and more */
	struct tensor_pin pins[TENSOR_PINS];          /* those in most segments first */
	size_t pins_count;
	uint64_t pins_more; /* kinds of blocks that are not listed */
	struct tensor_site sites[TENSOR_SITES];
	size_t sites_count;
	uint64_t sites_more;                      /* sparse segments from other places */
	struct tensor_site empties[TENSOR_SITES]; /* the same of those without any block */
	size_t empties_count;
	uint64_t empties_more;
	struct tensor_strip strips[TENSOR_STRIPS]; /* those with most free bytes, by address */
	size_t strips_count;
	uint32_t makers[TENSOR_MAKERS]; /* ids of stacks, of blocks that are drawn */
	size_t makers_count;
};

/* Whether all blocks and segments are known, and make up what the allocator says. */
bool tensor_segments_are_complete(const struct tensor_segments *segments);

/* Whether the blocks in sparse segments have all the same size. */
bool tensor_segments_are_alike(const struct tensor_segments *segments);

/* Free in known segments that cannot be given back; at most what the allocator's totals leave. */
uint64_t tensor_segments_stuck(const struct tensor_segments *segments);

/* Whether what was asked for would have fit into that, and into no piece of it. */
bool tensor_segments_are_broken(const struct tensor_segments *segments);

/* Whether it would have fit if segments without any block had been given back. */
bool tensor_segments_are_cached(const struct tensor_segments *segments);

/*
 * As they are now. It walks the process's allocations and sorts its blocks. Returns 0 or -ENOMEM.
 */
int tensor_segments_take(const struct process *process, const struct tensor_device *device,
			 struct tensor_segments *segments);

const char *tensor_moment_name(enum tensor_moment moment);
const char *tensor_moment_words(enum tensor_moment moment);

#endif /* MEMSCOPE_LEDGER_TENSOR_SEGMENTS_H */
