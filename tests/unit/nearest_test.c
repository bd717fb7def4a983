// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <string.h>

#include "base/nearest.h"

static void test_distances(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} pairs[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "trace", "trace", 0 },
		{ "trac", "trace", 1 },
		{ "tracee", "trace", 1 },
		{ "trqce", "trace", 1 },
		{ "rtace", "trace", 1 },
		{ "reprot", "report", 1 },
		{ "kitten", "sitting", 3 },
		{ "a-word-that-is-longer-than-31-characters", "a", SIZE_MAX },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		assert_int_equal(nearest_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
		assert_int_equal(nearest_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
	}
}

static const char *nearest_of(const char *word)
{
	static const char *const words[] = { "follow", "format", "from", "to", "trace", "report" };
	struct nearest nearest = { .word = word };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		nearest_offer(&nearest, words[i]);
	return nearest.found ? nearest.found : "(none)";
}

static void test_the_most_alike_is_offered(void **state)
{
	(void)state;
	assert_string_equal(nearest_of("fllow"), "follow");
	assert_string_equal(nearest_of("fromat"), "format");
	assert_string_equal(nearest_of("form"), "from"); /* before format, which is farther */
	assert_string_equal(nearest_of("reprot"), "report");
	assert_string_equal(nearest_of("xyzzy"), "(none)");
	assert_string_equal(nearest_of("x"), "(none)"); /* all of it would be wrong */
	assert_string_equal(nearest_of(""), "(none)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_the_most_alike_is_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
