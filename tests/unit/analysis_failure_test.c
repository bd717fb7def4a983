// SPDX-License-Identifier: BSD-2-Clause
/*
 * The analysis with every single allocation failing once, and with records that make no sense:
 * nothing may crash or leak, and nothing may be missing without an error that says so.
 */
#include "analysed.h"

#include <errno.h>

#include "failing.h"

/* ---- allocations that fail ------------------------------------------------------------------- */

/* What the state allocates has tests of its own. */
static int event_while_failing(struct sink *sink, const struct event *event,
			       const struct change *change)
{
	int err;

	failing_paused = false;
	err = run_event(sink, event, change);
	failing_paused = true;
	return err;
}

/* Everything that the analysis keeps, and every kind of finding that needs memory of its own. */
static void use_everything(struct run *run)
{
	int i;

	for (i = 0; i < 40; i++) {
		as_process(run, RECORD_PID + i % 20);
		alloc_new(run, 64ull << i);
		feed(run, record_alloc("cuMemHostAlloc", PINNED_ADDR + i * MIB, MIB));
		copy_down(run, DEVICE_ADDR, PINNED_ADDR, MIB, MS);
		step(run);
	}
	fail_alloc(run, GIB);
	analysis_gap(run->analysis);
	for (i = 0; i < 400; i++) {
		as_process(run, RECORD_PID);
		alloc_new(run, MIB);
		steps(run, 2);
	}
	feed(run, record_context("cuCtxDestroy_v2", 0xc000, 0));
	feed(run, record_process(MS_TYPE_EXEC, "other", 1));
	fail_alloc(run, GIB);
	end_process(run, 0);
}

#define FINDINGS 3 /* of use_everything() */

/* Returns whether it came to the failure. */
static bool attempt(long nth, size_t undisturbed)
{
	struct run run = { .options = analysis_defaults() };
	size_t count;
	bool happened;
	int err;

	until_failure = nth;
	failing_paused = false;
	if (!run_begin(&run)) {
		failing_paused = true;
		run_end(&run);
		return true;
	}
	failing_paused = true;
	run.sink.call = run.sink.process = event_while_failing;
	use_everything(&run);
	failing_paused = false;
	err = analysis_finish(run.analysis, run.now_ns, NULL);
	failing_paused = true;
	happened = stop_failing();
	analysis_findings(run.analysis, &count);
	if (happened) {
		/* Said at once, or at the end; the ledger can do without its index. */
		assert_true(run.err == -ENOMEM || err == -ENOMEM || count == undisturbed);
	} else {
		assert_int_equal(run.err, 0);
		assert_int_equal(err, 0);
		assert_int_equal(count, undisturbed);
	}
	run_end(&run);
	return happened;
}

static void test_each_allocation_fails(void **state)
{
	long nth = 0;

	(void)state;
	while (attempt(nth, FINDINGS))
		nth += unit_stride(7);
	assert_true(nth > 50);
}

/* ---- records that make no sense -------------------------------------------------------------- */

static union record random_record(uint64_t *random)
{
	static const char *const symbols[] = {
		"cuMemAlloc_v2",         "cuMemFree_v2",    "cuMemHostAlloc",  "cuMemFreeHost",
		"cuMemcpyHtoD_v2",       "cuMemcpyDtoH_v2", "cuLaunchKernel",  "cuCtxSynchronize",
		"cuMemGetInfo_v2",       "cuCtxDestroy_v2", "cuMemAllocAsync", "cuMemCreate",
		"cuMemPoolGetAttribute", "cuMemsetD8_v2",   "cuMemMap",        "cuMemUnmap",
	};
	union record record;

	*random = unit_random(*random);
	if (*random % 50 == 0)
		return record_exit(*random >> 8 & 1);
	if (*random % 50 == 1)
		return record_process(MS_TYPE_EXEC, "x", 1);
	record = record_call(symbols[*random >> 8 & 15]);
	record.call.addr = *random >> 16 & 0xff;
	record.call.src = *random >> 24 & 0xff;
	record.call.size = *random % 7 ? *random >> 40 : *random;
	record.call.duration_ns = *random % 11 ? *random >> 44 : *random;
	record.call.device = (int32_t)(*random >> 32 & 31) - 1;
	record.call.result = *random % 13 ? 0 : 2;
	record.call.known = 0x3ff;
	record.call.flags = *random % 17 ? 0 : MS_CALL_NESTED | MS_CALL_PART;
	record.event.tid = *random >> 20 & 7;
	return record;
}

/* Times that go back, or to the end of the number line; sizes that wrap around. */
static void test_nonsense(void **state)
{
	uint64_t random = 99;
	int round, i;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct run run = { .options = analysis_defaults() };

		run.options.leak_time_ns = run.options.leak_bytes = run.options.leak_count = 0;
		run.options.storm_window_ns = run.options.bound_time_ns = 0;
		run.options.window_a_ns = 0;
		run.options.window_b_ns = run.options.window_c_ns = round;
		assert_true(run_begin(&run));
		for (i = 0; i < 300; i++) {
			union record record = random_record(&random);

			as_process(&run, RECORD_PID + (random >> 50 & 1));
			run.tid = record.event.tid;
			run.now_ns = random % 19 ?
					     (round & 1 ? run.now_ns + random % MS : random % MS) :
					     random;
			feed(&run, record);
			if (random % 101 == 0)
				analysis_gap(run.analysis);
		}
		assert_int_equal(run.err, 0);
		assert_int_equal(analysis_finish(run.analysis, random, NULL), 0);
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation_fails),
		cmocka_unit_test(test_nonsense),
	};

	return unit_run("analysis: failures", tests);
}
