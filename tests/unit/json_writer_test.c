// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdlib.h>

#include "json_check.h"
#include "render/json_writer.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static void assert_is(struct string *out, const char *expected)
{
	assert_false(out->failed);
	assert_int_equal(out->length, strlen(expected));
	assert_memory_equal(out->bytes, expected, out->length);
	assert_true(json_check(out->bytes, out->length));
	string_fini(out);
}

static void assert_text(const char *text, size_t length, const char *expected)
{
	struct string out = { 0 };
	struct json json = { .out = &out };
	char *exact = malloc(length ? length : 1); /* reading on behind it is an error */

	memcpy(exact, text, length);
	json_text(&json, exact, length);
	free(exact);
	assert_is(&out, expected);
}

/* ---- the checker itself ---------------------------------------------------------------------- */

static void test_the_checker_tells_good_from_bad(void **state)
{
	/* clang-format off */
	static const char *const good[] = {
		"0", "-1.5e+3", "true", "null", "\"\"", "[]", "{}", " [1 , 2] ",
		"{\"a\":{\"b\":[{}]}}", "\"\\u00e9\\n\\\\\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
	};
	static const char *const bad[] = {
		"", "01", "1.", "+1", "-", "nul", "tru e", "\"", "\"\n\"", "\"\\x\"", "\"\\u12g4\"",
		"[1,]", "[1 2]", "[", "{\"a\"}", "{\"a\":1,}", "{a:1}", "{\"a\":1,\"a\":2}", "1 2",
		"{}}", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
		"\"\xe2\x82\"", "\"\x80\"", "\x00",
	};
	/* clang-format on */
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(good); i++)
		if (!json_check(good[i], strlen(good[i])))
			fail_msg("refused: %s", good[i]);
	for (i = 0; i < LENGTH(bad); i++)
		if (json_check(bad[i], strlen(bad[i])))
			fail_msg("accepted: %s", bad[i]);
}

/* ---- structure ------------------------------------------------------------------------------- */

static void test_commas_and_nesting(void **state)
{
	struct string out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_open(&json, '{');
	json_put_u64(&json, "a", 1);
	json_name(&json, "list");
	json_open(&json, '[');
	json_u64(&json, 1);
	json_i64(&json, -2);
	json_open(&json, '[');
	json_close(&json, ']');
	json_open(&json, '{');
	json_close(&json, '}');
	json_open(&json, '{');
	json_put_bool(&json, "yes", true);
	json_put_bool(&json, "no", false);
	json_close(&json, '}');
	json_null(&json);
	json_hex(&json, 0x7f00);
	json_close(&json, ']');
	json_name(&json, "empty");
	json_open(&json, '{');
	json_close(&json, '}');
	json_put_text(&json, "text", "t");
	json_put_text(&json, "none", NULL);
	json_close(&json, '}');
	assert_is(&out, "{\"a\":1,\"list\":[1,-2,[],{},{\"yes\":true,\"no\":false},null,"
			"\"0x7f00\"],\"empty\":{},\"text\":\"t\",\"none\":null}");
}

static void test_every_value_separates(void **state)
{
	struct string out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_open(&json, '[');
	json_null(&json);
	json_null(&json);
	json_bool(&json, true);
	json_bool(&json, false);
	json_u64(&json, 1);
	json_u64(&json, 2);
	json_i64(&json, 3);
	json_i64(&json, 4);
	json_hex(&json, 5);
	json_hex(&json, 6);
	json_text(&json, "a", 1);
	json_text(&json, "b", 1);
	json_close(&json, ']');
	assert_is(&out, "[null,null,true,false,1,2,3,4,\"0x5\",\"0x6\",\"a\",\"b\"]");
}

static void test_deep_nesting(void **state)
{
	struct string out = { 0 };
	struct json json = { .out = &out };
	int i;

	(void)state;
	for (i = 0; i < 50; i++)
		json_open(&json, '[');
	json_u64(&json, 7);
	for (i = 0; i < 50; i++)
		json_close(&json, ']');
	assert_int_equal(out.length, 101);
	assert_true(json_check(out.bytes, out.length));
	string_fini(&out);
}

