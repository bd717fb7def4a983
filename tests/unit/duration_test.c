// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "base/duration.h"

#define SECOND 1000000000ull

static void test_what_people_write(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "90", 90 * SECOND },
		{ "90s", 90 * SECOND },
		{ "1m30s", 90 * SECOND },
		{ "1m30", 90 * SECOND },
		{ "1h30", 90 * 60 * SECOND },
		{ "1d12", 36 * 3600 * SECOND },
		{ "5minutes", 300 * SECOND },
		{ "2mins30secs", 150 * SECOND },
		{ "1.5m", 90 * SECOND },
		{ ".5", SECOND / 2 },
		{ "1m.5s", 60 * SECOND + SECOND / 2 },
		{ "2h", 7200 * SECOND },
		{ "1h1m1s", 3661 * SECOND },
		{ "500ms", SECOND / 2 },
		{ "1us", 1000 },
		{ "7ns", 7 },
		{ "1d", 86400 * SECOND },
		{ "3min", 180 * SECOND },
		{ "10sec", 10 * SECOND },
		{ "2days", 172800 * SECOND },
		{ "0", 0 },
		{ "0.25", SECOND / 4 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		uint64_t ns = 1;

		assert_int_equal(duration_parse(good[i].text, &ns), 0);
		if (ns != good[i].ns)
			fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
	}
}

static void test_what_is_none(void **state)
{
	static const char *const bad[] = { "",         "s",    "-5",  "+5",  "1e9",
					   "0x10",     "inf",  "nan", "1 s", "5x",
					   "1.2.3",    "1m s", "1ss", ".",   "99999999999999999999",
					   "12000000d" };
	uint64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!duration_parse(bad[i], &ns))
			fail_msg("%s was taken for a duration", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_people_write),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
