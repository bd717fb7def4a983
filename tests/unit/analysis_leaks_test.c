// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that leak: each with the findings that it must have, and no others.
 */
#include "analysed.h"

/* ---- programs -------------------------------------------------------------------------------- */

static void run_step_leak(struct run *run)
{
	int i;

	set_up(run);
	for (i = 0; i < 2000; i++) {
		uint64_t scratch = alloc_new(run, 3 * MIB);

		alloc_new(run, 64 * KIB);
		step(run);
		free_at(run, scratch);
	}
}

/* The leak has the size of blocks that come and go. */
static void run_leak_among_others(struct run *run)
{
	uint64_t live[16] = { 0 }, random = 1;
	int i;

	for (i = 0; i < 4000; i++) {
		random = unit_random(random);
		if (live[random % 16])
			free_at(run, live[random % 16]);
		live[random % 16] = alloc_new(run, 1 * MIB + random % 1000);
		step(run);
		if (i % 100 == 99)
			alloc_new(run, 1 * MIB);
	}
}

/* Requests come at random times, after long with none, and some leave something behind. */
static void run_request_leak(struct run *run)
{
	uint64_t random = 42;
	int i;

	set_up(run);
	wait_for(run, 2 * MINUTE);
	for (i = 0; i < 1000; i++) {
		uint64_t answer = alloc_new(run, 300 * KIB);

		random = unit_random(random);
		steps(run, 3);
		if (random % 4)
			free_at(run, answer);
		wait_for(run, random % SECOND);
	}
}

static void run_slow_leak(struct run *run)
{
	int minute, i;

	set_up(run);
	for (minute = 0; minute < 240; minute++) {
		alloc_new(run, MIB);
		for (i = 0; i < 30; i++) {
			steps(run, 2);
			wait_for(run, 2 * SECOND - 20 * MS);
		}
	}
}

/* Now and then, of something large: less often than there are windows. */
static void run_leak_in_few_steps(struct run *run)
{
	int i, j;

	set_up(run);
	for (i = 0; i < 5; i++) {
		alloc_new(run, 256 * MIB);
		for (j = 0; j < 1000; j++) {
			uint64_t scratch = alloc_new(run, 3 * MIB);

			step(run);
			free_at(run, scratch);
		}
	}
}

/* Nothing of the kind is freed; after the setting up, more of it. */
static void run_leak_from_the_middle(struct run *run)
{
	int i;

	set_up(run);
	steps(run, 2000);
	for (i = 0; i < 2000; i++) {
		if (i % 4 == 0)
			alloc_new(run, 8 * MIB);
		step(run);
	}
}

/* It cleans up, and forgets some. */
static void leave(struct run *run, uint32_t status)
{
	uint64_t blocks[24], buffers[16];
	int i;

	for (i = 0; i < 24; i++)
		blocks[i] = alloc_new(run, 8 * MIB);
	steps(run, 1000);
	for (i = 0; i < 16; i++)
		buffers[i] = alloc_new(run, 2 * MIB);
	steps(run, 1000);
	for (i = 0; i < 24; i++)
		free_at(run, blocks[i]);
	for (i = 3; i < 16; i++)
		free_at(run, buffers[i]);
	end_process(run, status);
}

static void run_exit_leak(struct run *run)
{
	leave(run, 0);
}

static void run_exit_leak_of_failed(struct run *run)
{
	leave(run, 1 << 8);
}

/* Attached to late, but before it made a context: it holds nothing from before. */
static void run_exit_leak_of_new(struct run *run)
{
	feed(run, record_process(MS_TYPE_ATTACH, "program", MS_ATTACH_RUNNING | MS_ATTACH_BEGUN));
	feed(run, record_context("cuCtxCreate_v2", 0xc000, 0));
	leave(run, 0);
}

static void run_exit_leak_of_running(struct run *run)
{
	feed(run, record_process(MS_TYPE_ATTACH, "program", MS_ATTACH_RUNNING));
	leave(run, 0);
}

static void run_killed(struct run *run)
{
	leave(run, 9);
}

static void run_vanished(struct run *run)
{
	leave(run, MS_EXIT_UNKNOWN);
}

