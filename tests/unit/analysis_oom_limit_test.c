// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that fail because a cgroup may use no more of a device: told from others by what the kernel
 * says of the cgroup, before the failure or soon after it.
 */
#include "analysed.h"

#include "analysis/oom_limit.h"

#define REGION "drm/0000:65:00.0/vram"

static const struct analysis_oom *only_oom(struct run *run)
{
	const struct analysis_oom *ooms;
	size_t count;

	finish(run);
	ooms = analysis_ooms(run->analysis, &count);
	assert_int_equal(count, 1);
	return ooms;
}

/* The kernel says: the cgroup may use 8 GiB of the device's 80, of which all use so much. */
static void limited(struct run *run, uint64_t used, uint64_t device_used)
{
	feed(run, record_limit_on(80 * GIB, device_used, record_limit(REGION, used, 8 * GIB)));
	wait_for(run, MS);
}

static void test_the_limit_is_reached(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };
	uint64_t bytes;

	(void)state;
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	limited(&run, 7 * GIB, 20 * GIB);
	step(&run);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom->confidence, FINDING_HIGH);
	assert_true(oom->limit_reached);
	assert_int_equal(oom_limit_used(oom), 7 * GIB);
	assert_true(oom_limit_free(oom, &bytes));
	assert_int_equal(bytes, 60 * GIB);
	assert_int_equal(oom->remedies_count, 2);
	assert_int_equal(oom->remedies[0].kind, OOM_REMEDY_LIMIT);
	assert_int_equal(oom->remedies[0].bytes, 9 * GIB);
	assert_int_equal(oom->remedies[1].kind, OOM_REMEDY_LESS);
	assert_int_equal(oom->remedies[1].bytes, GIB);
	run_end(&run);
}

/* What the process has allocated since the kernel said it counts, too. */
static void test_it_has_allocated_since(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, GIB);
	limited(&run, 2 * GIB, 20 * GIB);
	alloc_new(&run, 5 * GIB);
	step(&run);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom_limit_used(oom), 7 * GIB);
	run_end(&run);
}

/* Before, the limit left enough; soon after the failure, others had used it up. */
static void test_it_is_said_after_the_failure(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	limited(&run, 3 * GIB, 20 * GIB);
	step(&run);
	fail_alloc(&run, 2 * GIB);
	limited(&run, 7 * GIB, 20 * GIB);
	/* What comes later is about other times. */
	limited(&run, 3 * GIB, 20 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom->limit.limit_used_bytes, 7 * GIB);
	run_end(&run);
}

/*
 * What another process of the device leaks is no reason, and no remedy; what the process itself
 * leaks is both.
 */
static void test_who_leaks(void **state)
{
	int by_itself, i;

	(void)state;
	for (by_itself = 0; by_itself < 2; by_itself++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };

		run_begin(&run);
		feed(&run, record_visible(77, 0));
		if (!by_itself) {
			alloc_new(&run, 7 * GIB);
			as_process(&run, 200);
			feed(&run, record_visible(77, 0));
		}
		for (i = 0; i < (by_itself ? 3500 : 6000); i++) {
			alloc_new(&run, 2 * MIB);
			step(&run);
		}
		as_process(&run, RECORD_PID);
		limited(&run, 7 * GIB, 20 * GIB);
		fail_alloc(&run, 2 * GIB);
		oom = only_oom(&run);
		assert_true(oom->limit_reached);
		assert_true(oom->growing.bytes > 6 * GIB);
		assert_int_equal(oom->cause, by_itself ? OOM_LEAK : OOM_LIMIT);
		assert_int_equal(oom->remedies[0].kind,
				 by_itself ? OOM_REMEDY_LEAK : OOM_REMEDY_LIMIT);
		run_end(&run);
	}
}

/* The program freed some to try again, before the kernel was asked. */
static void test_it_has_freed_since(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	alloc_at(&run, DEVICE_ADDR, 3 * GIB);
	step(&run);
	fail_alloc(&run, 2 * GIB);
	free_at(&run, DEVICE_ADDR);
	limited(&run, 4 * GIB, 20 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom_limit_used(oom), 7 * GIB);
	run_end(&run);
}

static void test_it_is_no_reason(void **state)
{
	const struct {
		uint64_t used, device_used;
	} said[] = {
		{ 5 * GIB, 20 * GIB }, /* the limit leaves enough */
		{ 7 * GIB, 79 * GIB }, /* the device is full, too */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(said) / sizeof(*said); i++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };

		run_begin(&run);
		alloc_new(&run, 3 * GIB);
		limited(&run, said[i].used, said[i].device_used);
		step(&run);
		fail_alloc(&run, 2 * GIB);
		oom = only_oom(&run);
		assert_int_not_equal(oom->cause, OOM_LIMIT);
		assert_true(oom->limit_known);
		assert_false(oom->limit_reached);
		run_end(&run);
	}
}

/* Which of them the device is of is not known: nothing has asked for its address. */
static void test_one_of_two_devices_is_limited(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, 7 * GIB);
	limited(&run, 7 * GIB, 20 * GIB);
	step(&run);
	feed(&run, record_failed(2, record_on(1, record_without(MS_KNOWN_ADDR,
								record_alloc("cuMemAlloc_v2", 0,
									     10 * GIB)))));
	oom = only_oom(&run);
	assert_false(oom->limit_is_sure);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom->confidence, FINDING_MEDIUM);
	run_end(&run);

	/* Of its own device, nothing was used when that was said: there would be two of them. */
	run = (struct run){ 0 };
	run_begin(&run);
	limited(&run, 7 * GIB, 20 * GIB);
	alloc_new(&run, MIB);
	step(&run);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_false(oom->limit_is_sure);
	assert_int_equal(oom->confidence, FINDING_MEDIUM);
	run_end(&run);
}

