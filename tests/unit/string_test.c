// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static void assert_holds(const struct string *string, const char *expected)
{
	assert_false(string->failed);
	assert_int_equal(string->length, strlen(expected));
	assert_memory_equal(string->bytes, expected, string->length);
}

/* ---- buffer ---------------------------------------------------------------------------------- */

static void test_pieces_follow_one_another(void **state)
{
	struct string string = { 0 };

	(void)state;
	string_append(&string, "abcd", 2);
	string_append_text(&string, "-text-");
	string_append_char(&string, 'c');
	string_append_format(&string, "[%d %s]", -5, "five");
	assert_holds(&string, "ab-text-c[-5 five]");
	string_clear(&string);
	assert_int_equal(string.length, 0);
	string_append_text(&string, "again");
	assert_holds(&string, "again");
	string_fini(&string);
	string_fini(&string);
	string_append_text(&string, "after fini");
	assert_holds(&string, "after fini");
	string_fini(&string);
}

static void test_nothing_can_be_appended(void **state)
{
	struct string string = { 0 };

	(void)state;
	string_append_text(&string, "a");
	string_append(&string, "x", 0);
	string_append_text(&string, "");
	string_append_format(&string, "%s", "");
	assert_holds(&string, "a");
	string_fini(&string);
}

static void test_any_byte_can_be_appended(void **state)
{
	struct string string = { 0 };
	int c;

	(void)state;
	for (c = 0; c < 256; c++)
		string_append_char(&string, c);
	assert_int_equal(string.length, 256);
	for (c = 0; c < 256; c++)
		assert_int_equal((unsigned char)string.bytes[c], c);
	string_fini(&string);
}

static void test_grows_with_what_is_appended(void **state)
{
	struct string string = { 0 };
	char piece[1000];
	size_t i;

	(void)state;
	memset(piece, 'p', sizeof(piece));
	for (i = 1; i <= 100; i++) {
		string_append_format(&string, "%.*s", (int)sizeof(piece), piece);
		assert_int_equal(string.length, i * sizeof(piece));
	}
	assert_int_equal(string.bytes[string.length - 1], 'p');
	string_fini(&string);
}

/* A text that lacks something must not pass for a whole one only because it was begun anew. */
static void test_restarting_keeps_what_was_missing(void **state)
{
	struct string string = { 0 };
	int err = 0;

	(void)state;
	string_append_text(&string, "whole");
	string_restart(&string, &err);
	assert_int_equal(err, 0);
	assert_holds(&string, "");

	string.failed = true;
	string_restart(&string, &err);
	assert_int_equal(err, -ENOMEM);
	string_append_text(&string, "whole again");
	assert_holds(&string, "whole again");
	string_restart(&string, &err);
	assert_int_equal(err, -ENOMEM);
	string_fini(&string);
}

static void test_unsigned_numbers(void **state)
{
	static const struct {
		uint64_t value;
		const char *decimal, *hex;
	} cases[] = {
		{ 0, "0", "0x0" },
		{ 9, "9", "0x9" },
		{ 10, "10", "0xa" },
		{ 255, "255", "0xff" },
		{ 0x7f0000001000, "139637976731648", "0x7f0000001000" },
		{ UINT32_MAX, "4294967295", "0xffffffff" },
		{ UINT64_MAX, "18446744073709551615", "0xffffffffffffffff" },
	};
	struct string string = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		string_clear(&string);
		string_append_u64(&string, cases[i].value);
		assert_holds(&string, cases[i].decimal);
		string_clear(&string);
		string_append_hex(&string, cases[i].value);
		assert_holds(&string, cases[i].hex);
	}
	string_fini(&string);
}

static void test_signed_numbers(void **state)
{
	static const struct {
		int64_t value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 7, "7" },
		{ -1, "-1" },
		{ -10, "-10" },
		{ INT32_MIN, "-2147483648" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
	};
	struct string string = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		string_clear(&string);
		string_append_i64(&string, cases[i].value);
		assert_holds(&string, cases[i].text);
	}
	string_fini(&string);
}

