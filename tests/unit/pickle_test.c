// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>

#include "export/pickle.h"

static void assert_bytes(struct string *out, const char *expected, size_t length)
{
	assert_false(out->failed);
	assert_int_equal(out->length, length);
	assert_memory_equal(out->bytes, expected, length);
	string_fini(out);
}

#define ASSERT_BYTES(out, expected) assert_bytes(out, expected, sizeof(expected) - 1)

/* As python3's pickle.dumps(x, 2) has them, around the places where the opcode changes. */
static void test_numbers(void **state)
{
	static const struct {
		uint64_t value;
		const char *bytes;
		size_t length;
	} numbers[] = {
		{ 0, "K\0", 2 },
		{ 255, "K\xff", 2 },
		{ 256, "M\0\1", 3 },
		{ 65535, "M\xff\xff", 3 },
		{ 65536, "J\0\0\1\0", 5 },
		{ INT32_MAX, "J\xff\xff\xff\x7f", 5 },
		{ 0x80000000, "\x8a\5\0\0\0\x80\0", 7 },
		{ 0x7fffffffff, "\x8a\5\xff\xff\xff\xff\x7f", 7 },
		{ 0x8000000000, "\x8a\6\0\0\0\0\x80\0", 8 },
		{ 0x7f0000000000, "\x8a\6\0\0\0\0\0\x7f", 8 },
		{ INT64_MAX, "\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
		{ UINT64_MAX, "\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct string out = { 0 };

		pickle_u64(&out, numbers[i].value);
		assert_bytes(&out, numbers[i].bytes, numbers[i].length);
	}
}

static void test_texts(void **state)
{
	char text[256];
	struct string out = { 0 };

	(void)state;
	pickle_text(&out, "", 0);
	pickle_text(&out, "abc", 3);
	ASSERT_BYTES(&out, "\x8c\0\x8c\3"
			   "abc");
	memset(text, 'x', sizeof(text));
	pickle_text(&out, text, 255);
	assert_memory_equal(out.bytes, "\x8c\xffx", 3);
	assert_int_equal(out.length, 257);
	string_clear(&out);
	pickle_text(&out, text, 256);
	assert_memory_equal(out.bytes, "X\0\1\0\0x", 6);
	assert_int_equal(out.length, 261);
	string_fini(&out);
}

static void test_structure(void **state)
{
	struct string out = { 0 };

	(void)state;
	pickle_begin(&out);
	pickle_dict(&out);
	pickle_text(&out, "a", 1);
	pickle_list(&out);
	pickle_remember(&out, 7);
	pickle_mark(&out);
	pickle_u64(&out, 1);
	pickle_bool(&out, true);
	pickle_bool(&out, false);
	pickle_append_all(&out);
	pickle_set(&out);
	pickle_mark(&out);
	pickle_text(&out, "b", 1);
	pickle_recall(&out, 7);
	pickle_set_all(&out);
	pickle_end(&out);
	ASSERT_BYTES(&out, "\x80\4}\x8c\1a]q\7(K\1\x88\x89"
			   "es(\x8c\1"
			   "bh\7u.");
	pickle_remember(&out, 255);
	pickle_remember(&out, 256);
	pickle_recall(&out, 255);
	pickle_recall(&out, 0x12345678);
	ASSERT_BYTES(&out, "q\xffr\0\1\0\0h\xffj\x78\x56\x34\x12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_structure),
	};

	return unit_run("pickle", tests);
}
