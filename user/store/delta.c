// SPDX-License-Identifier: BSD-2-Clause
#include "store/delta.h"

#include <string.h>

#include "event/event.h"

/* Records are looked at as what they are and as words. */
typedef uint64_t __attribute__((may_alias)) word_t;

#define HEADER_WORDS (sizeof(struct ms_event) / 8)
#define SIZE_WORD (offsetof(struct ms_event, size) / 8)

/* Smaller ones are not worth being remembered: their differences are small too. */
#define VALUE_MIN 4096

static size_t words_of(size_t size)
{
	return size / 8 < DELTA_WORDS ? size / 8 : DELTA_WORDS;
}

/* A part of the format: it must stay as it is, whatever maps do. */
static uint64_t scatter(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 29;
}

static unsigned int value_place(uint64_t value)
{
	return scatter(value) >> 8 & (DELTA_VALUES - 1);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put(struct delta_writer *writer, enum delta_stream stream, uint8_t byte)
{
	writer->streams[stream][writer->lengths[stream]++] = byte;
}

static void put_groups(struct delta_writer *writer, enum delta_stream stream, uint64_t value)
{
	for (; value >> 7; value >>= 7)
		put(writer, stream, 0x80 | (value & 0x7f));
	put(writer, stream, value);
}

static void put_word(struct delta_writer *writer, uint64_t from, uint64_t to)
{
	uint64_t step = to - from, difference = step << 1 ^ (step >> 63 ? UINT64_MAX : 0);
	uint64_t *value = &writer->memory.values[value_place(to)];

	if (difference >> 6 && to >= VALUE_MIN && *value == to) {
		put(writer, DELTA_FIRST, value_place(to) << 1 | 1);
		return;
	}
	if (to >= VALUE_MIN)
		*value = to;
	put(writer, DELTA_FIRST, (difference & 0x3f) << 1 | (difference >> 6 ? 0x80 : 0));
	if (difference >> 6)
		put_groups(writer, DELTA_MORE, difference >> 6);
}

/* Records of one kind and thread are alike. Any choice is right; a good one makes small records. */
static unsigned int slot_of(const struct ms_event *event)
{
	uint64_t row = 0;

	if (event->type == MS_TYPE_FREE_BEGIN)
		row = ((const struct ms_free *)event)->row;
	else if (event_is_call(event->type))
		row = ((const struct ms_call *)event)->row;
	return scatter((uint64_t)event->tid << 32 | row << 8 | event->type) & (DELTA_SLOTS - 1);
}

void delta_begin(struct delta_writer *writer)
{
	memset(&writer->memory, 0, sizeof(writer->memory));
	memset(writer->lengths, 0, sizeof(writer->lengths));
	writer->bytes = DELTA_HEADER_BYTES;
}

void delta_add(struct delta_writer *writer, const void *record)
{
	const struct ms_event *event = record;
	const unsigned int slot = slot_of(event);
	uint64_t *last = writer->memory.slots[slot];
	const word_t *words = record;
	const size_t count = words_of(event->size), rest = event->size - count * 8;
	uint32_t differ = 0;
	size_t i;

	last[0] = writer->memory.ts_ns;
	for (i = 0; i < count; i++)
		differ |= (uint32_t)(words[i] != last[i]) << i;
	put(writer, DELTA_WHICH, slot);
	put_groups(writer, DELTA_WHICH, differ);
	for (; differ; differ &= differ - 1) {
		i = __builtin_ctz(differ);
		put_word(writer, last[i], words[i]);
		last[i] = words[i];
	}
	writer->memory.ts_ns = words[0];
	memcpy(writer->streams[DELTA_MORE] + writer->lengths[DELTA_MORE], words + count, rest);
	writer->lengths[DELTA_MORE] += rest;
	writer->bytes = DELTA_HEADER_BYTES;
	for (i = 0; i < DELTA_STREAMS; i++)
		writer->bytes += writer->lengths[i];
}

void delta_end(const struct delta_writer *writer, uint8_t *out, size_t parts[DELTA_STREAMS])
{
	size_t i;

	for (i = 0; i < DELTA_STREAMS; i++) {
		uint32_t length = writer->lengths[i];

		memcpy(out, &length, sizeof(length));
		out += sizeof(length);
		parts[i] = length;
	}
	parts[0] += DELTA_HEADER_BYTES;
	for (i = 0; i < DELTA_STREAMS; i++) {
		memcpy(out, writer->streams[i], writer->lengths[i]);
		out += writer->lengths[i];
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

bool delta_open(struct delta_reader *reader, const void *payload, size_t bytes)
{
	const uint8_t *at = payload, *const end = at + bytes;
	uint32_t lengths[DELTA_STREAMS];
	size_t i;

	memset(reader, 0, sizeof(*reader));
	if (bytes < sizeof(lengths))
		return false;
	memcpy(lengths, at, sizeof(lengths));
	at += sizeof(lengths);
	for (i = 0; i < DELTA_STREAMS; i++) {
		if (lengths[i] > (size_t)(end - at))
			return false;
		reader->streams[i].at = at;
		reader->streams[i].end = at += lengths[i];
	}
	return at == end;
}

bool delta_done(const struct delta_reader *reader)
{
	size_t i;

	for (i = 0; i < DELTA_STREAMS; i++)
		if (reader->streams[i].at != reader->streams[i].end)
			return false;
	return true;
}

/* Returns whether there was one. */
static bool take(struct delta_reader *reader, enum delta_stream stream, uint8_t *byte)
{
	if (reader->streams[stream].at == reader->streams[stream].end)
		return false;
	*byte = *reader->streams[stream].at++;
	return true;
}

/* The groups after `shift` bits that are already in `*value`. */
static bool take_groups(struct delta_reader *reader, enum delta_stream stream, unsigned int shift,
			uint64_t *value)
{
	uint8_t byte;

	for (; shift < 64 && take(reader, stream, &byte); shift += 7) {
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool take_word(struct delta_reader *reader, uint64_t *word)
{
	uint64_t difference;
	uint8_t first;

	if (!take(reader, DELTA_FIRST, &first))
		return false;
	if (first & 1) {
		*word = reader->memory.values[first >> 1 & (DELTA_VALUES - 1)];
		return !(first & 0x80);
	}
	difference = first >> 1 & 0x3f;
	if (first & 0x80 && !take_groups(reader, DELTA_MORE, 6, &difference))
		return false;
	*word += difference >> 1 ^ (difference & 1 ? UINT64_MAX : 0);
	if (*word >= VALUE_MIN)
		reader->memory.values[value_place(*word)] = *word;
	return true;
}

static size_t size_of(const uint64_t *words)
{
	return words[SIZE_WORD] >> 8 * (offsetof(struct ms_event, size) % 8) & UINT16_MAX;
}

/* Takes the words that differ; returns which those are, as bits, or -1. */
static int64_t take_words(struct delta_reader *reader, uint64_t *last)
{
	uint64_t differ = 0;
	uint32_t left;

	last[0] = reader->memory.ts_ns;
	if (!take_groups(reader, DELTA_WHICH, 0, &differ) || differ >> DELTA_WORDS)
		return -1;
	for (left = differ; left; left &= left - 1)
		if (!take_word(reader, &last[__builtin_ctz(left)]))
			return -1;
	reader->memory.ts_ns = last[0];
	return (int64_t)differ;
}

size_t delta_read(struct delta_reader *reader, void *record, size_t max)
{
	size_t size, count, rest, left;
	uint64_t *last;
	int64_t differ;
	uint8_t slot;

	if (!take(reader, DELTA_WHICH, &slot) || slot >= DELTA_SLOTS)
		return 0;
	last = reader->memory.slots[slot];
	differ = take_words(reader, last);
	size = size_of(last);
	count = words_of(size);
	rest = size - count * 8;
	left = reader->streams[DELTA_MORE].end - reader->streams[DELTA_MORE].at;
	if (differ < 0 || size < HEADER_WORDS * 8 || size > max || rest > left || differ >> count)
		return 0;
	memcpy(record, last, count * 8);
	memcpy((char *)record + count * 8, reader->streams[DELTA_MORE].at, rest);
	reader->streams[DELTA_MORE].at += rest;
	return size;
}
