// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of children that were not recorded and may have used CUDA, and of processes
 * that were recorded after they had left the cgroup that was chosen.
 */
#include "reported.h"

#include "render/report_json.h"
#include "render/report_md.h"

#define assert_has(string, text) \
	do { \
		if (!has(string, text)) \
			fail_msg("no \"%s\" in:\n%.*s", text, (int)(string)->length, \
				 (string)->bytes); \
	} while (0)

/* Nobody knows whether they used CUDA, so that the numbers of the others are as good as ever. */
static void test_forks_that_are_not_recorded(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct string md = { 0 }, json = { 0 };

	(void)state;
	begin();
	dump.forks = "1000 2 1001 1002;7 9 11 12 13 14 15 16 17 18;x";
	add(record_of(1000, 0, record_process(MS_TYPE_ATTACH, "server", 0)));
	add(record_of(1000, 0, alloc("cudaMalloc", 0x2000, 300)));
	report_dump_end(&dump, now_ns);
	report_dump_read(&dump, &reader);
	report_md(&md, &reader.report, false, true);
	report_json(&json, &reader.report);
	assert_has(&md,
		   "Nothing was lost: the numbers of the recorded processes are exact; whether at"
		   " least 11 children that they forked used CUDA is not known.");
	assert_has(&md,
		   "* whether at least 2 children of server (1000) used CUDA: forked while it was"
		   " recorded, with the driver mapped, and not recorded (pids 1001, 1002; record -f"
		   " includes children)");
	assert_has(&md, "at least 9 children of process 7 used CUDA");
	assert_has(&md, "(pids 11, 12, 13, 14, 15, 16, 17, 18, ...; record -f");
	assert_has(&json, "\"untraced_forks\":[{\"pid\":1000,\"children\":2,"
			  "\"children_pids\":[1001,1002]},{\"pid\":7,\"children\":9,");
	assert_true(report_all_is_exact(&reader.report));
	string_fini(&md);
	string_fini(&json);
	done(&reader);
}

static void test_those_that_have_left(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct string md = { 0 }, json = { 0 };

	(void)state;
	begin();
	dump.forks = NULL;
	dump.leavers = "3 1000 7 8";
	add(record_of(1000, 0, record_process(MS_TYPE_ATTACH, "server", 0)));
	add(record_of(1000, 0, alloc("cudaMalloc", 0x2000, 300)));
	report_dump_end(&dump, now_ns);
	report_dump_read(&dump, &reader);
	report_md(&md, &reader.report, false, true);
	report_json(&json, &reader.report);
	assert_has(
		&md,
		"Nothing was lost: the numbers of the recorded processes are exact; 3 of them"
		" were outside of what was chosen at the end, and in these numbers all the same.");
	assert_has(
		&md,
		"* since when 3 processes were outside of what was chosen: left while recorded, and"
		" recorded to the end all the same (pids 1000, 7, 8)");
	assert_has(&json, "\"left_cgroup\":{\"processes\":3,\"pids\":[1000,7,8]}");
	assert_true(report_all_is_exact(&reader.report));
	string_fini(&md);
	string_fini(&json);
	dump.leavers = NULL;
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forks_that_are_not_recorded),
		cmocka_unit_test(test_those_that_have_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
