// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that waste time: churn, and what bounds them; and such as run short of memory. Each with
 * the findings that it must have, and no others.
 */
#include "analysed.h"

/* A call of a thread of its own, beside what goes on. */
static void feed_as(struct run *run, uint32_t tid, uint64_t ts_ns, union record record)
{
	uint32_t own = run->tid;
	uint64_t now_ns = run->now_ns;

	run->tid = tid;
	run->now_ns = ts_ns;
	feed(run, record);
	run->tid = own;
	run->now_ns = now_ns;
}

/* ---- churn ----------------------------------------------------------------------------------- */

static void temporary_of(struct run *run, const char *alloc, const char *free_symbol)
{
	int i;

	for (i = 0; i < 1500; i++) {
		feed(run, record_taking(200 * US, record_alloc(alloc, DEVICE_ADDR, MIB)));
		step(run);
		feed(run, record_begin_of(free_symbol, DEVICE_ADDR, 0));
		feed(run, record_taking(100 * US, record_free(free_symbol, DEVICE_ADDR)));
	}
}

static void run_temporary(struct run *run)
{
	temporary_of(run, "cuMemAlloc_v2", "cuMemFree_v2");
}

/* What pools are for. */
static void run_temporary_in_pool(struct run *run)
{
	temporary_of(run, "cuMemAllocAsync", "cuMemFreeAsync");
}

static void run_few_temporary(struct run *run)
{
	int i;

	for (i = 0; i < 500; i++) {
		alloc_at(run, DEVICE_ADDR, MIB);
		step(run);
		free_at(run, DEVICE_ADDR);
	}
}

/* Others are allocated before they are freed. */
static void run_overlapping(struct run *run)
{
	int i;

	for (i = 0; i < 1500; i++) {
		alloc_at(run, DEVICE_ADDR + i % 2 * GIB, MIB);
		step(run);
		wait_for(run, 100 * US);
		if (i)
			free_at(run, DEVICE_ADDR + (i + 1) % 2 * GIB);
	}
}

/* Now and then. */
static void run_storms(struct run *run)
{
	int i, j;

	for (i = 0; i < 10; i++) {
		alloc_at(run, DEVICE_ADDR, MIB);
		for (j = 0; j < 800; j++) {
			alloc_at(run, DEVICE_ADDR + (j + 1) % 2 * GIB, MIB);
			free_at(run, DEVICE_ADDR + j % 2 * GIB);
			wait_for(run, 20 * US);
		}
		free_at(run, DEVICE_ADDR);
		steps(run, 100);
	}
}

/* Setting up is none. */
static void run_many_allocations_at_first(struct run *run)
{
	int i;

	for (i = 0; i < 1000; i++)
		feed(run, record_taking(200 * US,
					record_alloc("cuMemAlloc_v2", DEVICE_ADDR + i * MIB, MIB)));
	steps(run, 1000);
}

static void run_alloc_bound(struct run *run)
{
	int i;

	for (i = 0; i < 500; i++) {
		feed(run, record_taking(MS, record_alloc("cuMemAlloc_v2", DEVICE_ADDR, MIB)));
		feed(run, record_taking(MS, record_alloc("cuMemAlloc_v2", DEVICE_ADDR + GIB, MIB)));
		step(run);
		feed(run, record_free_begin(DEVICE_ADDR));
		feed(run, record_taking(MS, record_free("cuMemFree_v2", DEVICE_ADDR)));
		feed(run, record_free_begin(DEVICE_ADDR + GIB));
		feed(run, record_taking(MS, record_free("cuMemFree_v2", DEVICE_ADDR + GIB)));
	}
}

/* ---- what bounds a program ------------------------------------------------------------------- */

static void run_balanced(struct run *run)
{
	steps(run, 500);
}

static void run_sync_bound(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		launch(run);
		wait_for(run, 200 * US);
		synchronise(run, 800 * US);
	}
}

/* The agent traced less for a second. */
static void run_sync_bound_budgeted(struct run *run)
{
	run_sync_bound(run);
	feed(run, record_budget(MS_BUDGET_ALL, MS_BUDGET_OFF, SECOND));
}

/* Much work at a time: that the host waits for it is what one wants. */
static void run_device_bound(struct run *run)
{
	int i, j;

	for (i = 0; i < 200; i++) {
		for (j = 0; j < 100; j++)
			launch(run);
		synchronise(run, 9 * MS);
	}
}

static void run_sync_bound_summed(struct run *run)
{
	union record syncs = record_call("cuCtxSynchronize");
	int i;

	syncs.event.type = MS_TYPE_CALLS;
	syncs.event.size = sizeof(struct ms_calls);
	syncs.launches.count = 100;
	for (i = 0; i < 100; i++) {
		wait_for(run, 100 * MS);
		feed(run, record_launches("cuLaunchKernel", 0x1234, 100));
		feed(run, record_taking(80 * MS, syncs));
	}
}

