// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>

#include "export/protobuf.h"

static void assert_bytes(struct string *out, const char *expected, size_t length)
{
	assert_false(out->failed);
	assert_int_equal(out->length, length);
	assert_memory_equal(out->bytes, expected, length);
	string_fini(out);
}

#define ASSERT_BYTES(out, expected) assert_bytes(out, expected, sizeof(expected) - 1)

/* ---- examples from protobuf.dev, and the edges ----------------------------------------------- */

static void test_numbers(void **state)
{
	struct string out = { 0 };

	(void)state;
	protobuf_put_u64(&out, 1, 150);
	ASSERT_BYTES(&out, "\x08\x96\x01");
	protobuf_put_u64(&out, 1, 0);
	ASSERT_BYTES(&out, "\x08\x00");
	protobuf_put_u64(&out, 1, 127);
	protobuf_put_u64(&out, 1, 128);
	ASSERT_BYTES(&out, "\x08\x7f\x08\x80\x01");
	protobuf_put_u64(&out, 2, UINT64_MAX);
	ASSERT_BYTES(&out, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_put_i64(&out, 2, -2);
	ASSERT_BYTES(&out, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_put_fixed64(&out, 47, 0x0102030405060708);
	ASSERT_BYTES(&out, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01");
	/* Numbers of 16 and above take a second byte of the tag. */
	protobuf_put_u64(&out, 15, 1);
	protobuf_put_u64(&out, 16, 1);
	ASSERT_BYTES(&out, "\x78\x01\x80\x01\x01");
}

static void test_bytes(void **state)
{
	struct string out = { 0 };

	(void)state;
	protobuf_put_text(&out, 2, "testing");
	ASSERT_BYTES(&out, "\x12\x07testing");
	protobuf_put_bytes(&out, 2, "a\0b", 3);
	ASSERT_BYTES(&out, "\x12\x03"
			   "a\0b");
	protobuf_put_text(&out, 2, "");
	ASSERT_BYTES(&out, "\x12\x00");
}

static void test_messages(void **state)
{
	struct string out = { 0 };
	size_t outer, inner;

	(void)state;
	outer = protobuf_begin(&out, 3);
	protobuf_put_u64(&out, 1, 150);
	protobuf_end(&out, outer);
	ASSERT_BYTES(&out, "\x1a\x03\x08\x96\x01");

	outer = protobuf_begin(&out, 6);
	protobuf_varint(&out, 3);
	protobuf_varint(&out, 270);
	protobuf_varint(&out, 86942);
	protobuf_end(&out, outer);
	ASSERT_BYTES(&out, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");

	outer = protobuf_begin(&out, 1);
	inner = protobuf_begin(&out, 2);
	protobuf_end(&out, inner);
	protobuf_put_u64(&out, 3, 4);
	protobuf_end(&out, outer);
	ASSERT_BYTES(&out, "\x0a\x04\x12\x00\x18\x04");
}

/* Reads a length back. */
static uint64_t read_varint(const char **place)
{
	uint64_t value = 0;
	int shift = 0;

	do {
		value |= (uint64_t)(**place & 0x7f) << shift;
		shift += 7;
	} while (*(*place)++ & 0x80);
	return value;
}

/* Messages around the lengths at which their length takes another byte, one in the other. */
static void test_long_messages(void **state)
{
	static const size_t lengths[] = { 0, 1, 126, 127, 128, 129, 16383, 16384, 2097152 };
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct string out = { 0 };
		size_t outer = protobuf_begin(&out, 1), inner = protobuf_begin(&out, 100);
		const char *place;

		for (j = 0; j < lengths[i]; j++)
			string_append_char(&out, (char)j);
		protobuf_end(&out, inner);
		protobuf_put_u64(&out, 2, 77);
		protobuf_end(&out, outer);
		assert_false(out.failed);

		place = out.bytes;
		assert_int_equal(*place++, 1 << 3 | 2);
		outer = read_varint(&place);
		assert_int_equal(outer, out.bytes + out.length - place);
		assert_int_equal(read_varint(&place), 100 << 3 | 2);
		assert_int_equal(read_varint(&place), lengths[i]);
		for (j = 0; j < lengths[i]; j++)
			assert_int_equal(*place++, (char)j);
		assert_int_equal(out.bytes + out.length - place, 2);
		assert_memory_equal(place, "\x10\x4d", 2);
		string_fini(&out);
	}
}

static void test_without_memory(void **state)
{
	struct string out = { 0 };
	size_t begun = protobuf_begin(&out, 1);

	(void)state;
	out.failed = true;
	protobuf_put_u64(&out, 1, 1);
	protobuf_end(&out, begun);
	assert_true(out.failed);
	string_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),        cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_messages),       cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_without_memory),
	};

	return unit_run("protobuf", tests);
}
