// SPDX-License-Identifier: BSD-2-Clause
#include "store/pack.h"

#include <stdbool.h>
#include <string.h>

#include "abi.h"
#include "base/map.h"

/* Records are looked at as what they are and as words. */
typedef uint64_t __attribute__((may_alias)) word_t;

#define HEADER_WORDS (sizeof(struct ms_event) / 8)
#define SIZE_WORD (offsetof(struct ms_event, size) / 8)

/* Smaller ones are not worth being remembered: their differences are small too. */
#define VALUE_MIN 4096

static size_t words_of(size_t size)
{
	return size / 8 < PACK_WORDS ? size / 8 : PACK_WORDS;
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint8_t *put_groups(uint8_t *out, uint64_t value)
{
	for (; value >> 7; value >>= 7)
		*out++ = 0x80 | (value & 0x7f);
	*out++ = value;
	return out;
}

static unsigned int value_place(uint64_t value)
{
	return map_hash(value) >> 8 & (PACK_VALUES - 1);
}

static uint8_t *put_word(struct pack *pack, uint8_t *out, uint64_t from, uint64_t to)
{
	uint64_t step = to - from, difference = step << 1 ^ (step >> 63 ? UINT64_MAX : 0);
	unsigned int place = value_place(to);

	if (difference >> 6 && to >= VALUE_MIN && pack->values[place] == to) {
		*out++ = place << 1 | 1;
		return out;
	}
	if (to >= VALUE_MIN)
		pack->values[place] = to;
	*out++ = (difference & 0x3f) << 1 | (difference >> 6 ? 0x80 : 0);
	return difference >> 6 ? put_groups(out, difference >> 6) : out;
}

/* Records of one kind and thread are alike. Any choice is right; a good one makes small records. */
static unsigned int slot_of(const struct ms_event *event)
{
	uint64_t kind = event->type, row = 0;

	if (event->type == MS_TYPE_FREE_BEGIN)
		row = ((const struct ms_free *)event)->row;
	else if (event->type == MS_TYPE_CALL || event->type == MS_TYPE_LAUNCH ||
		 event->type == MS_TYPE_CALLS)
		row = ((const struct ms_call *)event)->row;
	return map_hash((uint64_t)event->tid << 32 | row << 8 | kind) & (PACK_SLOTS - 1);
}

size_t pack_record(struct pack *pack, const void *record, uint8_t *out)
{
	const struct ms_event *event = record;
	const unsigned int slot = slot_of(event);
	uint64_t *last = pack->slots[slot];
	const word_t *words = record;
	const size_t count = words_of(event->size), rest = event->size - count * 8;
	uint8_t *const start = out;
	uint32_t differ = 0;
	size_t i;

	last[0] = pack->ts_ns;
	for (i = 0; i < count; i++)
		differ |= (uint32_t)(words[i] != last[i]) << i;
	*out++ = slot;
	out = put_groups(out, differ);
	for (; differ; differ &= differ - 1) {
		i = __builtin_ctz(differ);
		out = put_word(pack, out, last[i], words[i]);
		last[i] = words[i];
	}
	pack->ts_ns = words[0];
	memcpy(out, words + count, rest);
	return out - start + rest;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The groups after `shift` bits that are already in `*value`. */
static const uint8_t *read_groups(const uint8_t *in, const uint8_t *end, unsigned int shift,
				  uint64_t *value)
{
	for (; in < end && shift < 64; shift += 7) {
		*value |= (uint64_t)(*in & 0x7f) << shift;
		if (!(*in++ & 0x80))
			return in;
	}
	return NULL;
}

static const uint8_t *read_word(struct pack *pack, const uint8_t *in, const uint8_t *end,
				uint64_t *word)
{
	uint64_t difference;

	if (in == end)
		return NULL;
	if (*in & 1) {
		*word = pack->values[*in >> 1 & (PACK_VALUES - 1)];
		return *in & 0x80 ? NULL : in + 1;
	}
	difference = *in >> 1 & 0x3f;
	if (*in++ & 0x80)
		in = read_groups(in, end, 6, &difference);
	*word += difference >> 1 ^ (difference & 1 ? UINT64_MAX : 0);
	if (in && *word >= VALUE_MIN)
		pack->values[value_place(*word)] = *word;
	return in;
}

static size_t size_of(const uint64_t *words)
{
	return words[SIZE_WORD] >> 8 * (offsetof(struct ms_event, size) % 8) & UINT16_MAX;
}

size_t pack_read(struct pack *pack, const uint8_t **in, const uint8_t *end, void *record,
		 size_t max)
{
	const uint8_t *at = *in;
	size_t size, count, rest;
	uint64_t differ = 0, *last;
	uint32_t left;

	if (at == end || *at >= PACK_SLOTS)
		return 0;
	last = pack->slots[*at++];
	last[0] = pack->ts_ns;
	at = read_groups(at, end, 0, &differ);
	if (!at || differ >> PACK_WORDS)
		return 0;
	for (left = differ; left; left &= left - 1) {
		at = read_word(pack, at, end, &last[__builtin_ctz(left)]);
		if (!at)
			return 0;
	}
	pack->ts_ns = last[0];
	size = size_of(last);
	count = words_of(size);
	rest = size - count * 8;
	if (size < HEADER_WORDS * 8 || size > max || rest > (size_t)(end - at) ||
	    (count < PACK_WORDS && differ >> count))
		return 0;
	memcpy(record, last, count * 8);
	memcpy((char *)record + count * 8, at, rest);
	*in = at + rest;
	return size;
}
