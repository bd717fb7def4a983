// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of children that were not recorded and may have used CUDA, and of processes
 * that were recorded after they had left the cgroup that was chosen.
 */
#include "reported.h"

#include "render/gate_words.h"
#include "render/report_html.h"
#include "render/report_json.h"
#include "render/report_md.h"

#define assert_has(string, text) \
	do { \
		if (!has(string, text)) \
			fail_msg("no \"%s\" in:\n%.*s", text, (int)(string)->length, \
				 (string)->bytes); \
	} while (0)

/* What is not known fails what asks for all to be known, and nothing else. */
static void assert_judged(const struct report *report, const char *word, bool fails)
{
	const struct report_recording *recording = report->recordings[0];
	struct string text = { 0 };
	struct gate_result result;
	struct gate gate = { 0 };

	assert_int_equal(gate_add(&gate, word, ~0u, &text), 0);
	result = gate_judge(&gate.list[0], report, recording);
	gate_append_result(&text, &gate.list[0], recording, &result);
	assert_int_equal(result.outcome, fails ? GATE_FAILED : GATE_PASSED);
	if (fails)
		assert_has(&text,
			   "children that were forked are not recorded, and whether they used CUDA"
			   " is not known (record -f includes children)");
	string_fini(&text);
}

/* Nobody knows whether they used CUDA, so that the numbers of the others are as good as ever. */
static void test_forks_that_are_not_recorded(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct string md = { 0 }, json = { 0 }, page = { 0 };

	(void)state;
	begin();
	dump.forks = "1000 2 1001 1002;7 9 11 12 13 14 15 16 17 18;x";
	add(record_of(1000, 0, record_process(MS_TYPE_ATTACH, "server", 0)));
	add(record_of(1000, 0, alloc("cudaMalloc", 0x2000, 300)));
	report_dump_end(&dump, now_ns);
	report_dump_read(&dump, &reader);
	report_md(&md, &reader.report, false, true);
	report_json(&json, &reader.report);
	report_html(&page, &reader.report, NULL);
	assert_has(&md,
		   "Nothing wrong was found in what was recorded, which lacks at least 11 children"
		   " that they forked (whether they used CUDA is not known; record -f includes"
		   " children): no out-of-memory failure");
	assert_has(&page, "<h1 id=\"verdict-h\">Nothing wrong was found, but not everything is"
			  " known</h1>");
	assert_judged(&reader.report, "inexact", true);
	assert_judged(&reader.report, "loss", false);
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
	string_fini(&page);
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