/* One thread waits, three others work. */
static void run_one_waits(struct run *run)
{
	int i, j;

	for (i = 0; i < 200; i++) {
		uint64_t begin_ns = run->now_ns;

		for (j = 0; j < 30; j++) {
			run->tid = RECORD_PID + j % 3;
			launch(run);
			wait_for(run, 295 * US);
		}
		run->tid = RECORD_PID;
		feed_as(run, RECORD_PID + 3, begin_ns,
			record_taking(9 * MS, record_call("cuCtxSynchronize")));
	}
}

/* Long gaps after the device has been waited for. */
static void run_host_bound(struct run *run)
{
	int i;

	for (i = 0; i < 300; i++) {
		step(run);
		wait_for(run, 8 * MS);
	}
}

/* So many launches, each of which takes so long; and a wait after every 50. */
static void launches(struct run *run, uint64_t launch_ns, uint64_t wait_ns)
{
	int i;

	for (i = 0; i < 100000; i++) {
		feed(run, record_taking(launch_ns, record_launch("cuLaunchKernel", 0x1234)));
		wait_for(run, launch_ns / 4);
		if (wait_ns && i % 50 == 49)
			synchronise(run, wait_ns);
	}
}

static void run_launch_bound(struct run *run)
{
	launches(run, 12 * US, 20 * US);
}

static void run_launch_bound_without_waits(struct run *run)
{
	launches(run, 12 * US, 0);
}

/* The device has more to do than it can. */
static void run_launches_wait(struct run *run)
{
	launches(run, 80 * US, 20 * US);
}

static void run_launches_behind(struct run *run)
{
	launches(run, 12 * US, 200 * US);
}

/* Between its launches, the host does more than it launches. */
static void run_few_launches(struct run *run)
{
	int i;

	for (i = 0; i < 100000; i++) {
		feed(run, record_taking(12 * US, record_launch("cuLaunchKernel", 0x1234)));
		wait_for(run, 20 * US);
	}
}

/* When they were, and how long they took, is not known. */
static void run_launches_counted(struct run *run)
{
	int i;

	for (i = 0; i < 20; i++) {
		wait_for(run, 100 * MS);
		feed(run, record_launches("cuLaunchKernel", 0x1234, 8000));
	}
}

/* Long gaps with work under way: nobody knows whether the device is idle. */
static void run_gaps_with_work(struct run *run)
{
	int i, j;

	for (i = 0; i < 300; i++) {
		for (j = 0; j < 20; j++)
			launch(run);
		wait_for(run, 8 * MS);
		synchronise(run, MS);
	}
}

/* The same, but then there was nothing left to wait for. */
static void run_gaps_without_work(struct run *run)
{
	int i, j;

	for (i = 0; i < 300; i++) {
		for (j = 0; j < 20; j++)
			launch(run);
		wait_for(run, 8 * MS);
		synchronise(run, 10 * US);
	}
}

/* Nothing is asked of it. */
static void run_idle_server(struct run *run)
{
	int i;

	for (i = 0; i < 300; i++) {
		step(run);
		wait_for(run, SECOND);
	}
}

/* Another thread waits for the device all the time. */
static void run_gaps_of_one_thread(struct run *run)
{
	int i, j;

	for (i = 0; i < 200; i++) {
		uint64_t begin_ns = run->now_ns;

		for (j = 0; j < 5; j++) {
			launch(run);
			synchronise(run, 200 * US);
			wait_for(run, 8 * MS);
		}
		feed_as(run, RECORD_PID + 1, begin_ns,
			record_taking(run->now_ns - begin_ns, record_call("cuStreamSynchronize")));
	}
}

static void run_host_bound_summed(struct run *run)
{
	union record syncs = record_call("cuCtxSynchronize");
	int i;

	syncs.event.type = MS_TYPE_CALLS;
	syncs.event.size = sizeof(struct ms_calls);
	syncs.launches.count = 100;
	for (i = 0; i < 100; i++) {
		wait_for(run, 100 * MS);
		feed(run, record_launches("cuLaunchKernel", 0x1234, 100));
		feed(run, record_taking(MS, syncs));
	}
}

static void run_too_short(struct run *run)
{
	int i;

	for (i = 0; i < 500; i++) {
		launch(run);
		synchronise(run, 800 * US);
	}
}

/* All that it ever did was to wait once. */
static void run_one_call(struct run *run)
{
	feed(run, record_process(MS_TYPE_ATTACH, "program", 0));
	wait_for(run, 10 * SECOND);
	synchronise(run, 200 * MS);
}

