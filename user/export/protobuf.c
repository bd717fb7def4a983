// SPDX-License-Identifier: BSD-2-Clause
#include "export/protobuf.h"

#include <string.h>

#define VARINT_BYTES 10

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

static size_t encode(char out[VARINT_BYTES], uint64_t value)
{
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		out[length++] = (char)(value | 0x80);
	out[length++] = (char)value;
	return length;
}

void protobuf_varint(struct string *out, uint64_t value)
{
	char bytes[VARINT_BYTES];

	string_append(out, bytes, encode(bytes, value));
}

static size_t encode_tag(char out[VARINT_BYTES], uint32_t field, uint32_t wire)
{
	return encode(out, (uint64_t)field << 3 | wire);
}

void protobuf_put_u64(struct string *out, uint32_t field, uint64_t value)
{
	char bytes[2 * VARINT_BYTES];
	size_t length = encode_tag(bytes, field, WIRE_VARINT);

	length += encode(bytes + length, value);
	string_append(out, bytes, length);
}

void protobuf_put_i64(struct string *out, uint32_t field, int64_t value)
{
	protobuf_put_u64(out, field, (uint64_t)value);
}

void protobuf_fixed64(struct string *out, uint64_t value)
{
	char bytes[sizeof(value)];
	size_t i;

	for (i = 0; i < sizeof(value); i++)
		bytes[i] = (char)(value >> 8 * i);
	string_append(out, bytes, sizeof(bytes));
}

void protobuf_double(struct string *out, double value)
{
	uint64_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "as IEEE 754 has it");
	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed64(out, bits);
}

void protobuf_put_fixed64(struct string *out, uint32_t field, uint64_t value)
{
	char tag[VARINT_BYTES];

	string_append(out, tag, encode_tag(tag, field, WIRE_FIXED64));
	protobuf_fixed64(out, value);
}

void protobuf_put_double(struct string *out, uint32_t field, double value)
{
	char tag[VARINT_BYTES];

	string_append(out, tag, encode_tag(tag, field, WIRE_FIXED64));
	protobuf_double(out, value);
}

void protobuf_put_bytes(struct string *out, uint32_t field, const char *bytes, size_t length)
{
	char head[2 * VARINT_BYTES];
	size_t head_length = encode_tag(head, field, WIRE_BYTES);

	head_length += encode(head + head_length, length);
	string_append(out, head, head_length);
	string_append(out, bytes, length);
}

void protobuf_put_text(struct string *out, uint32_t field, const char *text)
{
	protobuf_put_bytes(out, field, text, strlen(text));
}

size_t protobuf_begin(struct string *out, uint32_t field)
{
	char head[VARINT_BYTES + 1];
	size_t length = encode_tag(head, field, WIRE_BYTES);

	/* Room for the length of a short one; a longer one is moved when its length is known. */
	head[length++] = 0;
	string_append(out, head, length);
	return out->length;
}

void protobuf_end(struct string *out, size_t begun)
{
	char bytes[VARINT_BYTES];
	size_t length, more;

	if (out->failed)
		return; /* it may have become shorter than where this began */
	length = out->length - begun;
	more = encode(bytes, length) - 1;
	if (more) {
		string_append(out, bytes, more); /* any bytes: room */
		if (out->failed)
			return;
		memmove(out->bytes + begun + more, out->bytes + begun, length);
	}
	memcpy(out->bytes + begun - 1, bytes, more + 1);
}
