// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/call_latency.h"
#include "ledger/call_times.h"
#include "ledger/checkpoint.h"
#include "scenario.h"

#define CALLS 1000

static void test_buckets(void **state)
{
	uint64_t ns;
	unsigned int i;

	(void)state;
	for (i = 0; i + 1 < CALL_TIMES_BUCKETS; i++) {
		ns = call_times_longest(i);
		assert_int_equal(call_times_bucket(ns), i);
		assert_int_equal(call_times_bucket(ns + 1), i + 1);
	}
	assert_int_equal(call_times_bucket(0), 0);
	assert_int_equal(call_times_bucket(UINT64_MAX), CALL_TIMES_BUCKETS - 1);
	/* None is wider than an eighth of where it begins. */
	for (i = 1; i + 1 < CALL_TIMES_BUCKETS; i++) {
		ns = call_times_longest(i - 1) + 1;
		assert_true(call_times_longest(i) + 1 - ns <= ns / 8);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Against all of them, sorted. */
static void test_percentiles_are_those_of_all_calls(void **state)
{
	static uint64_t all[CALLS];
	struct call_times times = { 0 };
	unsigned int percent;
	uint64_t ns, seed = 1;
	size_t i;

	(void)state;
	assert_false(call_times_percentile(&times, 50, &ns));
	for (i = 0; i < CALLS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		all[i] = (seed >> 33) % (1ull << (8 + i % 20));
		call_times_count(&times, call_times_bucket(all[i]), 1);
		times.max_ns = all[i] > times.max_ns ? all[i] : times.max_ns;
	}
	qsort(all, CALLS, sizeof(*all), compare);
	for (percent = 0; percent <= 100; percent++) {
		const size_t rank = percent ? (CALLS * percent + 99) / 100 : 1;

		assert_true(call_times_percentile(&times, percent, &ns));
		assert_int_equal(call_times_bucket(ns), call_times_bucket(all[rank - 1]));
		assert_true(ns >= all[rank - 1]);
	}
	assert_int_equal(ns, all[CALLS - 1]);
	call_times_fini(&times);
}

static const struct call_times *times_of(const struct process *process, const char *symbol)
{
	size_t i;

	for (i = 0; i < process->times_count; i++)
		if (process->times[i].row == record_row(symbol))
			return &process->times[i];
	fail_msg("%s has no times", symbol);
	return NULL;
}

static void test_calls_are_counted_and_timed(void **state)
{
	struct scenario s = { 0 };
	const struct call_times *times;
	uint64_t ns;

	(void)state;
	apply(&s, record_taking(1000, record_call("cudaDeviceSynchronize")));
	apply(&s, record_taking(3000, record_call("cudaDeviceSynchronize")));
	apply(&s, record_taking(9, record_failed(2, record_call("cudaDeviceSynchronize"))));
	/* Of sums, no single call's time is known. */
	apply(&s, record_summed(10, record_taking(70000, record_call("cudaDeviceSynchronize"))));
	times = times_of(first_process(&s), "cudaDeviceSynchronize");
	assert_int_equal(times->calls, 13);
	assert_int_equal(times->failed, 1);
	assert_int_equal(times->timed, 13);
	assert_int_equal(times->total_ns, 74009);
	assert_int_equal(times->max_ns, 3000);
	assert_true(call_times_percentile(times, 50, &ns));
	assert_int_equal(call_times_bucket(ns), call_times_bucket(1000));
	/* Without its end, it is only counted; so is a launch that the kernel side counted. */
	apply(&s, record_without(MS_KNOWN_RESULT, record_call("cuCtxSynchronize")));
	apply(&s, record_launches("cuLaunchKernel", 0x1234, 7));
	assert_int_equal(times_of(first_process(&s), "cuCtxSynchronize")->calls, 1);
	assert_int_equal(times_of(first_process(&s), "cuCtxSynchronize")->timed, 0);
	times = times_of(first_process(&s), "cuLaunchKernel");
	assert_int_equal(times->calls, 7);
	assert_int_equal(times->timed, 0);
	assert_false(call_times_percentile(times, 50, &ns));
	state_restart(&s.state, 1);
	assert_int_equal(first_process(&s)->times_count, 0);
	state_fini(&s.state);
}

/* All functions of a kind together; what is not known one by one is only counted. */
static void test_kinds_of_calls(void **state)
{
	struct scenario s = { 0 };
	struct call_latency latency;

	(void)state;
	apply(&s, record_taking(1023, record_call("cudaDeviceSynchronize")));
	apply(&s, record_taking(1024, record_call("cuCtxSynchronize")));
	apply(&s, record_taking(UINT64_MAX / 4, record_failed(2, record_call("cuCtxSynchronize"))));
	apply(&s, record_without(MS_KNOWN_RESULT, record_call("cuCtxSynchronize")));
	latency = call_latency_of(first_process(&s), MS_OP_SYNC);
	assert_int_equal(latency.count, 3);
	assert_int_equal(latency.sum_ns, 2047 + UINT64_MAX / 4);
	assert_int_equal(latency.untimed, 1);
	assert_int_equal(latency.counts[0], 1);
	assert_int_equal(latency.counts[1], 1);
	assert_int_equal(latency.counts[CALL_LATENCY_BOUNDS], 1);
	/* The sum of those of a function that were not summed up is not known any more. */
	apply(&s, record_summed(10, record_taking(70000, record_call("cuCtxSynchronize"))));
	latency = call_latency_of(first_process(&s), MS_OP_SYNC);
	assert_int_equal(latency.count, 1);
	assert_int_equal(latency.sum_ns, 1023);
	assert_int_equal(latency.untimed, 13);
	latency = call_latency_of(first_process(&s), MS_OP_FREE);
	assert_int_equal(latency.count + latency.untimed, 0);
	state_fini(&s.state);
}

/* Each bound is one of the finer buckets', so that no bucket is cut in two. */
static void test_bounds_are_exact(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < CALL_LATENCY_BOUNDS; i++) {
		const uint64_t bound = call_latency_bounds[i];

		assert_int_equal(call_times_longest(call_times_bucket(bound)), bound);
	}
}

static int load(void *context, const void *record, size_t length)
{
	return checkpoint_load(context, record, length);
}

static void test_an_anchor_has_them(void **state)
{
	struct scenario s = { 0 };
	struct state loaded = { 0 };
	struct checkpoint anchor;
	const struct call_times *before, *after;

	(void)state;
	apply(&s, record_taking(1000, record_call("cudaDeviceSynchronize")));
	apply(&s, record_taking(UINT64_MAX / 4, record_failed(1, record_call("cuCtxSynchronize"))));
	checkpoint_init(&anchor, &loaded);
	assert_int_equal(checkpoint_save(&s.state, 1, load, &anchor), 0);
	assert_int_equal(loaded.processes[0]->times_count, 2);
	before = times_of(first_process(&s), "cuCtxSynchronize");
	after = times_of(loaded.processes[0], "cuCtxSynchronize");
	assert_memory_equal(before, after, offsetof(struct call_times, buckets));
	assert_int_equal(call_times_in(before, call_times_bucket(UINT64_MAX / 4)), 1);
	assert_int_equal(call_times_in(after, call_times_bucket(UINT64_MAX / 4)), 1);
	state_fini(&loaded);
	state_fini(&s.state);
}

/* Of two calls, one of which failed, in that bucket. */
union times_record {
	struct ms_checkpoint_times head;
	struct ms_checkpoint_time words[sizeof(struct ms_checkpoint_times) / 8 + 1];
};

static union times_record times_record(uint64_t failed, uint64_t timed, uint32_t row,
				       uint32_t bucket)
{
	union times_record record = { .head = { .event = { .type = MS_CHECKPOINT_TIMES,
							   .size = sizeof(record) },
						.calls = 2,
						.failed = failed,
						.timed = timed,
						.row = (uint16_t)row,
						.buckets_count = 1 } };

	record.words[sizeof(record.head) / 8] = (struct ms_checkpoint_time){ bucket, 2 };
	return record;
}

static void test_what_no_anchor_has(void **state)
{
	const union times_record records[] = {
		times_record(1, 2, 0, CALL_TIMES_BUCKETS - 1),
		times_record(3, 2, 0, 0),
		times_record(1, 3, 0, 0),
		times_record(1, 2, (uint32_t)probe_count(), 0),
		times_record(1, 2, 0, CALL_TIMES_BUCKETS),
	};
	struct process process = { 0 };
	struct state empty = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(records) / sizeof(*records); i++) {
		struct checkpoint anchor = { .state = &empty, .process = &process, .begun = true };

		assert_int_equal(checkpoint_load(&anchor, &records[i], sizeof(records[i])),
				 i ? -EINVAL : 0);
	}
	assert_int_equal(process.times_count, 1);
	assert_int_equal(process.times[0].calls, 2);
	call_times_forget(&process);
	free(process.times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_percentiles_are_those_of_all_calls),
		cmocka_unit_test(test_calls_are_counted_and_timed),
		cmocka_unit_test(test_kinds_of_calls),
		cmocka_unit_test(test_bounds_are_exact),
		cmocka_unit_test(test_an_anchor_has_them),
		cmocka_unit_test(test_what_no_anchor_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