/* It frees the most of its buffers, but nothing of what it set up. */
static void run_exit_leak_of_one_kind(struct run *run)
{
	uint64_t buffers[16];
	int i;

	set_up(run);
	steps(run, 1000);
	for (i = 0; i < 16; i++)
		buffers[i] = alloc_new(run, 2 * MIB);
	steps(run, 1000);
	for (i = 3; i < 16; i++)
		free_at(run, buffers[i]);
	end_process(run, 0);
}

/* All but what it took for something else, later. */
static void run_exit_leak_of_whole_kind(struct run *run)
{
	uint64_t blocks[24];
	int i;

	for (i = 0; i < 24; i++)
		blocks[i] = alloc_new(run, 8 * MIB);
	steps(run, 1000);
	for (i = 0; i < 3; i++)
		feed(run,
		     record_on(0, record_alloc("cuMemAllocManaged", HOST_ADDR + i * GIB, MIB)));
	steps(run, 1000);
	for (i = 0; i < 24; i++)
		free_at(run, blocks[i]);
	end_process(run, 0);
}

/* What belongs to a context ends with it: that is no leak at exit, but growth before it was one. */
static void run_step_leak_with_context(struct run *run)
{
	int i;

	feed(run, record_context("cuCtxCreate_v2", 0xc000, 0));
	for (i = 0; i < 2000; i++) {
		feed(run, record_in(0xc000,
				    record_alloc("cuMemAlloc_v2", DEVICE_ADDR + i * 2 * MIB, MIB)));
		step(run);
	}
	feed(run, record_context("cuCtxDestroy_v2", 0xc000, 0));
	steps(run, 100);
	end_process(run, 0);
}

/* Loading, and nothing else, until the recording ends. */
static void run_loading(struct run *run)
{
	int i;

	for (i = 0; i < 500; i++) {
		alloc_new(run, MIB);
		wait_for(run, 100 * MS);
	}
}

static void run_short_step_leak(struct run *run)
{
	int i;

	for (i = 0; i < 300; i++) {
		alloc_new(run, MIB);
		step(run);
	}
}

/* A second process of the same number: neither has anything to do with the other. */
static void run_reused_pid(struct run *run)
{
	uint64_t blocks[100];
	int round, i;

	for (round = 0; round < 8; round++) {
		for (i = 0; i < 100; i++)
			blocks[i] = alloc_new(run, MIB);
		steps(run, 100);
		for (i = 0; i < 100; i++)
			free_at(run, blocks[i]);
		end_process(run, 0);
		run->start_ns += 100 * MS_START_NS;
	}
	for (i = 0; i < 2000; i++) {
		alloc_new(run, MIB);
		step(run);
	}
}

/* Only counted launches, as a recording has them by default. */
static void run_step_leak_summed(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		alloc_new(run, 64 * KIB);
		wait_for(run, 10 * MS);
		if (i % 25 == 0) {
			feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
			synchronise(run, 4 * MS);
		}
	}
}

static void run_step_leak_with_gap(struct run *run)
{
	run_step_leak(run);
	analysis_gap(run->analysis);
	steps(run, 10);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "killed", run_killed, {}, 0 },
	{ "vanished", run_vanished, {}, 0 },
	{ "step leak", run_step_leak, { { FINDING_LEAK_GROWTH, H, 2000 * 64 * KIB } }, 1 },
	{ "leak among others", run_leak_among_others, { { FINDING_LEAK_GROWTH, H, 36 * MIB } }, 1 },
	{ "request leak", run_request_leak, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "leak from the middle", run_leak_from_the_middle, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "leak in few steps", run_leak_in_few_steps, { { FINDING_LEAK_GROWTH, L, 5 * 256 * MIB } }, 1 },
	{ "slow leak", run_slow_leak, { { FINDING_LEAK_GROWTH, H, 240 * MIB } }, 1 },
	{ "short step leak", run_short_step_leak, { { FINDING_LEAK_GROWTH, M, 300 * MIB } }, 1 },
	{ "loading", run_loading, { { FINDING_LEAK_GROWTH, L, 0 } }, 1 },
	{ "step leak in a context", run_step_leak_with_context, { { FINDING_LEAK_GROWTH, H, 2000 * MIB } }, 1 },
	{ "step leak, launches summed", run_step_leak_summed, { { FINDING_LEAK_GROWTH, H, 2000 * 64 * KIB } }, 1 },
	{ "step leak, a gap", run_step_leak_with_gap, { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "reused pid", run_reused_pid, { { FINDING_LEAK_GROWTH, H, 2000 * MIB } }, 1 },
	{ "leak at exit", run_exit_leak, { { FINDING_LEAK_AT_EXIT, H, 3 * 2 * MIB } }, 1 },
	{ "leak at exit of a new one", run_exit_leak_of_new, { { FINDING_LEAK_AT_EXIT, H, 3 * 2 * MIB } }, 1 },
	{ "leak at exit of a running one", run_exit_leak_of_running, { { FINDING_LEAK_AT_EXIT, L, 0 } }, 1 },
	{ "leak at exit with an error", run_exit_leak_of_failed, { { FINDING_LEAK_AT_EXIT, L, 0 } }, 1 },
	{ "leak at exit of a whole kind", run_exit_leak_of_whole_kind, { { FINDING_LEAK_AT_EXIT, H, 3 * MIB } }, 1 },
	{ "leak at exit of one kind", run_exit_leak_of_one_kind, { { FINDING_LEAK_AT_EXIT, M, 3 * 2 * MIB } }, 1 },
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
	{ { "frees", run_step_leak, { { FINDING_LEAK_GROWTH, L, 0 } }, 1 }, MS_OP_FREE },
	{ { "graphs", run_step_leak, { { FINDING_LEAK_GROWTH, L, 0 } }, 1 }, MS_OP_MEMORY },
	{ { "copies", run_step_leak, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 }, MS_OP_COPY },
	/* clang-format on */
};

