// SPDX-License-Identifier: BSD-2-Clause
#include "export/snappy.h"

#include <string.h>

#include "export/protobuf.h"

#define PIECE 65536 /* copies reach back no further than its beginning */
#define TABLE_BITS 14
#define MATCH_LEAST 4
#define COPY_MOST 64
#define SHORT_LITERAL 60

enum { TAG_LITERAL, TAG_COPY_2 = 2 };

static uint32_t four_bytes(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static size_t slot_of(uint32_t value)
{
	return (value * 0x9e3779b1u) >> (32 - TABLE_BITS);
}

static void put_literal(struct string *out, const char *bytes, size_t length)
{
	const size_t less = length - 1;

	if (!length)
		return;
	if (length <= SHORT_LITERAL) {
		string_append_char(out, (char)(less << 2 | TAG_LITERAL));
	} else {
		/* The length is in the two bytes that follow: a piece has no more. */
		string_append_char(out, (char)((SHORT_LITERAL + 1) << 2 | TAG_LITERAL));
		string_append_char(out, (char)less);
		string_append_char(out, (char)(less >> 8));
	}
	string_append(out, bytes, length);
}

static void put_copy(struct string *out, size_t distance, size_t length)
{
	while (length) {
		const size_t part = length < COPY_MOST ? length : COPY_MOST;

		string_append_char(out, (char)((part - 1) << 2 | TAG_COPY_2));
		string_append_char(out, (char)distance);
		string_append_char(out, (char)(distance >> 8));
		length -= part;
	}
}

static size_t match_length(const char *earlier, const char *at, const char *end)
{
	size_t length = 0;

	while (at + length < end && earlier[length] == at[length])
		length++;
	return length;
}

/* Places in the table are within the piece; what is there is compared, not taken for granted. */
static void compress_piece(struct string *out, const char *bytes, size_t length)
{
	uint16_t table[1 << TABLE_BITS];
	const char *const end = bytes + length;
	const char *at = bytes + 1, *literal = bytes;

	memset(table, 0, sizeof(table));
	while (end - at >= MATCH_LEAST) {
		const uint32_t value = four_bytes(at);
		uint16_t *slot = &table[slot_of(value)];
		const char *earlier = bytes + *slot;
		size_t matching;

		*slot = (uint16_t)(at - bytes);
		if (four_bytes(earlier) != value) {
			at++;
			continue;
		}
		matching = match_length(earlier, at, end);
		put_literal(out, literal, (size_t)(at - literal));
		put_copy(out, (size_t)(at - earlier), matching);
		literal = at += matching;
	}
	put_literal(out, literal, (size_t)(end - literal));
}

void snappy_compress(struct string *out, const char *bytes, size_t length)
{
	size_t at;

	protobuf_varint(out, length);
	for (at = 0; at < length; at += PIECE)
		compress_piece(out, bytes + at, length - at < PIECE ? length - at : PIECE);
}
