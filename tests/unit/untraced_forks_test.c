// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children that are not traced, as text and back.
 */
#include "unit.h"

#include "event/untraced_forks.h"

static void assert_again(const char *text, const char *again)
{
	struct untraced_forks forks;
	struct string out = { 0 };

	untraced_forks_parse(&forks, text);
	untraced_forks_append(&out, &forks);
	string_append_char(&out, 0);
	assert_string_equal(out.bytes, again);
	string_fini(&out);
}

static void test_text(void **state)
{
	static const char many[] = "1 1;2 1;3 1;4 1;5 1;6 1;7 1;8 1;9 1;10 1;11 1;12 1;13 1;14 1;"
				   "15 1;16 1";

	(void)state;
	assert_again("12 2 13 14;15 20 1 2 3 4 5 6 7 8", "12 2 13 14;15 20 1 2 3 4 5 6 7 8");
	assert_again("", "");
	assert_again(NULL, "");
	assert_again(many, many);
}

static void test_hostile_text(void **state)
{
	(void)state;
	assert_again("12 2 13 14;", "12 2 13 14");
	assert_again("12", "");
	assert_again("12 ", "");
	assert_again("12 0", "");
	assert_again("0 1", "");
	assert_again("12 1 13 14", ""); /* more than there are */
	assert_again("12 99 1 2 3 4 5 6 7 8 9;13 1", "12 99 1 2 3 4 5 6 7 8");
	assert_again("12 2 13 -14;15 1", "");
	assert_again("12 1 13;99999999999999999999 1", "12 1 13");
	assert_again("12 18446744073709551615;13 1", "");
	assert_again("1 1;2 1;3 1;4 1;5 1;6 1;7 1;8 1;9 1;10 1;11 1;12 1;13 1;14 1;15 1;16 1;17 1",
		     "1 1;2 1;3 1;4 1;5 1;6 1;7 1;8 1;9 1;10 1;11 1;12 1;13 1;14 1;15 1;16 1");
}

static void test_words(void **state)
{
	struct untraced_forks forks;
	struct string out = { 0 };

	(void)state;
	untraced_forks_parse(&forks, "12 1 13;14 2 15");
	assert_int_equal(untraced_forks_sum(&forks), 3);
	untraced_forks_append_pids(&out, &forks.parents[0]);
	string_append_text(&out, "|");
	untraced_forks_append_pids(&out, &forks.parents[1]);
	string_append_char(&out, 0);
	assert_string_equal(out.bytes, "pid 13|pids 15, ...");
	string_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