static void test_numbers_at_their_limits(void **state)
{
	struct string out = { 0 };
	struct json json = { .out = &out };

	(void)state;
	json_open(&json, '[');
	json_u64(&json, 0);
	json_u64(&json, UINT64_MAX);
	json_i64(&json, INT64_MIN);
	json_i64(&json, INT64_MAX);
	json_hex(&json, 0);
	json_hex(&json, UINT64_MAX);
	json_close(&json, ']');
	assert_is(&out, "[0,18446744073709551615,-9223372036854775808,9223372036854775807,"
			"\"0x0\",\"0xffffffffffffffff\"]");
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_escapes(void **state)
{
	(void)state;
	assert_text("", 0, "\"\"");
	assert_text("plain /text/", 12, "\"plain /text/\"");
	assert_text("\"\\\n\t", 4, "\"\\\"\\\\\\n\\t\"");
	assert_text("a\0b", 3, "\"a\\u0000b\"");
	assert_text("\x01\x1b\x1f\r\b\x7f", 6, "\"\\u0001\\u001b\\u001f\\u000d\\u0008\\u007f\"");
}

static void test_the_length_rules_not_the_terminator(void **state)
{
	const char text[3] = { 'a', 'b', 'c' };

	(void)state;
	assert_text(text, 3, "\"abc\"");
	assert_text(text, 2, "\"ab\"");
}

static void test_utf8_is_passed_on(void **state)
{
	/* The first and the last character of every length, and around the surrogates. */
	static const char *const characters[] = {
		"\xc2\x80",     "\xdf\xbf",     "\xe0\xa0\x80",     "\xed\x9f\xbf",
		"\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
		"\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80",
	};
	char quoted[16];
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(characters); i++) {
		strcpy(quoted, "\"");
		strcat(quoted, characters[i]);
		strcat(quoted, "\"");
		assert_text(characters[i], strlen(characters[i]), quoted);
	}
}

#define BAD "\\ufffd"

/* A byte that cannot be part of a character is replaced by itself; the next is looked at. */
static void test_what_is_not_utf8_is_replaced(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "\x80", BAD },				/* continues nothing */
		{ "\xbf", BAD },
		{ "\xc0\x80", BAD BAD },			/* too long a form */
		{ "\xc1\xbf", BAD BAD },
		{ "\xe0\x80\x80", BAD BAD BAD },
		{ "\xe0\x9f\xbf", BAD BAD BAD },
		{ "\xf0\x80\x80\x80", BAD BAD BAD BAD },
		{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD },		/* surrogates */
		{ "\xed\xbf\xbf", BAD BAD BAD },
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD },	/* beyond U+10FFFF */
		{ "\xf5\x80\x80\x80", BAD BAD BAD BAD },
		{ "\xfe", BAD },
		{ "\xff", BAD },
		{ "\xc3", BAD },				/* cut short at the end */
		{ "\xe2\x82", BAD BAD },
		{ "\xf0\x9f\x98", BAD BAD BAD },
		{ "\xc3" "a", BAD "a" },			/* cut short by another one */
		{ "\xe2" "ab", BAD "ab" },
		{ "\xe2\x82" "a", BAD BAD "a" },
		{ "\xf0\x9f\x98" "a", BAD BAD BAD "a" },
		{ "\xe2\xe2\x82\xac", BAD "\xe2\x82\xac" },
		{ "a\xff\xc3\xa9\"", "a" BAD "\xc3\xa9\\\"" },
	};
	/* clang-format on */
	char quoted[64];
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		strcpy(quoted, "\"");
		strcat(quoted, cases[i].expected);
		strcat(quoted, "\"");
		assert_text(cases[i].text, strlen(cases[i].text), quoted);
	}
}

/* Every one, two and three bytes that are interesting together. */
static void test_any_bytes_give_valid_json(void **state)
{
	struct string out = { 0 };
	uint64_t random = 5;
	char text[12];
	int round;
	size_t i;

	(void)state;
	for (round = 0; round < 300000; round++) {
		struct json json = { .out = &out };
		size_t length = round % (sizeof(text) + 1);

		for (i = 0; i < length; i++) {
			random = unit_random(random);
			/* Half of them from where UTF-8 has its rules. */
			text[i] = random >> 32 & 1 ? random >> 8 | 0x80 : random >> 8;
		}
		string_clear(&out);
		json_text(&json, text, length);
		assert_true(json_check(out.bytes, out.length));
	}
	string_fini(&out);
}

/* Every character there is comes out as it went in. */
static void test_every_character(void **state)
{
	struct string out = { 0 };
	uint32_t point;

	(void)state;
	for (point = 0x80; point <= 0x10ffff; point++) {
		struct json json = { .out = &out };
		char text[4];
		size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4, i;

		if (point >> 11 == 0x1b)
			continue; /* surrogates are not characters */
		for (i = length; i-- > 1;)
			text[i] = 0x80 | (point >> 6 * (length - 1 - i) & 0x3f);
		text[0] = 0xf0 << (4 - length) | point >> 6 * (length - 1);
		string_clear(&out);
		json_text(&json, text, length);
		assert_int_equal(out.length, length + 2);
		assert_memory_equal(out.bytes + 1, text, length);
	}
	string_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_checker_tells_good_from_bad),
		cmocka_unit_test(test_commas_and_nesting),
		cmocka_unit_test(test_every_value_separates),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_numbers_at_their_limits),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_the_length_rules_not_the_terminator),
		cmocka_unit_test(test_utf8_is_passed_on),
		cmocka_unit_test(test_what_is_not_utf8_is_replaced),
		cmocka_unit_test(test_any_bytes_give_valid_json),
		cmocka_unit_test(test_every_character),
	};

	return unit_run("json_writer", tests);
}
