// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that have left a cgroup, as text and back.
 */
#include "unit.h"

#include "event/cgroup_leavers.h"

static void assert_again(const char *text, const char *again)
{
	struct cgroup_leavers leavers;
	struct string out = { 0 };

	cgroup_leavers_parse(&leavers, text);
	cgroup_leavers_append(&out, &leavers);
	string_append_char(&out, 0);
	assert_string_equal(out.bytes, again);
	string_fini(&out);
}

static void test_text(void **state)
{
	(void)state;
	assert_again("0", "0");
	assert_again("1 12", "1 12");
	assert_again("3 12 13 14", "3 12 13 14");
	assert_again("20 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
		     "20 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
	assert_again("20 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
		     "20 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
}

static void test_hostile_text(void **state)
{
	(void)state;
	assert_again(NULL, "0");
	assert_again("", "0");
	assert_again("x", "0");
	assert_again("-1 5", "0");
	assert_again("18446744073709551616 5", "0");
	assert_again("1 5 6", "1 5"); /* more than there are */
	assert_again("2 5 -6", "2 5");
	assert_again("2 5 0", "2 5");
	assert_again("2  5", "2");
}

static void test_more_than_are_kept(void **state)
{
	struct cgroup_leavers leavers = { 0 };
	struct string out = { 0 };
	uint32_t pid;

	(void)state;
	cgroup_leavers_add(&leavers, 1);
	cgroup_leavers_append_pids(&out, &leavers);
	for (pid = 2; pid <= 17; pid++)
		cgroup_leavers_add(&leavers, pid);
	string_append_text(&out, "|");
	cgroup_leavers_append_pids(&out, &leavers);
	string_append_char(&out, 0);
	assert_string_equal(
		out.bytes, "pid 1|pids 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...");
	string_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_more_than_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
