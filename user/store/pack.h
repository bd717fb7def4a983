/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in few bytes: of each, how it differs from the last one that was like it. Most words of a
 * record say what the one before said, times go on by little, and addresses come back. What is left
 * compresses well, and there is so little of it that compressing it costs little too.
 *
 * A packed record is
 *   - a byte: which of 128 earlier records it is compared with (they begin as zeros);
 *   - which of its 64-bit words differ, a bit each, in groups of seven bits, lowest first; all but
 *     the last group have bit 7 set;
 *   - for each of those words a value: a byte with bit 0 set is the number (bits 1 to 6) of one of 64
 *     values that were seen before; else it is the difference, with its sign in the lowest bit: six
 *     bits of it in bits 1 to 6, then groups of seven, bit 7 set in all but the last byte;
 *   - what its size (struct ms_event) leaves after PACK_WORDS words or the last whole word, as is.
 * The first word, the time, is compared with that of the record before, whatever that is.
 */
#ifndef MEMSCOPE_STORE_PACK_H
#define MEMSCOPE_STORE_PACK_H

#include <stddef.h>
#include <stdint.h>

#define PACK_SLOTS 128
#define PACK_WORDS 32
#define PACK_VALUES 64

/* What both sides remember; zeroed where a block begins. */
struct pack {
	uint64_t slots[PACK_SLOTS][PACK_WORDS];
	uint64_t values[PACK_VALUES];
	uint64_t ts_ns;
};

/* The most bytes that a record of that size takes. */
#define PACK_MAX(size) (1 + 5 + PACK_WORDS * 10 + (size))

/*
 * Appends a record (its size is event.size, its alignment that of a word) to `out`, where there must
 * be room for PACK_MAX(size). Returns how many bytes that took.
 */
size_t pack_record(struct pack *pack, const void *record, uint8_t *out);

/*
 * Reads the record at `*in`, which goes on past it, into `record`, which has room for `max` bytes.
 * Returns its size, or 0 if what is there is no packed record.
 */
size_t pack_read(struct pack *pack, const uint8_t **in, const uint8_t *end, void *record,
		 size_t max);

#endif /* MEMSCOPE_STORE_PACK_H */
