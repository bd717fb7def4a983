// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a process's time is cut into buckets, and what stays of them when two become one.
 */
#include "analysis/process_activity.h"
#include "analysis/process_activities.h"

#include "unit.h"

#define BASE_NS 1000000000ull
#define FIRST_NS (1ull << TRACK_FIRST_SHIFT)

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
	struct track *track = track_new(&process, BASE_NS, &options);

	(void)state;
	assert_non_null(track);
	track_advance(track, BASE_NS + 63 * FIRST_NS);
	assert_int_equal(track->bucket, 63);
	track_advance(track, BASE_NS + 64 * FIRST_NS);
	assert_int_equal(track->bucket, 32);
	assert_int_equal(track->shift, TRACK_FIRST_SHIFT + 1);
	/* It does not go back. */
	track_advance(track, BASE_NS);
	assert_int_equal(track->bucket, 32);
	assert_int_equal(track_bucket_at(track, BASE_NS + 2 * FIRST_NS), 1);
	assert_int_equal(track_bucket_at(track, 0), 0);
	assert_int_equal(track_bucket_at(track, UINT64_MAX), 32);
	track_advance(track, UINT64_MAX);
	assert_true(track->bucket >= 32 && track->bucket < TRACK_BUCKETS);
	track_free(track);
}

/* What lived, when it was made, and how few there were at a time. */
static void test_minima_and_births_are_kept(void **state)
{
	struct track *track = track_new(&process, BASE_NS, &options);
	struct allocation first = block(1, BASE_NS), second;
	struct group *group;
	unsigned int i;

	(void)state;
	assert_non_null(track);
	group = track_group(track, &first);
	assert_non_null(group);
	track_live_add(track, group, &first);
	track_advance(track, BASE_NS + 20 * FIRST_NS);
	second = block(2, track->now_ns);
	track_live_add(track, group, &second);
	track_advance(track, BASE_NS + 1000 * FIRST_NS);
	track_group_advance(track, group);
	/* Buckets are 16 times as long: the second was made in the second one. */
	assert_int_equal(track->shift, TRACK_FIRST_SHIFT + 4);
	assert_int_equal(group->born[0].count, 1);
	assert_int_equal(group->born[1].count, 1);
	assert_int_equal(group->lowest[1], 1);
	for (i = 2; i <= track->bucket; i++)
		assert_int_equal(group->lowest[i], 2);
	track_live_remove(track, group, &second);
	assert_int_equal(group->born[1].count, 0);
	assert_int_equal(group->lowest[track->bucket], 1);
	assert_int_equal(group->live.bytes, 100);
	track_free(track);
}

static void test_processes_of_one_pid(void **state)
{
	const struct process reused = { .pid = 7, .start_ns = 71 * MS_START_NS };
	struct tracks tracks = { 0 };
	struct track *first, *second;

	(void)state;
	first = tracks_of(&tracks, &process, 1, &options);
	second = tracks_of(&tracks, &reused, 2, &options);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(tracks_of(&tracks, &process, 3, &options), first);
	assert_ptr_equal(tracks_of(&tracks, &reused, 3, &options), second);
	assert_int_equal(tracks.count, 2);
	/* The older one ends: the other one is still found. */
	tracks_remove(&tracks, first);
	assert_ptr_equal(tracks_of(&tracks, &reused, 4, &options), second);
	first = tracks_of(&tracks, &process, 5, &options);
	assert_int_equal(first->base_ns, 5);
	tracks_remove(&tracks, first);
	tracks_remove(&tracks, second);
	assert_int_equal(tracks.count, 0);
	tracks_fini(&tracks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_double),
		cmocka_unit_test(test_minima_and_births_are_kept),
		cmocka_unit_test(test_processes_of_one_pid),
	};

	return unit_run("analysis: tracks", tests);
}
