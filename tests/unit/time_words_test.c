// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times of a report that are not written as a clock shows them.
 */
#include "unit.h"

#include "store/report_time.h"

#define SECOND 1000000000ull

static void test_words(void **state)
{
	struct report_time time;

	(void)state;
	assert_int_equal(report_time_parse(&time, "start"), 0);
	assert_int_equal(time.kind, REPORT_TIME_SINCE_BEGIN);
	assert_int_equal(time.ns, 0);
	assert_int_equal(report_time_parse(&time, "end"), 0);
	assert_int_equal(time.kind, REPORT_TIME_BEFORE_END);
	assert_int_equal(time.ns, 0);
	assert_int_equal(report_time_parse(&time, "now"), 0);
	assert_int_equal(time.kind, REPORT_TIME_BEFORE_END);
	assert_int_equal(report_time_parse(&time, "now-5m"), 0);
	assert_int_equal(time.kind, REPORT_TIME_BEFORE_END);
	assert_int_equal(time.ns, 300 * SECOND);
	assert_int_not_equal(report_time_parse(&time, "now-"), 0);
	assert_int_not_equal(report_time_parse(&time, "ending"), 0);
}

/* As `date +%s` prints it. */
static void test_since_1970(void **state)
{
	static const char *const bad[] = {
		"@", "@x", "@1.", "@-1", "@1s", "@99999999999999999999"
	};
	struct report_time time, other;
	size_t i;

	(void)state;
	assert_int_equal(report_time_parse(&time, "1970-01-03"), 0);
	assert_int_equal(time.kind, REPORT_TIME_WALL);
	assert_int_equal(time.ns, 2 * 86400 * SECOND);
	/* A day before the other, unless midnight is in between. */
	assert_int_equal(report_time_parse(&time, "yesterday"), 0);
	assert_int_equal(time.kind, REPORT_TIME_WALL);
	assert_int_equal(report_time_parse(&other, "today"), 0);
	assert_true(other.ns - time.ns == 86400 * SECOND ||
		    other.ns - time.ns == 2 * 86400 * SECOND);
	assert_int_equal(other.ns % (86400 * SECOND), 0);
	assert_int_equal(report_time_parse(&time, "@86401"), 0);
	assert_int_equal(time.kind, REPORT_TIME_WALL);
	assert_int_equal(time.ns, 86401 * SECOND);
	assert_int_equal(report_time_parse(&time, "@86401.25"), 0);
	assert_int_equal(time.ns, 86401250000000);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!report_time_parse(&time, bad[i]))
			fail_msg("\"%s\" was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_since_1970),
	};

	return unit_run("report: times by words", tests);
}
