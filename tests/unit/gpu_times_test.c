// SPDX-License-Identifier: BSD-2-Clause
/*
 * What GPUs did: totals, busy times in any order of records, which call each thing belongs to, and
 * what that says of clocks.
 */
#include <stdlib.h>

#include "ledger/limits.h"
#include "scenario.h"

#define US 1000ul
#define SECOND 1000000000ul

static const struct gpu_times *times_of(const struct scenario *s)
{
	assert_non_null(first_process(s)->gpu);
	return first_process(s)->gpu;
}

static void apply_at(struct scenario *s, uint64_t ts_ns, union record record)
{
	struct event event;

	record.event.ts_ns = ts_ns;
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(state_apply(&s->state, &event), 0);
}

/* A launch that a probe saw. */
static void launch_at(struct scenario *s, uint32_t tid, uint64_t begin_ns, uint64_t ns)
{
	apply_at(s, begin_ns,
		 record_by(tid, record_taking(ns, record_launch("cuLaunchKernel", 0x10))));
}

static union record call(uint32_t tid, uint32_t correlation, uint64_t begin_ns, uint64_t ns)
{
	union record record = record_activity(MS_ACTIVITY_CALL, correlation, begin_ns, ns);

	record.activity.is.thread = tid;
	return record;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void test_totals(void **state)
{
	struct scenario s = { 0 };
	union record untimed = record_activity(MS_ACTIVITY_KERNEL, 3, 0, 0);
	union record nameless = record_activity(MS_ACTIVITY_KERNEL, 4, 5000, 10);
	union record copy = record_activity(MS_ACTIVITY_COPY, 5, 6000, 100);

	(void)state;
	untimed.activity.is.flags = MS_ACTIVITY_UNTIMED;
	nameless.activity.is.name = 9;
	copy.activity.is.size = 4096;
	copy.activity.is.from = MS_GPU_MEMORY_PAGEABLE;
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 1000, 30));
	apply_at(&s, SECOND, record_gpu_name(7, "fill")); /* may come later */
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 2, 2000, 10));
	apply_at(&s, SECOND, untimed);
	apply_at(&s, SECOND, nameless);
	apply_at(&s, SECOND, copy);
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_MEMSET, 6, 7000, 5));
	assert_int_equal(times_of(&s)->kernels_count, 2);
	assert_string_equal(times_of(&s)->kernels[0].name, "fill");
	assert_int_equal(times_of(&s)->kernels[0].total.count, 3);
	assert_int_equal(times_of(&s)->kernels[0].total.untimed, 1);
	assert_int_equal(times_of(&s)->kernels[0].total.total_ns, 40);
	assert_int_equal(times_of(&s)->kernels[0].total.least_ns, 10);
	assert_int_equal(times_of(&s)->kernels[0].total.most_ns, 30);
	assert_null(times_of(&s)->kernels[1].name);
	assert_int_equal(gpu_times_kernels(times_of(&s)).count, 4);
	assert_int_equal(times_of(&s)->copies[MS_DIRECTION_HTOD].bytes, 4096);
	assert_int_equal(times_of(&s)->pageable.total_ns, 100);
	assert_int_equal(times_of(&s)->memsets.count, 1);
	assert_int_equal(times_of(&s)->devices[0].first_ns, 1000);
	assert_int_equal(times_of(&s)->devices[0].last_ns, 7005);
	assert_int_equal(gpu_busy_ns(&times_of(&s)->devices[0].busy), 155);
	state_restart(&s.state, SECOND);
	assert_int_equal(gpu_times_kernels(times_of(&s)).count, 0);
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 7, 8000, 1));
	assert_string_equal(times_of(&s)->kernels[0].name, "fill"); /* is not forgotten */
	state_fini(&s.state);
}

/* ---- busy times ------------------------------------------------------------------------------ */

