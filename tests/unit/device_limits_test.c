// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the ledger keeps of the limits of cgroups, and which of them memory of a device comes under.
 */
#include "unit.h"

#include "ledger/device_limits.h"
#include "ledger/process.h"
#include "scenario.h"

#define GIB (1ull << 30)
#define SECOND 1000000000ull
#define VRAM "drm/0000:65:00.0/vram"
#define OTHER "drm/0000:66:00.0/vram"

static void test_the_newest_moment_counts(void **state)
{
	const struct device_limits *limits;
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	apply(&s, record_at(SECOND, record_limit(OTHER, 2 * GIB, 4 * GIB)));
	limits = &first_process(&s)->limits;
	assert_int_equal(limits->count, 2);
	assert_int_equal(device_limits_left(&limits->list[0]), 7 * GIB);
	assert_int_equal(device_limits_left(&limits->list[1]), 2 * GIB);
	/* It has moved to another cgroup, which uses nothing of the first device. */
	apply(&s, record_at(2 * SECOND, record_limit(OTHER, 5 * GIB, 4 * GIB)));
	assert_int_equal(limits->count, 1);
	assert_int_equal(device_limits_left(&limits->list[0]), 0);
	state_fini(&s.state);
}

/* A process is in a cgroup with no limit that uses nothing, or its limit was lifted. */
static void test_nothing_is_said_any_more(void **state)
{
	const struct device_limits *limits;
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	apply(&s, record_at(2 * SECOND, record_limit("", 0, 0)));
	limits = &first_process(&s)->limits;
	assert_int_equal(limits->count, 0);
	assert_int_equal(device_limits_count(limits, 2 * SECOND), 0);
	assert_null(device_limits_of(limits, ""));
	apply(&s, record_at(3 * SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	assert_int_equal(limits->count, 1);
	state_fini(&s.state);
}

/* Three looks later, nothing is known any more: looks are 10 s apart, or further if they were. */
static void test_old_ones_do_not_count(void **state)
{
	const struct device_limits *limits;
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	limits = &first_process(&s)->limits;
	assert_int_equal(device_limits_count(limits, 0), 1);
	assert_int_equal(device_limits_count(limits, 31 * SECOND - 1), 1);
	assert_int_equal(device_limits_count(limits, 31 * SECOND), 0);
	apply(&s, record_at(61 * SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	apply(&s, record_at(61 * SECOND, record_limit(OTHER, GIB, 8 * GIB)));
	assert_int_equal(device_limits_count(limits, 241 * SECOND - 1), 2);
	assert_int_equal(device_limits_count(limits, 241 * SECOND), 0);
	/* One that a refusal asked for. */
	apply(&s, record_at(62 * SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	assert_int_equal(device_limits_count(limits, 92 * SECOND - 1), 1);
	assert_int_equal(device_limits_count(limits, 92 * SECOND), 0);
	state_fini(&s.state);
}

static void test_of_which_device(void **state)
{
	const struct device_limits *limits;
	struct scenario s = { 0 };
	uint64_t bytes;

	(void)state;
	apply(&s, record_at(SECOND, record_limit("drm/0000:65:00.0/stolen", 0, GIB / 8)));
	apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	apply(&s, record_at(SECOND, record_limit(OTHER, GIB, 0)));
	limits = &first_process(&s)->limits;
	assert_ptr_equal(device_limits_of(limits, "0000:65:00.0"), &limits->list[1]);
	assert_ptr_equal(device_limits_of(limits, "0000:65:00.00"), NULL);
	/* Not limited. */
	assert_null(device_limits_of(limits, "0000:66:00.0"));
	assert_int_equal(device_limits_left(&limits->list[2]), UINT64_MAX);
	/* Of a device of unknown address: there are two limits. */
	assert_null(device_limits_of(limits, ""));
	apply(&s, record_at(2 * SECOND,
			    record_limit_on(80 * GIB, 10 * GIB, record_limit(VRAM, GIB, 8 * GIB))));
	assert_ptr_equal(device_limits_of(limits, ""), &limits->list[0]);
	assert_true(device_limits_free(&limits->list[0], &bytes));
	assert_int_equal(bytes, 70 * GIB);
	apply(&s, record_at(3 * SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	assert_false(device_limits_free(&limits->list[0], &bytes));
	state_fini(&s.state);
}

static void test_there_are_not_too_many(void **state)
{
	struct scenario s = { 0 };
	size_t i, bytes;

	(void)state;
	apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	bytes = process_bytes(first_process(&s)) - device_limits_bytes(&first_process(&s)->limits);
	for (i = 1; i < DEVICE_LIMITS_MOST + 2; i++)
		apply(&s, record_at(SECOND, record_limit(VRAM, GIB, 8 * GIB)));
	assert_int_equal(first_process(&s)->limits.count, DEVICE_LIMITS_MOST);
	/* They are a part of what the process takes. */
	assert_true(process_bytes(first_process(&s)) >=
		    bytes + DEVICE_LIMITS_MOST * sizeof(struct ms_limit));
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_moment_counts),
		cmocka_unit_test(test_nothing_is_said_any_more),
		cmocka_unit_test(test_old_ones_do_not_count),
		cmocka_unit_test(test_of_which_device),
		cmocka_unit_test(test_there_are_not_too_many),
	};

	return unit_run("device limits", tests);
}