/* Records that come late: it has ended. */
static void run_after_exit(struct run *run)
{
	end_process(run, 0);
	run_sync_bound(run);
}

/* An allocation now and then, and launches that were only counted: each is a pause to look at. */
static void run_allocs_summed(struct run *run)
{
	int i;

	for (i = 0; i < 40; i++) {
		feed(run, record_taking(8 * MS, record_alloc("cuMemAlloc_v2",
							     DEVICE_ADDR + i * 2 * MIB, 4 * KIB)));
		wait_for(run, 150 * MS);
		if (i % 7 == 6)
			feed(run, record_launches("cuLaunchKernel", 0x1234, 100));
	}
}

/* The same with copies that were only counted. */
static void run_allocs_and_copies_summed(struct run *run)
{
	union record copies =
		record_summed(100, record_taking(100 * US, record_copy("cuMemcpyDtoD_v2", 400 * KIB,
								       MS_DIRECTION_DTOD)));
	int i;

	for (i = 0; i < 40; i++) {
		feed(run, record_taking(60 * US, record_alloc("cuMemAlloc_v2",
							      DEVICE_ADDR + i * 2 * MIB, 4 * KIB)));
		wait_for(run, 150 * MS);
		feed(run, copies);
	}
}

/* Half of each busy moment, but of these there are few: a hundredth of the time is 36 s. */
static void run_rarely_bound(struct run *run)
{
	int i;

	for (i = 0; i < 60; i++) {
		launch(run);
		synchronise(run, 20 * MS);
		wait_for(run, MINUTE);
	}
}

/* As before, and more of it. */
static void run_often_bound(struct run *run)
{
	int i;

	for (i = 0; i < 60; i++) {
		launch(run);
		synchronise(run, 200 * MS);
		wait_for(run, 5 * SECOND);
	}
}

/* All windows with a call are full of it, but that is next to nothing. */
static void run_little_time(struct run *run)
{
	int i;

	for (i = 0; i < 5; i++) {
		launch(run);
		synchronise(run, 6 * MS);
		wait_for(run, 230 * MS);
	}
}

/* ---- pressure -------------------------------------------------------------------------------- */

static void run_pressure(struct run *run)
{
	alloc_new(run, 7 * GIB);
	told(run, 100 * MIB, 8 * GIB);
	steps(run, 100);
}

/* It was told how much there is, and takes it. */
static void run_pressure_from_ledger(struct run *run)
{
	told(run, 8 * GIB, 8 * GIB);
	alloc_new(run, 7 * GIB);
	alloc_new(run, 900 * MIB);
	steps(run, 100);
}