static void test_padding(void **state)
{
	struct string string = { 0 };

	(void)state;
	string_pad(&string, 3);
	assert_holds(&string, "   ");
	string_append_text(&string, "ab");
	string_pad(&string, 5);
	string_pad(&string, 2);
	string_pad(&string, 0);
	assert_holds(&string, "   ab");
	string_pad(&string, 7);
	assert_holds(&string, "   ab  ");
	string_fini(&string);
}

/* ---- interned names -------------------------------------------------------------------------- */

static void test_equal_names_are_one_pointer(void **state)
{
	struct string_table table = { 0 };
	const char *first, *empty;

	(void)state;
	first = string_intern(&table, "kernel_1", 6);
	assert_string_equal(first, "kernel");
	assert_ptr_equal(string_intern(&table, "kernel", 6), first);
	assert_ptr_not_equal(string_intern(&table, "kernels", 7), first);
	assert_ptr_not_equal(string_intern(&table, "kerne", 5), first);
	empty = string_intern(&table, "", 0);
	assert_string_equal(empty, "");
	assert_ptr_equal(string_intern(&table, "other", 0), empty);
	assert_int_equal(table.count, 4);
	string_table_fini(&table);
	string_table_fini(&table);
}

static void test_pointers_stay_when_the_table_grows(void **state)
{
	struct string_table table = { 0 };
	static const char *names[10000];
	char text[32];
	size_t i;
	int length;

	(void)state;
	for (i = 0; i < LENGTH(names); i++) {
		length = snprintf(text, sizeof(text), "name %zu", i);
		names[i] = string_intern(&table, text, length);
		assert_non_null(names[i]);
	}
	for (i = 0; i < LENGTH(names); i++) {
		length = snprintf(text, sizeof(text), "name %zu", i);
		assert_string_equal(names[i], text);
		assert_ptr_equal(string_intern(&table, text, length), names[i]);
	}
	assert_int_equal(table.count, LENGTH(names));
	string_table_fini(&table);
}

/* ---- numbers for people ---------------------------------------------------------------------- */

struct number_case {
	uint64_t value;
	const char *text;
};

static void assert_numbers(const char *(*format)(char out[STRING_NUMBER_BYTES], uint64_t value),
			   const struct number_case *cases, size_t count)
{
	char out[STRING_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < count; i++) {
		assert_ptr_equal(format(out, cases[i].value), out);
		assert_string_equal(out, cases[i].text);
	}
}

static void test_sizes(void **state)
{
	static const struct number_case cases[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 17, "17 B" },
		{ 999, "999 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1025, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 4096, "4 KiB" },
		{ 10 * 1024 - 6, "9.99 KiB" }, /* 9.9941 */
		{ 10 * 1024 - 5, "10.0 KiB" }, /* 9.9951: two decimals would be four digits */
		{ 10 * 1024 + 512, "10.5 KiB" },
		{ 100 * 1024 - 52, "99.9 KiB" }, /* 99.949 */
		{ 100 * 1024 - 51, "100 KiB" },  /* 99.9502 */
		{ 450 * 1024, "450 KiB" },
		{ 1023 * 1024, "1023 KiB" },
		{ 1023 * 1024 + 511, "1023 KiB" },
		{ 1023 * 1024 + 512, "1.00 MiB" }, /* not 1024 KiB */
		{ 1048576 - 1, "1.00 MiB" },
		{ 1048576, "1 MiB" },
		{ 1610612736, "1.50 GiB" },
		{ 80ull << 30, "80 GiB" },
		{ 1ull << 40, "1 TiB" },
		{ 1ull << 50, "1 PiB" },
		{ 1ull << 60, "1 EiB" },
		{ UINT64_MAX, "16 EiB" },
	};

	(void)state;
	assert_numbers(string_size, cases, LENGTH(cases));
}

