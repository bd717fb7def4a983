// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose GPU's work CUPTI has timed: each with the findings that it must have, and no
 * others.
 */
#include "analysed_gpu.h"

/*
 * Steps of 20 ms, in which a kernel runs for `busy_ns` from the launch on. Of each, the host
 * computes for `cpu_ns` and waits for a CPU for `queue_ns`.
 */
static void run_steps(struct run *run, uint64_t busy_ns, uint64_t cpu_ns, uint64_t queue_ns)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		launch(run);
		kernel_at(run, run->now_ns, busy_ns);
		wait_for(run, 20 * MS - 5 * US);
	}
	look(run, STEPS * cpu_ns, STEPS * queue_ns);
	status(run, MS_GPU_ENDED, 0);
}

static void run_busy(struct run *run)
{
	run_steps(run, 19 * MS, MS, 0);
}

/* Just too busy to be idle. */
static void run_nearly_idle(struct run *run)
{
	run_steps(run, 15 * MS, 19 * MS, 0);
}

static void run_computes(struct run *run)
{
	run_steps(run, 2 * MS, 19 * MS, 0);
}

/* Half of the time it may have computed while the GPU was busy. */
static void run_computes_some_time(struct run *run)
{
	run_steps(run, 10 * MS, 11 * MS, 0);
}

static void run_waits(struct run *run)
{
	run_steps(run, 2 * MS, MS, 0);
}

static void run_starves(struct run *run)
{
	run_steps(run, 2 * MS, MS, 5 * MS);
}

static void run_unseen(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	for (i = 0; i < STEPS; i++) {
		launch(run);
		kernel_at(run, run->now_ns, 2 * MS);
		wait_for(run, 20 * MS);
	}
}

/* Kernels that are shorter than the calls that launch them. */
static void run_launches(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < 20 * STEPS; i++) {
		feed(run, record_taking(900 * US, record_launch("cuLaunchKernel", 0x1234)));
		kernel_at(run, run->now_ns, 100 * US);
		wait_for(run, 100 * US);
	}
	look(run, 19 * MS * STEPS, 0);
}

/* Calls that were only counted may have been in the gaps. */
static void run_counted(struct run *run)
{
	status(run, MS_GPU_ON, 0);
	feed(run, record_launches("cuLaunchKernel", 0x1234, 100));
	run_computes(run);
}

/* Waits that end long after the kernel. */
static void run_late(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		launch(run);
		kernel_at(run, run->now_ns, MS);
		feed(run, record_taking(19 * MS, record_call("cuStreamSynchronize")));
	}
	look(run, MS * STEPS, 0);
}

/* The same, but that it may have waited for another device. */
static void run_late_elsewhere(struct run *run)
{
	union record other = record_activity(MS_ACTIVITY_KERNEL, 1 << 20, run->now_ns, MS);

	other.activity.is.device = 1;
	feed(run, other);
	run_late(run);
}

static void run_allocates(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		const uint64_t addr = run->next_addr;

		launch(run);
		kernel_at(run, run->now_ns, 2 * MS);
		wait_for(run, 2 * MS);
		feed(run,
		     record_taking(9 * MS, record_on(0, record_alloc("cuMemAlloc_v2", addr, MIB))));
		feed(run, record_free_begin(addr));
		feed(run, record_taking(9 * MS, record_free("cuMemFree_v2", addr)));
	}
	look(run, 19 * MS * STEPS, 0);
}

/* A server without requests for most of the time. */
static void run_without_work(struct run *run)
{
	int i, j;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < 10; i++) {
		for (j = 0; j < 5; j++) {
			launch(run);
			kernel_at(run, run->now_ns, 19 * MS);
			wait_for(run, 20 * MS);
		}
		wait_for(run, SECOND);
	}
	look(run, 10 * MS, 0);
	status(run, MS_GPU_ENDED, 0);
}

/* The same, but it computes in these times. */
static void run_prepares(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < 10; i++) {
		launch(run);
		kernel_at(run, run->now_ns, 20 * MS);
		wait_for(run, SECOND);
	}
	look(run, 10 * SECOND, 0);
	status(run, MS_GPU_ENDED, 0);
}

/* Its work took half a second of an hour. */
static void run_little(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	for (i = 0; i < 25; i++) {
		launch(run);
		kernel_at(run, run->now_ns, 2 * MS);
		wait_for(run, 20 * MS);
	}
	wait_for(run, 60 * MINUTE);
	status(run, MS_GPU_ENDED, 0);
}

/* CUPTI had no room for some of it. */
static void run_dropped(struct run *run)
{
	run_steps(run, 2 * MS, 19 * MS, 0);
	status(run, MS_GPU_ENDED, 7);
}

/* CUPTI was not there: gaps between calls are all that is known. */
static void run_without_cupti(struct run *run)
{
	int i;

	feed(run, record_gpu_status(MS_GPU_OFF, MS_GPU_REASON_NO_LIBRARY));
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		step(run);
		wait_for(run, 8 * MS);
	}
	look(run, STEPS * 17 * MS, 0);
}