static void test_losses_lower_what_they_concern(void **state)
{
	(void)state;
	run_all_lossy(lossy_programs);
}

/* The numbers beside a finding. */
static void test_growth_is_told_in_numbers(void **state)
{
	const struct finding *finding;
	struct run run = { 0 };
	size_t count;

	(void)state;
	assert_true(run_begin(&run));
	run_slow_leak(&run);
	finish(&run);
	finding = analysis_findings(run.analysis, &count);
	assert_int_equal(count, 1);
	assert_int_equal(finding->pid, RECORD_PID);
	assert_int_equal(finding->start_ns, RECORD_START_NS);
	assert_int_equal(finding->space, MS_SPACE_DEVICE);
	assert_int_equal(finding->row, record_row("cuMemAlloc_v2"));
	assert_int_equal(finding->device, 0);
	assert_string_equal(finding->evidence[0].what, "allocations left behind");
	assert_int_equal(finding->evidence[0].value, 240);
	/* 1 MiB a minute, and 1 % */
	assert_int_equal(finding->evidence[2].unit, FINDING_BYTES_PER_SECOND);
	assert_in_range(finding->evidence[2].value, MIB / 60 * 99 / 100, MIB / 60 * 101 / 100);
	run_end(&run);
}

static const struct finding_evidence *evidence_of(const struct finding *finding, const char *what)
{
	size_t i;

	for (i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].what, what))
			return &finding->evidence[i];
	fail_msg("no evidence: %s", what);
	return NULL;
}

/* Frees with which a program ends are not memory that came and went while it grew. */
static void test_what_was_freed_at_the_end_did_not_come_and_go(void **state)
{
	const struct finding *finding;
	struct run run = { 0 };
	uint64_t blocks[200];
	size_t count, i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < 200; i++) {
		blocks[i] = alloc_new(&run, MIB);
		wait_for(&run, 100 * MS);
	}
	for (i = 0; i < 200; i++)
		free_at(&run, blocks[i]);
	end_process(&run, 0);
	finish(&run);
	finding = analysis_findings(run.analysis, &count);
	assert_int_equal(count, 1);
	assert_true(finding->freed);
	assert_int_equal(finding->confidence, FINDING_LOW);
	assert_string_equal(finding->lowered_by,
			    "nothing was launched meanwhile: the program may be loading");
	assert_int_equal(evidence_of(finding, "frees of this kind before it ended")->value, 0);
	assert_int_equal(evidence_of(finding, "live bytes of this kind then")->value, 200 * MIB);
	assert_int_equal(evidence_of(finding, "freed when the program ended")->value, 200 * MIB);
	run_end(&run);
}

