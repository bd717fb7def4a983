/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in few bytes: of each, how it differs from the last one that was like it. Most words of a
 * record say what the one before said, times go on by little, and addresses come back. What is left
 * compresses well, and there is so little of it that compressing it costs little too.
 *
 * A packed record has a part in each of three streams, whose bytes are each more alike than all of
 * them together would be:
 *   - DELTA_WHICH: a byte: which of 128 earlier records it is compared with (they begin as zeros);
 *     then which of its 64-bit words differ, a bit each, in groups of seven bits, lowest first;
 *     all but the last group have bit 7 set;
 *   - DELTA_FIRST: for each of those words a byte. With bit 0 set it is the number (bits 1 to 6) of
 *     one of 64 values that were seen before; else bits 1 to 6 are the lowest of the difference,
 *     which has its sign in the lowest bit of all; with bit 7 set there is
 *   - DELTA_MORE: the rest of that difference, in groups of seven bits as above; and, at the
 *     record's end, what its size (struct ms_event) leaves after DELTA_WORDS words or the last
 *     whole word.
 * The first word, the time, is compared with that of the record before, whatever that is.
 *
 * A block's payload is the lengths of the streams, 32 bits each, and the streams.
 */
#ifndef MEMSCOPE_STORE_DELTA_H
#define MEMSCOPE_STORE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/block.h"

#define DELTA_SLOTS 128
#define DELTA_WORDS 32
#define DELTA_VALUES 64

enum delta_stream {
	DELTA_WHICH,
	DELTA_FIRST,
	DELTA_MORE,
	DELTA_STREAMS,
};

#define DELTA_HEADER_BYTES (DELTA_STREAMS * sizeof(uint32_t))

/* What both sides remember. */
struct delta_memory {
	uint64_t slots[DELTA_SLOTS][DELTA_WORDS];
	uint64_t values[DELTA_VALUES];
	uint64_t ts_ns;
};

/* ---- writing --------------------------------------------------------------------------------- */

struct delta_writer {
	struct delta_memory memory;
	uint8_t streams[DELTA_STREAMS][BLOCK_MAX_BYTES];
	size_t lengths[DELTA_STREAMS];
	size_t bytes; /* of the payload so far */
};

/* The most bytes that a record of that size takes. */
#define DELTA_MAX(size) (1 + 5 + DELTA_WORDS * 10 + (size))

/* Begins a payload. */
void delta_begin(struct delta_writer *writer);

/*
 * Adds a record; its size is event.size, its alignment that of a word. There must be room for it:
 * the payload with DELTA_MAX(size) more must be no more than BLOCK_MAX_BYTES.
 */
void delta_add(struct delta_writer *writer, const void *record);

/*
 * Puts the payload together in `out`, which has room for BLOCK_MAX_BYTES. `parts` are the lengths
 * of what is best compressed by itself.
 */
void delta_end(const struct delta_writer *writer, uint8_t *out, size_t parts[DELTA_STREAMS]);

/* ---- reading --------------------------------------------------------------------------------- */

struct delta_reader {
	struct delta_memory memory;
	struct {
		const uint8_t *at, *end;
	} streams[DELTA_STREAMS];
};

/* Returns whether it is a payload; it must stay there while it is read. */
bool delta_open(struct delta_reader *reader, const void *payload, size_t bytes);

/*
 * Reads the next record into `record`, which has room for `max` bytes. Returns its size, or 0 at
 * the end or if what is there is no packed record: delta_done() tells the two apart.
 */
size_t delta_read(struct delta_reader *reader, void *record, size_t max);
bool delta_done(const struct delta_reader *reader);

#endif /* MEMSCOPE_STORE_DELTA_H */