/* The same, and it was: what it has measured counts, not the gaps. */
static void run_with_gaps(struct run *run)
{
	int i;

	status(run, MS_GPU_ON, 0);
	look(run, 0, 0);
	for (i = 0; i < STEPS; i++) {
		kernel_at(run, run->now_ns, 9 * MS);
		step(run);
		wait_for(run, 8 * MS);
	}
	look(run, STEPS * 17 * MS, 0);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "busy", run_busy, { { FINDING_KERNEL_BOUND, H, 0 } }, 1 },
	{ "nearly idle", run_nearly_idle, {}, 0 },
	{ "computes", run_computes, { { FINDING_GPU_IDLE, H, 0 } }, 1 },
	{ "computes some time", run_computes_some_time, { { FINDING_GPU_IDLE, M, 0 } }, 1 },
	{ "waits", run_waits, { { FINDING_GPU_IDLE, M, 0 } }, 1 },
	{ "starves", run_starves, { { FINDING_GPU_IDLE, H, 0 }, { FINDING_CPU_CONTENTION, M, 0 } }, 2 },
	{ "unseen", run_unseen, { { FINDING_GPU_IDLE, M, 0 } }, 1 },
	{ "launches", run_launches, { { FINDING_GPU_IDLE, H, 0 } }, 1 },
	{ "without work", run_without_work, {}, 0 },
	{ "prepares", run_prepares, { { FINDING_GPU_IDLE, H, 0 } }, 1 },
	{ "little", run_little, {}, 0 },
	{ "dropped", run_dropped, { { FINDING_GPU_IDLE, M, 0 } }, 1 },
	{ "without CUPTI", run_without_cupti, { { FINDING_HOST_BOUND, H, 0 } }, 1 },
	{ "with gaps", run_with_gaps, { { FINDING_GPU_IDLE, H, 0 } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static void test_what_it_goes_by(void **state)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, run_launches);

	(void)state;
	assert_int_equal(finding.device, 0);
	assert_int_equal(said(&finding,
			      "share of the observed time that the GPU was idle between its work"),
			 89);
	assert_int_equal(said(&finding, "as a duration"), 1999 * 900 * US);
	assert_int_equal(said(&finding, "busy with kernels, copies and memsets"), 2000 * 100 * US);
	assert_int_equal(said(&finding, "from its first work to its last"),
			 2000 * 100 * US + 1999 * 900 * US);
	assert_int_equal(said(&finding, "gaps"), 1999);
	assert_int_equal(said(&finding, "the longest time between its work"), 900 * US);
	assert_int_equal(said(&finding, "that began at"), 100 * SECOND + MS);
	assert_int_equal(said(&finding, "share of the gaps in calls that launch"), 100);
	assert_int_equal(said(&finding, "waits of all threads for a CPU, share of the time"), 0);
	run_end(&run);
}

static void test_time_without_work_is_told_apart(void **state)
{
	struct run run = { .options = analysis_defaults() };
	struct finding finding;

	(void)state;
	run.options.gpu_idle_share = 3;
	run.options.bound_share = run.options.bound_least_ns = 0;
	finding = only_finding(&run, run_without_work);
	assert_int_equal(said(&finding,
			      "without work for longer than gap-max, not counted as idle"),
			 9 * (SECOND + MS + 5 * US));
	assert_int_equal(said(&finding, "gaps"), 40);
	run_end(&run);
}

static void test_why(void **state)
{
	(void)state;
	expect_pattern(run_computes, "host-bound");
	expect_pattern(run_prepares, "host-bound");
	expect_pattern(run_waits, "input-bound");
	expect_pattern(run_launches, "launch-bound");
}

static void test_why_is_not_said_without_evidence(void **state)
{
	static void (*const unclear[])(struct run *) = { run_unseen, run_computes_some_time,
							 run_counted };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(unclear) / sizeof(*unclear); i++) {
		struct run run = { 0 };

		assert_null(only_finding(&run, unclear[i]).pattern);
		run_end(&run);
	}
}

/* Of programs that something else bounds, too: "": why is not said. */
static void expect_among_others(void (*program)(struct run *run), const char *pattern)
{
	const struct finding *findings;
	struct run run = { 0 };
	size_t count, i;

	assert_true(run_begin(&run));
	program(&run);
	finish(&run);
	findings = analysis_findings(run.analysis, &count);
	for (i = 0; i < count; i++)
		if (findings[i].rule == FINDING_GPU_IDLE && findings[i].device == 0)
			break;
	assert_true(i < count);
	if (*pattern)
		assert_memory_equal(findings[i].pattern, pattern, strlen(pattern));
	else
		assert_null(findings[i].pattern);
	run_end(&run);
}

static void test_why_among_others(void **state)
{
	(void)state;
	expect_among_others(run_allocates, "alloc-bound");
	expect_among_others(run_late, "late");
	expect_among_others(run_late_elsewhere, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_what_it_goes_by),
		cmocka_unit_test(test_time_without_work_is_told_apart),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_why_is_not_said_without_evidence),
		cmocka_unit_test(test_why_among_others),
	};

	return cmocka_run_group_tests_name("analysis_gpu", tests, NULL, NULL);
}