/* Of one function: they are one leak. Of several, the larger one comes first. */
static void test_order(void **state)
{
	struct run run = { 0 };
	int i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < 2000; i++) {
		alloc_new(&run, 16 * KIB);
		feed(&run, record_on(0, record_alloc("cuMemAllocManaged",
						     DEVICE_ADDR + (i + 1) * 100 * GIB, 8 * MIB)));
		alloc_new(&run, 4 * MIB);
		alloc_new(&run, 64 * KIB);
		step(&run);
	}
	expect_findings(&run, { FINDING_LEAK_GROWTH, H, 2000 * 8 * MIB },
			{ FINDING_LEAK_GROWTH, H, 2000 * (4 * MIB + 64 * KIB + 16 * KIB) });
	run_end(&run);
}

/* The surest one first, however small. */
static void test_the_surest_leads(void **state)
{
	struct run run = { 0 };
	int i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < 2000; i++) {
		if (i > 1400)
			feed(&run, record_on(0, record_alloc("cuMemAllocManaged",
							     DEVICE_ADDR + (i + 1) * 100 * GIB,
							     8 * MIB)));
		alloc_new(&run, 64 * KIB);
		step(&run);
	}
	expect_findings(&run, { FINDING_LEAK_GROWTH, H, 2000 * 64 * KIB },
			{ FINDING_LEAK_GROWTH, M, 599 * 8 * MIB });
	run_end(&run);
}

/* What the state held when the analysis began, as from an anchor, is set up as well. */
static void test_what_was_there_before(void **state)
{
	struct run run = { 0 };
	uint64_t blocks[24];
	int i;

	(void)state;
	assert_true(run_begin(&run));
	run.pipeline.sinks_count = 0;
	for (i = 0; i < 24; i++)
		blocks[i] = alloc_new(&run, 8 * MIB);
	wait_for(&run, SECOND);
	run.pipeline.sinks_count = 1;
	steps(&run, 1000);
	for (i = 3; i < 24; i++)
		free_at(&run, blocks[i]);
	end_process(&run, 0);
	expect_findings(&run, { FINDING_KEPT_TO_END, H, 3 * 8 * MIB });
	run_end(&run);
}

/* ---- the window ------------------------------------------------------------------------------ */

static struct run run_with_window(uint64_t a_ns, uint64_t b_ns, uint64_t c_ns)
{
	struct run run = { .options = analysis_defaults() };

	run.options.window_a_ns = 100 * SECOND + a_ns;
	run.options.window_b_ns = 100 * SECOND + b_ns;
	run.options.window_c_ns = 100 * SECOND + c_ns;
	return run;
}

/* One block before A, two between A and B (one of them freed before C), one after B. */
static void window_blocks(struct run *run)
{
	uint64_t freed;

	alloc_new(run, MIB);
	wait_for(run, 2 * SECOND);
	alloc_new(run, 3 * MIB);
	freed = alloc_new(run, 3 * MIB);
	wait_for(run, 2 * SECOND);
	alloc_new(run, 5 * MIB);
	free_at(run, freed);
	wait_for(run, 2 * SECOND);
}

static void test_window(void **state)
{
	struct run run = run_with_window(SECOND, 3 * SECOND, 5 * SECOND);

	(void)state;
	assert_true(run_begin(&run));
	window_blocks(&run);
	expect_findings(&run, { FINDING_LEAK_WINDOW, H, 3 * MIB });
	assert_true(analysis_account(run.analysis)->window_reached);
	run_end(&run);
}

/* That it ends with the process, after C, does not make it unseen. */
static void test_window_and_exit(void **state)
{
	struct run run = run_with_window(SECOND, 3 * SECOND, 5 * SECOND);

	(void)state;
	assert_true(run_begin(&run));
	window_blocks(&run);
	end_process(&run, 9);
	expect_findings(&run, { FINDING_LEAK_WINDOW, H, 3 * MIB });
	run_end(&run);
}

static void test_window_not_reached(void **state)
{
	struct run run = run_with_window(SECOND, 3 * SECOND, MINUTE);

	(void)state;
	assert_true(run_begin(&run));
	window_blocks(&run);
	expect_none(&run);
	assert_false(analysis_account(run.analysis)->window_reached);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_losses_lower_what_they_concern),
		cmocka_unit_test(test_growth_is_told_in_numbers),
		cmocka_unit_test(test_what_was_freed_at_the_end_did_not_come_and_go),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_the_surest_leads),
		cmocka_unit_test(test_what_was_there_before),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_and_exit),
		cmocka_unit_test(test_window_not_reached),
	};

	return unit_run("analysis: leaks", tests);
}
