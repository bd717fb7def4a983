// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a process's time is cut into buckets, and what stays of them when two become one.
 */
#include "analysis/process_activity.h"
#include "analysis/process_activities.h"

#include "unit.h"

#define BASE_NS 1000000000ull
#define FIRST_NS (1ull << ACTIVITY_FIRST_SHIFT)

static const struct process process = { .pid = 7, .start_ns = 70 * MS_START_NS };
static struct analysis_options options;

static struct allocation block(uint64_t id, uint64_t ts_ns)
{
	return (struct allocation){ .addr = id * 0x1000,
				    .size_bytes = 100,
				    .ts_ns = ts_ns,
				    .id = id,
				    .device = -1,
				    .space = 1 };
}

static void test_buckets_double(void **state)
{
	struct process_activity *activity = process_activity_new(&process, BASE_NS, &options);

	(void)state;
	assert_non_null(activity);
	process_activity_advance(activity, BASE_NS + 63 * FIRST_NS);
	assert_int_equal(activity->bucket, 63);
	process_activity_advance(activity, BASE_NS + 64 * FIRST_NS);
	assert_int_equal(activity->bucket, 32);
	assert_int_equal(activity->shift, ACTIVITY_FIRST_SHIFT + 1);
	/* It does not go back. */
	process_activity_advance(activity, BASE_NS);
	assert_int_equal(activity->bucket, 32);
	assert_int_equal(process_activity_bucket_at(activity, BASE_NS + 2 * FIRST_NS), 1);
	assert_int_equal(process_activity_bucket_at(activity, 0), 0);
	assert_int_equal(process_activity_bucket_at(activity, UINT64_MAX), 32);
	process_activity_advance(activity, UINT64_MAX);
	assert_true(activity->bucket >= 32 && activity->bucket < ACTIVITY_BUCKETS);
	process_activity_free(activity);
}

/* What lived, when it was made, and how few there were at a time. */
static void test_minima_and_births_are_kept(void **state)
{
	struct process_activity *activity = process_activity_new(&process, BASE_NS, &options);
	struct allocation first = block(1, BASE_NS), second;
	struct group *group;
	unsigned int i;

	(void)state;
	assert_non_null(activity);
	group = process_activity_group(activity, &first);
	assert_non_null(group);
	process_activity_live_add(activity, group, &first);
	process_activity_advance(activity, BASE_NS + 20 * FIRST_NS);
	second = block(2, activity->now_ns);
	process_activity_live_add(activity, group, &second);
	process_activity_advance(activity, BASE_NS + 1000 * FIRST_NS);
	group_advance(group, activity->bucket);
	/* Buckets are 16 times as long: the second was made in the second one. */
	assert_int_equal(activity->shift, ACTIVITY_FIRST_SHIFT + 4);
	assert_int_equal(group->born[0].count, 1);
	assert_int_equal(group->born[1].count, 1);
	assert_int_equal(group->lowest[1].count, 1);
	for (i = 2; i <= activity->bucket; i++)
		assert_int_equal(group->lowest[i].count, 2);
	process_activity_live_remove(activity, group, &second);
	assert_int_equal(group->born[1].count, 0);
	assert_int_equal(group->lowest[activity->bucket].count, 1);
	assert_int_equal(group->live.bytes, 100);
	process_activity_free(activity);
}

static void test_processes_of_one_pid(void **state)
{
	const struct process reused = { .pid = 7, .start_ns = 71 * MS_START_NS };
	struct process_activities activities = { 0 };
	struct process_activity *first, *second;

	(void)state;
	first = process_activities_of(&activities, &process, 1, &options);
	second = process_activities_of(&activities, &reused, 2, &options);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(process_activities_of(&activities, &process, 3, &options), first);
	assert_ptr_equal(process_activities_of(&activities, &reused, 3, &options), second);
	assert_int_equal(activities.count, 2);
	/* The older one ends: the other one is still found. */
	process_activities_remove(&activities, first);
	assert_ptr_equal(process_activities_of(&activities, &reused, 4, &options), second);
	first = process_activities_of(&activities, &process, 5, &options);
	assert_int_equal(first->base_ns, 5);
	process_activities_remove(&activities, first);
	process_activities_remove(&activities, second);
	assert_int_equal(activities.count, 0);
	process_activities_fini(&activities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_double),
		cmocka_unit_test(test_minima_and_births_are_kept),
		cmocka_unit_test(test_processes_of_one_pid),
	};

	return unit_run("analysis: activities", tests);
}
