/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading numbers as DWARF has them, out of bytes that are not trusted: what is not there is 0, and
 * the cursor says that it has failed.
 */
#ifndef MEMSCOPE_SYMBOLS_CURSOR_H
#define MEMSCOPE_SYMBOLS_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static inline bool cursor_skip(struct cursor *cursor, uint64_t bytes)
{
	if (bytes > (uint64_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return false;
	}
	cursor->at += bytes;
	return true;
}

/* `bytes`: at most 8; little-endian. */
static inline uint64_t cursor_number(struct cursor *cursor, size_t bytes)
{
	const uint8_t *at = cursor->at;
	uint64_t value = 0;

	if (cursor_skip(cursor, bytes))
		memcpy(&value, at, bytes);
	return value;
}

static inline int64_t cursor_signed(struct cursor *cursor, size_t bytes)
{
	const unsigned int unused = 64 - 8 * bytes;

	return (int64_t)(cursor_number(cursor, bytes) << unused) >> unused;
}

/* Bits that do not fit are lost. */
static inline uint64_t cursor_uleb(struct cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0;; shift += 7) {
		const uint64_t byte = cursor_number(cursor, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t cursor_sleb(struct cursor *cursor)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = cursor_number(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

#endif /* MEMSCOPE_SYMBOLS_CURSOR_H */