static void test_two_devices_are_limited(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	feed(&run, record_limit(REGION, 7 * GIB, 8 * GIB));
	feed(&run, record_limit("drm/0000:66:00.0/vram", 7 * GIB, 8 * GIB));
	step(&run);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_false(oom->limit_known);
	assert_int_not_equal(oom->cause, OOM_LIMIT);
	run_end(&run);
}

/* Not sure: it was long ago, or nothing says what the device had free. */
static void test_what_makes_it_less_sure(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	limited(&run, 7 * GIB, 20 * GIB);
	wait_for(&run, 11 * SECOND);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom->confidence, FINDING_MEDIUM);
	run_end(&run);

	run = (struct run){ 0 };
	run_begin(&run);
	alloc_new(&run, 3 * GIB);
	feed(&run, record_limit(REGION, 7 * GIB, 8 * GIB));
	step(&run);
	fail_alloc(&run, 2 * GIB);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LIMIT);
	assert_int_equal(oom->confidence, FINDING_MEDIUM);
	run_end(&run);
}

/* What it holds on another device does not come under this one's limit. */
static void test_it_holds_memory_of_another_device(void **state)
{
	const uint64_t others[] = { 40 * GIB, GIB / 2 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };
		uint64_t bytes;

		run_begin(&run);
		alloc_new(&run, 7 * GIB);
		alloc_on(&run, 1, others[i]);
		limited(&run, 7 * GIB, 20 * GIB);
		step(&run);
		fail_alloc(&run, 2 * GIB);
		oom = only_oom(&run);
		assert_int_equal(oom->cause, OOM_LIMIT);
		assert_int_equal(oom_limit_used(oom), 7 * GIB);
		assert_true(oom_limit_free(oom, &bytes));
		assert_int_equal(bytes, 60 * GIB);
		assert_int_equal(oom->remedies[0].kind, OOM_REMEDY_LIMIT);
		assert_int_equal(oom->remedies[0].bytes, 9 * GIB);
		run_end(&run);
	}
}

/* No limit would be high enough. */
static void test_it_is_more_than_there_is(void **state)
{
	const struct {
		uint64_t told, asked;
		enum oom_cause cause;
	} said[] = {
		{ 0, 1ull << 60, OOM_TOO_LARGE },
		{ 80 * GIB, 100 * GIB, OOM_TOO_LARGE },
		/* It is told the limit. */
		{ 8 * GIB, 10 * GIB, OOM_LIMIT },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(said) / sizeof(*said); i++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };

		run_begin(&run);
		alloc_new(&run, 3 * GIB);
		feed(&run, record_limit(REGION, 7 * GIB, 8 * GIB));
		if (said[i].told)
			told(&run, GIB, said[i].told);
		step(&run);
		fail_alloc(&run, said[i].asked);
		oom = only_oom(&run);
		assert_int_equal(oom->cause, said[i].cause);
		assert_int_equal(oom->limit_reached, said[i].cause == OOM_LIMIT);
		run_end(&run);
	}
}

/* It was lifted, or nothing has been said of it for long. It may be said after the failure. */
static void test_it_is_not_so_any_more(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		const struct analysis_oom *oom;
		struct run run = { 0 };

		run_begin(&run);
		alloc_new(&run, 3 * GIB);
		limited(&run, 7 * GIB, 20 * GIB);
		if (i == 0)
			feed(&run, record_limit("", 0, 0));
		else if (i == 1)
			wait_for(&run, 31 * SECOND);
		step(&run);
		fail_alloc(&run, 2 * GIB);
		if (i == 2)
			feed(&run, record_limit("", 0, 0));
		oom = only_oom(&run);
		assert_int_not_equal(oom->cause, OOM_LIMIT);
		assert_false(oom->limit_known);
		run_end(&run);
	}
}

static void leak(struct run *run, union record limit)
{
	int i;

	run_begin(run);
	for (i = 0; i < 6000; i++) {
		alloc_new(run, MIB);
		step(run);
	}
	feed(run, limit);
	fail_alloc(run, 2 * GIB);
}

/* A higher limit would only be reached later. Without the device's numbers, that is less sure. */
static void test_a_leak_reaches_any_limit(void **state)
{
	const union record limit = record_limit(REGION, 7 * GIB, 8 * GIB);
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	leak(&run, record_limit_on(80 * GIB, 20 * GIB, limit));
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LEAK);
	assert_int_equal(oom->confidence, FINDING_HIGH);
	assert_true(oom->limit_reached);
	run_end(&run);

	run = (struct run){ 0 };
	leak(&run, limit);
	oom = only_oom(&run);
	assert_int_equal(oom->cause, OOM_LEAK);
	assert_int_equal(oom->confidence, FINDING_MEDIUM);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_is_reached),
		cmocka_unit_test(test_it_has_allocated_since),
		cmocka_unit_test(test_it_is_said_after_the_failure),
		cmocka_unit_test(test_who_leaks),
		cmocka_unit_test(test_it_has_freed_since),
		cmocka_unit_test(test_it_is_no_reason),
		cmocka_unit_test(test_one_of_two_devices_is_limited),
		cmocka_unit_test(test_two_devices_are_limited),
		cmocka_unit_test(test_what_makes_it_less_sure),
		cmocka_unit_test(test_it_holds_memory_of_another_device),
		cmocka_unit_test(test_it_is_more_than_there_is),
		cmocka_unit_test(test_it_is_not_so_any_more),
		cmocka_unit_test(test_a_leak_reaches_any_limit),
	};

	return unit_run("out of memory: limits", tests);
}