static void run_no_pressure(struct run *run)
{
	told(run, 8 * GIB, 8 * GIB);
	alloc_new(run, 7 * GIB);
	told(run, GIB, 8 * GIB);
	steps(run, 100);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "balanced", run_balanced, {}, 0 },
	{ "temporary", run_temporary, { { FINDING_TEMPORARY, H, 1500 * MIB } }, 1 },
	{ "temporary, in a pool", run_temporary_in_pool, {}, 0 },
	{ "temporary, few", run_few_temporary, {}, 0 },
	{ "overlapping", run_overlapping, {}, 0 },
	{ "storms", run_storms, { { FINDING_STORM, H, 0 } }, 1 },
	{ "many allocations at first", run_many_allocations_at_first, {}, 0 },
	{ "alloc-bound", run_alloc_bound, { { FINDING_ALLOC_BOUND, M, 0 } }, 1 },
	{ "sync-bound", run_sync_bound, { { FINDING_SYNC_BOUND, H, 0 } }, 1 },
	{ "sync-bound, budgeted", run_sync_bound_budgeted, { { FINDING_SYNC_BOUND, L, 0 } }, 1 },
	{ "device-bound", run_device_bound, { { FINDING_SYNC_BOUND, M, 0 } }, 1 },
	{ "sync-bound, summed", run_sync_bound_summed, { { FINDING_SYNC_BOUND, H, 0 } }, 1 },
	{ "one call", run_one_call, {}, 0 },
	{ "after exit", run_after_exit, {}, 0 },
	{ "one waits", run_one_waits, {}, 0 },
	{ "host-bound", run_host_bound, { { FINDING_HOST_BOUND, M, 0 } }, 1 },
	{ "launch-bound", run_launch_bound, { { FINDING_LAUNCH_BOUND, H, 0 } }, 1 },
	{ "launch-bound, without waits", run_launch_bound_without_waits, { { FINDING_LAUNCH_BOUND, M, 0 } }, 1 },
	{ "launches that wait", run_launches_wait, {}, 0 },
	{ "launches, the device behind", run_launches_behind, {}, 0 },
	{ "few launches", run_few_launches, {}, 0 },
	{ "launches, counted", run_launches_counted, {}, 0 },
	{ "gaps with work", run_gaps_with_work, {}, 0 },
	{ "gaps without work", run_gaps_without_work, { { FINDING_HOST_BOUND, M, 0 } }, 1 },
	{ "idle server", run_idle_server, {}, 0 },
	{ "gaps of one thread", run_gaps_of_one_thread, { { FINDING_SYNC_BOUND, H, 0 } }, 1 },
	{ "host-bound, summed", run_host_bound_summed, { { FINDING_HOST_BOUND, L, 0 } }, 1 },
	{ "allocations, launches summed", run_allocs_summed, {}, 0 },
	{ "allocations, copies summed", run_allocs_and_copies_summed, {}, 0 },
	{ "rarely bound", run_rarely_bound, {}, 0 },
	{ "often bound", run_often_bound, { { FINDING_SYNC_BOUND, H, 0 } }, 1 },
	{ "little time", run_little_time, {}, 0 },
	{ "too short", run_too_short, {}, 0 },
	{ "pressure", run_pressure, { { FINDING_MEMORY_PRESSURE, H, 8 * GIB - 100 * MIB } }, 1 },
	{ "pressure, from the ledger", run_pressure_from_ledger, { { FINDING_MEMORY_PRESSURE, H, 0 } }, 1 },
	{ "no pressure", run_no_pressure, {}, 0 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

/* A launch of a graph, which allocates and frees, too, is lost as a call about memory. */
static const struct lossy_program lossy_programs[] = {
	/* clang-format off */
	{ { "waits", run_sync_bound, { { FINDING_SYNC_BOUND, M, 0 } }, 1 }, MS_OP_SYNC },
	{ { "graphs", run_sync_bound, { { FINDING_SYNC_BOUND, M, 0 } }, 1 }, MS_OP_MEMORY },
	{ { "graphs, storms", run_storms, { { FINDING_STORM, M, 0 } }, 1 }, MS_OP_MEMORY },
	/* clang-format on */
};

static void test_losses_lower_what_they_concern(void **state)
{
	(void)state;
	run_all_lossy(lossy_programs);
}

static void test_shares_are_of_the_time(void **state)
{
	const struct finding *finding;
	struct run run = { 0 };
	size_t count;

	(void)state;
	assert_true(run_begin(&run));
	run_sync_bound(&run);
	finish(&run);
	finding = analysis_findings(run.analysis, &count);
	assert_int_equal(count, 1);
	assert_int_equal(finding->evidence[0].unit, FINDING_PERCENT);
	assert_in_range(finding->evidence[0].value, 78, 80);
	assert_in_range(finding->duration_ns, 1590 * MS, 1600 * MS);
	run_end(&run);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

static void test_thresholds(void **state)
{
	struct analysis_options options = analysis_defaults();
	const struct threshold *threshold, *other;
	size_t i, j;

	(void)state;
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		assert_int_equal(threshold_of(threshold, &options), threshold->value);
		assert_true(threshold->value > 0);
		for (j = 0; j < i; j++) {
			other = analysis_threshold_at(j);
			assert_string_not_equal(threshold->name, other->name);
			assert_int_not_equal(threshold->offset, other->offset);
		}
	}
	assert_true(i > 20);
}

/* Every rule has its part in docs/rules.md, and every threshold is named there. */
static void test_documented(void **state)
{
	const struct threshold *threshold;
	static char text[64 << 10];
	FILE *file = fopen("docs/rules.md", "re");
	char name[64];
	size_t i;

	(void)state;
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	for (i = 0; i < FINDING_RULES_COUNT; i++)
		if (!strstr(text, finding_rule_name(i)))
			fail_msg("%s is not in docs/rules.md", finding_rule_name(i));
	for (i = 0; (threshold = analysis_threshold_at(i)); i++) {
		snprintf(name, sizeof(name), "`%s`", threshold->name);
		if (!strstr(text, name))
			fail_msg("%s is not in docs/rules.md", name);
	}
	for (i = 0; i < OOM_CAUSES_COUNT; i++) {
		snprintf(name, sizeof(name), "| %s |", analysis_oom_cause_name(i));
		assert_non_null(strstr(text, name));
	}
}

/* A threshold moved is a finding more. */
static void test_thresholds_matter(void **state)
{
	struct run run = { .options = analysis_defaults() };

	(void)state;
	run.options.sync_share = 20;
	assert_true(run_begin(&run));
	run_balanced(&run);
	expect_findings(&run, { FINDING_SYNC_BOUND, M, 0 });
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_losses_lower_what_they_concern),
		cmocka_unit_test(test_shares_are_of_the_time),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_thresholds_matter),
		cmocka_unit_test(test_documented),
	};

	return unit_run("analysis: work", tests);
}
