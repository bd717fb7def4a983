/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes blocks of records (docs/dump-format.md) and hands them on; where they go is somebody else's
 * business.
 */
#ifndef MEMSCOPE_STORE_DUMP_WRITER_H
#define MEMSCOPE_STORE_DUMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/state.h"
#include "store/block.h"
#include "store/properties.h"

struct dump_writer_options {
	uint64_t recording; /* not 0: tells this recording from all others */
	/*
	 * Takes a block: the header, and header->stored_bytes. Returns 0 or -errno: then the block
	 * counts as not written, but its number is not used again. A block of type BLOCK_SEGMENT
	 * begins a segment.
	 */
	int (*write)(void *context, const struct block_header *header, const void *stored);
	/* Appends what a segment's first block says (names that are not known are no error). */
	void (*describe)(void *context, struct properties *properties);
	void *context;
};

struct dump_writer;

/* Nothing is written yet. NULL without memory. */
struct dump_writer *dump_writer_new(const struct dump_writer_options *options);
void dump_writer_free(struct dump_writer *writer);

/*
 * Ends the segment, if there is one, and begins the next with an anchor: `state` must be that after
 * all records added so far. Returns 0 or the first error of what was written for that.
 */
int dump_writer_segment(struct dump_writer *writer, const struct state *state, uint64_t now_ns);

/* What was handed on after the first `bytes` has been taken back: a segment that failed. */
void dump_writer_cut(struct dump_writer *writer, uint64_t bytes);

/*
 * Adds a record of the pipeline's (event_decode() accepts it). Returns 0, or an error of write(): a
 * block was full.
 */
int dump_writer_add(struct dump_writer *writer, const void *record);

/* Hands on what has been added since. Returns 0 or an error of write(). */
int dump_writer_flush(struct dump_writer *writer, uint64_t now_ns);

/* The last block and the index. Nothing may be added after it. Returns 0 or an error of write(). */
int dump_writer_end(struct dump_writer *writer, const struct properties *properties,
		    uint64_t now_ns);

/*
 * The same for a copy of what has been handed on so far, to which `write` appends: for this
 * recording it is no end, and the block's number is used again. So of two blocks with the same
 * number a reader that has both takes the one that is no END; without the recording's other blocks,
 * none is missing.
 */
int dump_writer_end_copy(struct dump_writer *writer, const struct properties *properties,
			 uint64_t now_ns,
			 int (*write)(void *context, const struct block_header *header,
				      const void *stored),
			 void *context);

/* Bytes handed on (headers included), in this segment and in all. */
struct dump_writer_counts {
	uint64_t bytes;
	uint64_t segment_bytes;
	uint64_t unwritten_blocks;  /* write() failed */
	uint64_t unwritten_records; /* in those */
};

const struct dump_writer_counts *dump_writer_counts(const struct dump_writer *writer);

#endif /* MEMSCOPE_STORE_DUMP_WRITER_H */