/* Intervals of several streams in any order, held against one bit for each nanosecond. */
static void test_busy_times_in_any_order(void **state)
{
	enum { SPAN = 60000, INTERVALS = 9000 };
	static bool busy[SPAN + 200];
	struct scenario s = { 0 };
	uint64_t expected = 0, begin;
	uint32_t ns, i;

	(void)state;
	srand(4);
	for (i = 0; i < INTERVALS; i++) {
		begin = rand() % SPAN;
		ns = rand() % 40;
		for (uint32_t j = 0; j < ns; j++)
			busy[begin + j] = true;
		apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, i + 1, 1 + begin, ns));
	}
	for (i = 0; i < SPAN + 200; i++)
		expected += busy[i];
	assert_int_equal(gpu_busy_ns(&times_of(&s)->devices[0].busy), expected);
	assert_int_equal(times_of(&s)->devices[0].busy.late, 0);
	state_fini(&s.state);
}

/* An hour of kernels with gaps: what is kept does not grow, and nothing is forgotten. */
static void test_long_runs_take_no_more_memory(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 360000; i++)
		apply_at(&s, SECOND,
			 record_activity(MS_ACTIVITY_KERNEL, i + 1, SECOND + i * 10000000ul, 2000));
	assert_int_equal(gpu_busy_ns(&times_of(&s)->devices[0].busy), 360000 * 2000ul);
	assert_true(times_of(&s)->devices[0].busy.capacity <= 4 * GPU_INTERVALS_LEAST);
	/* What comes an hour late is not added to what may have it. */
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, SECOND + 5000000, 1000));
	assert_int_equal(times_of(&s)->devices[0].busy.late, 1);
	assert_int_equal(gpu_busy_ns(&times_of(&s)->devices[0].busy), 360000 * 2000ul);
	state_fini(&s.state);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Gaps and what threads did in them, held against one number for each nanosecond. */
static void test_gaps_and_calls_in_any_order(void **state)
{
	enum { SPAN = 40000, INTERVALS = 3000, CALLS = 600, BASE = 1000 };
	static const char *const functions[] = { "cuLaunchKernel", "cuMemsetD8Async",
						 "cuCtxSynchronize" };
	static const enum gpu_gap_in kinds[] = { GPU_GAP_LAUNCH, GPU_GAP_COPY, GPU_GAP_SYNC };
	static uint8_t in[SPAN + 200]; /* what a thread does, and one more */
	static bool busy[SPAN + 200];
	uint64_t expected[GPU_GAP_INS] = { 0 }, first = SPAN, last = 0;
	struct gpu_gap_sum sum, longer;
	struct scenario s = { 0 };
	struct gpu_gaps gaps;
	uint32_t i, j;

	(void)state;
	srand(5);
	apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	for (i = 0; i < CALLS; i++) {
		const uint32_t begin = i * (SPAN / CALLS), ns = rand() % (SPAN / CALLS), of = i % 3;
		const union record record = record_call(functions[of]);

		memset(in + begin, 1 + (int)kinds[of], ns);
		apply_at(&s, BASE + begin, record_taking(ns, record));
		/* Another thread's call inside of it. */
		if (ns > 4)
			apply_at(&s, BASE + begin + 1, record_taking(ns - 2, record));
	}
	for (i = 0; i < INTERVALS; i++) {
		const uint32_t begin = rand() % SPAN, ns = rand() % 8;

		memset(busy + begin, 1, ns);
		first = begin < first ? begin : first;
		last = begin + ns > last ? begin + ns : last;
		apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, i + 1, BASE + begin, ns));
	}
	for (i = first; i < last; i++)
		if (!busy[i])
			expected[in[i] ? in[i] - 1 : GPU_GAP_NO_CALL]++;
	assert_int_equal(gpu_busy_gaps(&times_of(&s)->devices[0].busy, &times_of(&s)->calls, &gaps),
			 0);
	gpu_gaps_sums(&gaps, UINT64_MAX, &sum, &longer);
	for (j = 0; j < GPU_GAP_INS; j++)
		assert_int_equal(sum.in_ns[j], expected[j]);
	assert_int_equal(longer.count, 0);
	gpu_gaps_fini(&gaps);
	state_fini(&s.state);
}

