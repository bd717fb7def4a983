// SPDX-License-Identifier: BSD-2-Clause
/*
 * When a process began that mapped a file: of its start only the step of 10 ms is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/targets/target.h"

#define MS 1000000ul
#define STEP (1000 * MS)

static uint64_t began(uint64_t mapped_ns)
{
	struct target target = { .began_ns = STEP };

	target_mapped_first(&target, mapped_ns);
	return target.began_ns;
}

/* Probes that were there at STEP + 3 ms were in time for what mapped the library afterwards. */
static void test_maps_within_the_step(void **state)
{
	(void)state;
	assert_int_equal(began(STEP + 4 * MS), STEP + 4 * MS);
	assert_int_equal(began(STEP + 2 * MS), STEP + 2 * MS);
}

/* What it had mapped before, at the fork of a parent that has the library, is not known. */
static void test_maps_later(void **state)
{
	(void)state;
	assert_int_equal(began(STEP + 10 * MS), STEP + 10 * MS);
	assert_int_equal(began(STEP + 5000 * MS), STEP + 10 * MS);
}

/* Clocks are read one after the other: it never began earlier than its step. */
static void test_maps_before(void **state)
{
	(void)state;
	assert_int_equal(began(STEP), STEP);
	assert_int_equal(began(STEP - MS), STEP);
	assert_int_equal(began(0), STEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_within_the_step),
		cmocka_unit_test(test_maps_later),
		cmocka_unit_test(test_maps_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