static void test_durations(void **state)
{
	static const struct number_case cases[] = {
		{ 0, "0 ns" },
		{ 1, "1 ns" },
		{ 950, "950 ns" },
		{ 999, "999 ns" },
		{ 1000, "1 us" },
		{ 1001, "1.00 us" },
		{ 1234, "1.23 us" },
		{ 9994, "9.99 us" },
		{ 9995, "10.0 us" },
		{ 12345, "12.3 us" },
		{ 99949, "99.9 us" },
		{ 99950, "100 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" }, /* not 1000 us */
		{ 999600, "1.00 ms" },
		{ 1000000, "1 ms" },
		{ 4560000, "4.56 ms" },
		{ 999499999, "999 ms" },
		{ 999500000, "1.00 s" },
		{ 1230000000, "1.23 s" },
		{ 59900000000, "59.9 s" },
		{ 60000000000, "1m00s" },
		{ 119999999999, "1m59s" },
		{ 123000000000, "2m03s" },
		{ 3599999999999, "59m59s" },
		{ 3600000000000, "1h00m" },
		{ 18420000000000, "5h07m" },
		{ UINT64_MAX, "5124095h34m" },
	};

	(void)state;
	assert_numbers(string_duration, cases, LENGTH(cases));
}

static void test_counts(void **state)
{
	static const struct number_case cases[] = {
		{ 0, "0" },
		{ 7, "7" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 1234567, "1,234,567" },
		{ 100000, "100,000" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	(void)state;
	assert_numbers(string_count, cases, LENGTH(cases));
}

static void test_one_and_many(void **state)
{
	struct string text = { 0 };

	(void)state;
	string_append_count(&text, 1, "process", "processes");
	string_append_text(&text, ", ");
	string_append_count(&text, 0, "process", "processes");
	string_append_text(&text, ", ");
	string_append_count(&text, 1234, "process", "processes");
	string_append_char(&text, '\0');
	assert_string_equal(text.bytes, "1 process, 0 processes, 1,234 processes");
	string_fini(&text);
}

/* Whatever the number, it has room: the terminator is inside `out`. */
static void test_every_number_fits(void **state)
{
	char out[STRING_NUMBER_BYTES];
	uint64_t random = 3;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		uint64_t value;

		random = unit_random(random);
		value = random >> random % 64;
		assert_true(strlen(string_size(out, value)) <= 8);
		assert_true(strlen(string_duration(out, value)) <= 11);
		assert_true(strlen(string_count(out, value)) <= 26);
	}
}

/* ---- numbers from people --------------------------------------------------------------------- */

static void test_sizes_that_parse(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{ "0", 0 },           { "4096", 4096 },         { "17B", 17 },
		{ "17b", 17 },        { "64K", 65536 },         { "64k", 65536 },
		{ "64KB", 65536 },    { "64KiB", 65536 },       { "64kib", 65536 },
		{ "64Ki", 65536 },    { "10MiB", 10485760 },    { "1.5G", 1610612736 },
		{ "0.5K", 512 },      { "2T", 2ull << 40 },     { "3P", 3ull << 50 },
		{ "1E", 1ull << 60 }, { "15EiB", 15ull << 60 }, { "9007199254740992", 1ull << 53 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		uint64_t value = 1;

		assert_int_equal(string_parse_size(cases[i].text, &value), 0);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_sizes_that_do_not_parse(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{ "", -EINVAL },      { " 1", -EINVAL },   { "1 ", -EINVAL },
		{ "1 K", -EINVAL },   { "-1", -EINVAL },   { "+1", -EINVAL },
		{ ".5K", -EINVAL },   { "K", -EINVAL },    { "B", -EINVAL },
		{ "1X", -EINVAL },    { "1KK", -EINVAL },  { "1KiBB", -EINVAL },
		{ "1iB", -EINVAL },   { "1BK", -EINVAL },  { "1.2.3", -EINVAL },
		{ "one", -EINVAL },   { "nan", -EINVAL },  { "inf", -EINVAL },
		{ "1,000", -EINVAL }, { "16E", -ERANGE },  { "99999999999999999999", -ERANGE },
		{ "1e400", -EINVAL }, { "0x10", -EINVAL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		uint64_t value = 77;

		assert_int_equal(string_parse_size(cases[i].text, &value), cases[i].err);
		assert_int_equal(value, 77);
	}
}

static void test_numbers_that_parse(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(string_parse_u64("0", 0, UINT64_MAX, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(string_parse_u64("007", 0, 10, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(string_parse_u64("5", 5, 5, &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(string_parse_u64("18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_int_equal(value, UINT64_MAX);
}

static void test_numbers_that_do_not_parse(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{ "", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ "1x", -EINVAL },
		{ "0x10", -EINVAL },
		{ "1.0", -EINVAL },
		{ "abc", -EINVAL },
		{ "1", -ERANGE },
		{ "101", -ERANGE },
		{ "18446744073709551616", -ERANGE },
		{ "99999999999999999999999", -ERANGE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		uint64_t value = 77;

		assert_int_equal(string_parse_u64(cases[i].text, 2, 100, &value), cases[i].err);
		assert_int_equal(value, 77);
	}
}

static void test_counts_are_taken_one_after_the_other(void **state)
{
	const char *text = "12 400x";
	uint64_t value;

	(void)state;
	assert_true(string_take_count(&text, 12, &value));
	assert_int_equal(value, 12);
	assert_string_equal(text++, " 400x");
	assert_true(string_take_count(&text, UINT64_MAX, &value));
	assert_int_equal(value, 400);
	assert_string_equal(text, "x");
	assert_false(string_take_count(&text, UINT64_MAX, &value));
	assert_string_equal(text, "x");
}

static void test_what_is_no_count(void **state)
{
	static const char *const cases[] = {
		"", " 1", "-1", "+1", "0", "13", "99999999999999999999999"
	};
	uint64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(cases); i++) {
		const char *text = cases[i];

		assert_false(string_take_count(&text, 12, &value));
	}
}

/* What a shell makes of it. */
static void test_a_word_for_a_shell(void **state)
{
	static const struct {
		const char *bytes, *word;
	} words[] = {
		{ "/var/lib/memscope-bpf/ring", "/var/lib/memscope-bpf/ring" },
		{ "", "''" },
		{ "-v", "'-v'" },
		{ "/a b/ring", "'/a b/ring'" },
		{ "/it's $HOME `id` \\ \"!\"/ring", "'/it'\\''s $HOME `id` \\ \"!\"/ring'" },
		{ "/gr\xc3\xb6\xc3\x9f/ring", "'/gr\xc3\xb6\xc3\x9f/ring'" },
		{ "/\xff'!%s\\1 \"$HOME\"\n\x7f/ring",
		  "\"$(printf '/\\377\\047\\041%%s\\\\1 \"$HOME\"\\012\\177/ring')\"" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct string command = { 0 };
		char bytes[256] = "";
		FILE *shell;

		string_append_shell_word(&command, words[i].bytes);
		assert_int_equal(command.length, strlen(words[i].word));
		assert_memory_equal(command.bytes, words[i].word, command.length);
		string_clear(&command);
		string_append_text(&command, "printf %s ");
		string_append_shell_word(&command, words[i].bytes);
		string_append_char(&command, '\0');
		shell = popen(command.bytes, "r");
		assert_non_null(shell);
		assert_int_equal(fread(bytes, 1, sizeof(bytes) - 1, shell), strlen(words[i].bytes));
		assert_string_equal(bytes, words[i].bytes);
		assert_int_equal(pclose(shell), 0);
		string_fini(&command);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_follow_one_another),
		cmocka_unit_test(test_nothing_can_be_appended),
		cmocka_unit_test(test_any_byte_can_be_appended),
		cmocka_unit_test(test_restarting_keeps_what_was_missing),
		cmocka_unit_test(test_grows_with_what_is_appended),
		cmocka_unit_test(test_unsigned_numbers),
		cmocka_unit_test(test_signed_numbers),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_equal_names_are_one_pointer),
		cmocka_unit_test(test_pointers_stay_when_the_table_grows),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_one_and_many),
		cmocka_unit_test(test_every_number_fits),
		cmocka_unit_test(test_sizes_that_parse),
		cmocka_unit_test(test_sizes_that_do_not_parse),
		cmocka_unit_test(test_numbers_that_parse),
		cmocka_unit_test(test_numbers_that_do_not_parse),
		cmocka_unit_test(test_counts_are_taken_one_after_the_other),
		cmocka_unit_test(test_what_is_no_count),
		cmocka_unit_test(test_a_word_for_a_shell),
	};

	return unit_run("string", tests);
}