/* More calls than are kept: what can be known of gaps is taken before the oldest calls go. */
static void test_calls_are_forgotten_after_their_gaps(void **state)
{
	enum { CALLS = LIMIT_GPU_HOST_CALLS + 1000, EVERY = 1000 };
	struct gpu_gap_sum sum, longer;
	struct scenario s = { 0 };
	struct gpu_gaps gaps;
	uint32_t i;

	(void)state;
	apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	for (i = 0; i < CALLS; i++) {
		launch_at(&s, 1, SECOND + i * EVERY, 600);
		apply_at(&s, SECOND + i * EVERY,
			 record_activity(MS_ACTIVITY_KERNEL, i + 1, SECOND + i * EVERY + 500, 300));
	}
	assert_true(times_of(&s)->calls.count <= LIMIT_GPU_HOST_CALLS);
	assert_true(times_of(&s)->calls.since_ns > SECOND);
	assert_int_equal(times_of(&s)->devices[0].busy.late, 0);
	assert_int_equal(gpu_busy_gaps(&times_of(&s)->devices[0].busy, &times_of(&s)->calls, &gaps),
			 0);
	gpu_gaps_sums(&gaps, UINT64_MAX, &sum, &longer);
	assert_int_equal(sum.count, CALLS - 1);
	assert_int_equal(sum.in_ns[GPU_GAP_LAUNCH], (CALLS - 1) * 500ul);
	assert_int_equal(sum.in_ns[GPU_GAP_NO_CALL], (CALLS - 1) * 200ul);
	assert_int_equal(gaps.longest_ns, 700);
	gpu_gaps_fini(&gaps);
	state_fini(&s.state);
}

/* ---- joins ----------------------------------------------------------------------------------- */

static void test_by_containment_in_any_order(void **state)
{
	struct scenario s = { 0 };
	const struct gpu_joins *joins;
	uint64_t ns;

	(void)state;
	apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	launch_at(&s, 11, 100 * US, 10 * US);
	launch_at(&s, 11, 120 * US, 10 * US);
	launch_at(&s, 12, 101 * US, 10 * US);
	/* The kernel first, and its call first. */
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 109 * US, 5 * US));
	apply_at(&s, SECOND, call(11, 1, 102 * US, 7 * US));
	apply_at(&s, SECOND, call(12, 2, 103 * US, 7 * US));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 2, 105 * US, 5 * US));
	/* Of a thread that no probe saw; of no call; of a kernel, not a call. */
	apply_at(&s, SECOND, call(13, 3, 103 * US, 7 * US));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 3, 105 * US, 5 * US));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 4, 105 * US, 5 * US));
	joins = &times_of(&s)->joins;
	assert_int_equal(joins->probed, 3);
	assert_int_equal(joins->activities, 4);
	assert_int_equal(joins->with_call, 3);
	assert_int_equal(joins->with_probed, 2);
	assert_int_equal(joins->entry.least_ns, 2 * US);
	assert_int_equal(joins->leave.least_ns, US);
	assert_true(gpu_joins_call_error(joins, 0, &ns));
	assert_int_equal(ns, 2 * US);
	assert_int_equal(joins->start.least_ns, 4 * US);
	assert_int_equal(joins->delay_ns, 9 * US + 4 * US);
	assert_false(gpu_joins_gpu_error(joins, 0, &ns)); /* nothing has waited */
	state_fini(&s.state);
}

/* A buffer that is full is handed over while the call is under way: CUPTI speaks of it first. */
static void test_before_the_call_is_over(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 104 * US, US));
	apply_at(&s, SECOND, call(11, 1, 101 * US, 6 * US));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 106 * US, US));
	assert_int_equal(times_of(&s)->joins.with_call, 2);
	assert_int_equal(times_of(&s)->joins.with_probed, 0);
	launch_at(&s, 11, 100 * US, 10 * US);
	assert_int_equal(times_of(&s)->joins.with_probed, 2);
	assert_int_equal(times_of(&s)->joins.in_probed, 1);
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 108 * US, US));
	assert_int_equal(times_of(&s)->joins.with_probed, 3);
	assert_int_equal(times_of(&s)->joins.with_call, 3);
	state_fini(&s.state);
}

