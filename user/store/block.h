/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks that a dump is made of (docs/dump-format.md): a header that says what follows, and a
 * checksum over both. A dump is any number of them one after the other, so dumps can be cut between
 * blocks and put one behind the other.
 */
#ifndef MEMSCOPE_STORE_BLOCK_H
#define MEMSCOPE_STORE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Readers refuse another major version. A newer minor one only adds: see docs/dump-format.md. */
#define BLOCK_MAJOR 1
#define BLOCK_MINOR 4

#define BLOCK_MAX_BYTES (256u << 10) /* of payload, before it is compressed */
#define BLOCK_MAX_PARTS 4

/*
 * A block takes no less than its payload divided by this: what a reader has to do for a file, and
 * the memory that it takes, stay in proportion to the file's size, whatever wrote it.
 */
#define BLOCK_MAX_EXPANSION 64

enum block_type {
	BLOCK_SEGMENT = 1, /* texts: begins a segment, which can be read without those before it */
	BLOCK_ROWS,        /* names of the probe table's functions, in its order */
	BLOCK_ANCHOR,      /* packed records: the state where the segment begins */
	BLOCK_EVENTS,      /* packed records: what happened */
	BLOCK_END,         /* texts: the recording has ended, and how */
	BLOCK_INDEX,       /* where the segments are; last, and may be missing */
};

enum block_codec {
	BLOCK_PLAIN,
	BLOCK_ZSTD, /* frames, one after the other; skippable ones say nothing */
};

/* All numbers are little-endian. This header and what its checksum is over stay in all versions. */
struct block_header {
	char magic[4]; /* "MSCP" */
	uint8_t major;
	uint8_t minor;
	uint8_t type;  /* enum block_type; those that are not known are skipped */
	uint8_t codec; /* enum block_codec */
	uint32_t raw_bytes;
	uint32_t stored_bytes; /* that follow the header */
	uint32_t records;
	uint32_t segment;   /* counts from 0 */
	uint64_t recording; /* a random number: dumps of one recording have it in common */
	uint64_t sequence;  /* counts the blocks of a recording from 0 */
	uint64_t first_ts_ns, last_ts_ns; /* CLOCK_MONOTONIC: what the block covers */
	uint64_t checksum;                /* XXH3-64 over the header before it and what is stored */
};

_Static_assert(sizeof(struct block_header) == 64, "file layout");

/*
 * Whether the block only closes a file. A bundle's has the number of the block that came next in
 * the recording: if that is there too, the recording did not end there.
 */
static inline bool block_is_closing(const struct block_header *header)
{
	return header->type == BLOCK_END || header->type == BLOCK_INDEX;
}

struct block_coder;

/* Compresses and expands; NULL without memory. */
struct block_coder *block_coder_new(void);
void block_coder_free(struct block_coder *coder);

/*
 * Completes the header of a block with that payload (its type, times and numbers are the caller's)
 * and returns what is to be stored behind it, header->stored_bytes long, valid until the next call.
 * The payload is the parts one after the other; each is compressed by itself.
 */
const void *block_encode(struct block_coder *coder, struct block_header *header, const void *raw,
			 const size_t *parts, size_t parts_count);

enum block_check {
	BLOCK_OK,
	BLOCK_NONE,      /* no header of a block */
	BLOCK_TOO_NEW,   /* whole, but of a newer major version */
	BLOCK_CUT_SHORT, /* more is to follow than there is */
	BLOCK_DAMAGED,   /* impossible sizes, or the checksum is another one */
};

/*
 * Whether a block begins at `data`; if so, it takes sizeof(struct block_header) + stored_bytes of
 * the `length` bytes there. `*header` is set in any case but BLOCK_NONE; zeroed if it is cut short
 * itself.
 */
enum block_check block_check(const void *data, size_t length, struct block_header *header);

/* The same by the looks of the header alone, which may be anybody's: BLOCK_OK says little. */
enum block_check block_peek(const void *data, size_t length, struct block_header *header);

/*
 * The payload of a block that was checked: header->raw_bytes long, valid until the next call; NULL
 * if it cannot be expanded to what the header says.
 */
const void *block_decode(struct block_coder *coder, const struct block_header *header,
			 const void *stored);

#endif /* MEMSCOPE_STORE_BLOCK_H */