/* A graph: many kernels for one call. The number is used again later, for another call. */
static void test_graphs_and_numbers_that_come_again(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
	launch_at(&s, 11, 100 * US, 10 * US);
	launch_at(&s, 11, 200 * US, 10 * US);
	for (i = 0; i < 5; i++)
		apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, (110 + i) * US, US));
	apply_at(&s, SECOND, call(11, 1, 102 * US, 5 * US));
	for (i = 0; i < 5; i++)
		apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, (120 + i) * US, US));
	assert_int_equal(times_of(&s)->joins.with_probed, 10);
	apply_at(&s, SECOND, call(11, 1, 202 * US, 5 * US));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 205 * US, US));
	assert_int_equal(times_of(&s)->joins.with_probed, 11);
	assert_int_equal(times_of(&s)->joins.start.least_ns, 5 * US);
	state_fini(&s.state);
}

/* A clock that is off is found out, and the error that is stated holds the true one. */
static void test_what_joins_say_of_clocks(void **state)
{
	const int64_t offsets[] = { 0, 500, -500, 3000, -3000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct scenario s = { 0 };
		uint64_t ns, size = (uint64_t)(offsets[i] < 0 ? -offsets[i] : offsets[i]);
		uint32_t n;

		apply_at(&s, 1, record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE));
		for (n = 1; n < 50; n++) {
			const uint64_t begin_ns = n * 100 * US;

			launch_at(&s, 11, begin_ns, 10 * US);
			apply_at(&s, begin_ns + 20 * US,
				 record_taking(10 * US, record_call("cuCtxSynchronize_v2")));
			apply_at(&s, SECOND, call(11, n, begin_ns + US + offsets[i], 8 * US));
			apply_at(&s, SECOND,
				 record_activity(MS_ACTIVITY_KERNEL, n,
						 begin_ns + 2 * US + offsets[i], 26 * US));
		}
		assert_int_equal(times_of(&s)->joins.with_probed, 49);
		assert_true(gpu_joins_call_error(&times_of(&s)->joins, 0, &ns));
		assert_in_range(ns, size, size + US);
		assert_true(gpu_joins_gpu_error(&times_of(&s)->joins, 0, &ns));
		assert_in_range(ns, size, size + 2 * US);
		assert_int_equal(times_of(&s)->joins.entry.outside +
					 times_of(&s)->joins.leave.outside,
				 size > US ? 49 : 0);
		state_fini(&s.state);
	}
}

/* ---- several processes ----------------------------------------------------------------------- */

static void test_sums_of_processes(void **state)
{
	struct scenario s = { 0 };
	struct process sum = { 0 };

	(void)state;
	apply_at(&s, SECOND, record_gpu_name(7, "fill"));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_KERNEL, 1, 1000, 30));
	apply_at(&s, SECOND, record_activity(MS_ACTIVITY_COPY, 2, 1010, 50));
	assert_int_equal(gpu_times_add(&sum, first_process(&s)), 0);
	assert_int_equal(gpu_times_add(&sum, first_process(&s)), 0);
	assert_int_equal(sum.gpu->kernels_count, 1);
	assert_string_equal(sum.gpu->kernels[0].name, "fill");
	assert_int_equal(sum.gpu->kernels[0].total.count, 2);
	assert_int_equal(gpu_times_copies(sum.gpu).total_ns, 100);
	assert_int_equal(gpu_busy_ns(&sum.gpu->devices[0].busy), 2 * 60);
	gpu_times_free(sum.gpu);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_busy_times_in_any_order),
		cmocka_unit_test(test_long_runs_take_no_more_memory),
		cmocka_unit_test(test_gaps_and_calls_in_any_order),
		cmocka_unit_test(test_calls_are_forgotten_after_their_gaps),
		cmocka_unit_test(test_by_containment_in_any_order),
		cmocka_unit_test(test_before_the_call_is_over),
		cmocka_unit_test(test_graphs_and_numbers_that_come_again),
		cmocka_unit_test(test_what_joins_say_of_clocks),
		cmocka_unit_test(test_sums_of_processes),
	};

	return unit_run("GPU times", tests);
}
