// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that runs out before its growth can be called a leak: one place makes block after block
 * until then. Programs that load what they work with, or set it up at once, are not like that.
 */
#include "analysed.h"

/* Stacks. */
#define KEEPER 1
#define OTHER 2

#define BLOCK (64 * MIB)
#define BLOCKS 64
#define HELD (BLOCKS * BLOCK)

static void begin(struct run *run)
{
	feed(run, record_frame(1, "keeper", "/usr/bin/program"));
	feed(run, record_frame(2, "other", "/usr/bin/program"));
	feed(run, record_stack(KEEPER, 1, 1));
	feed(run, record_stack(OTHER, 2, 1));
}

static uint64_t alloc_from(struct run *run, uint32_t stack, uint64_t size)
{
	const uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	feed(run, record_called_from(stack, record_taking(20 * US,
							  record_on(0, record_alloc("cuMemAlloc_v2",
										    addr, size)))));
	return addr;
}

static void run_keeps(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK);
		step(run);
	}
	fail_alloc(run, BLOCK);
}

/* Call stacks were not recorded, and nothing is launched. */
static void run_keeps_idle(struct run *run)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		alloc_new(run, BLOCK);
		wait_for(run, 10 * MS);
	}
	fail_alloc(run, BLOCK);
}

/* What fails is something else; other memory has been there from the beginning. */
static void run_keeps_beside(struct run *run)
{
	begin(run);
	alloc_from(run, OTHER, GIB);
	run_keeps(run);
}

static void load(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK);
		wait_for(run, 3 * MS);
	}
}

/* The blocks go on until the last moment, and what fails is another one. */
static void run_loads_and_asks_for_more(struct run *run)
{
	load(run);
	fail_alloc(run, 8 * BLOCK);
}

static void run_model(struct run *run)
{
	load(run);
	steps(run, 20);
	fail_alloc(run, BLOCK);
}

/* Most at first, and little more afterwards, as a cache does that fills up. */
static void run_levels_off(struct run *run)
{
	int i;

	load(run);
	for (i = 0; i < 10; i++) {
		steps(run, 5);
		alloc_from(run, KEEPER, BLOCK);
	}
	fail_alloc(run, BLOCK);
}

/* Evenly, but not of late. */
static void run_stops(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK);
		step(run);
	}
	steps(run, 30);
	fail_alloc(run, BLOCK);
}

static void run_at_once(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++)
		alloc_from(run, KEEPER, BLOCK);
	fail_alloc(run, BLOCK);
}

/* Few, and large. */
static void run_few(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 7; i++) {
		alloc_from(run, KEEPER, GIB);
		steps(run, 9);
	}
	fail_alloc(run, GIB);
}

/* Layers of a model, each with its own size, or made by its own line. */
static void run_sizes(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK + (uint64_t)i % 4 * MIB);
		step(run);
	}
	fail_alloc(run, BLOCK);
}

static void run_lines(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, i % 2 ? KEEPER : OTHER, BLOCK);
		step(run);
	}
	fail_alloc(run, BLOCK);
}

/* Such blocks come and go, so some of these may have, too. */
static void run_frees(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK);
		free_at(run, alloc_from(run, OTHER, BLOCK));
		step(run);
	}
	fail_alloc(run, BLOCK);
}

/* All of it was there when the recording began, and it asks again and again. */
static void keep_before(struct run *run, int requests, uint64_t size)
{
	int i;

	run->pipeline.from_ns = UINT64_MAX;
	begin(run);
	for (i = 0; i < BLOCKS; i++) {
		alloc_from(run, KEEPER, BLOCK);
		step(run);
	}
	steps(run, 300);
	run->pipeline.from_ns = run->now_ns;
	for (i = 0; i < requests; i++) {
		steps(run, 3);
		fail_alloc(run, size);
	}
}

static void run_kept_before(struct run *run)
{
	keep_before(run, 20, BLOCK);
}

static void run_kept_before_and_asked_once(struct run *run)
{
	keep_before(run, 1, BLOCK);
}

static void run_kept_before_and_asked_for_more(struct run *run)
{
	keep_before(run, 20, 4 * BLOCK);
}

/* The rest of the device is in no account. */
static void run_little_of_all(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuDeviceTotalMem_v2", 0, 40 * GIB)));
	run_keeps(run);
}

static const struct {
	struct program program;
	enum oom_cause cause;
	uint64_t count; /* of the series; 0: there is none */
	bool has_stack, launched;
} programs[] = {
	/* clang-format off */
	{ { "keeps all", run_keeps, { { FINDING_OOM, M, BLOCK } }, 1 }, OOM_STEADY, BLOCKS, true, true },
	{ { "keeps all, no stacks, idle", run_keeps_idle, { { FINDING_OOM, M, BLOCK } }, 1 }, OOM_STEADY, BLOCKS, false, false },
	{ { "keeps all, beside other memory", run_keeps_beside, { { FINDING_OOM, M, BLOCK } }, 1 }, OOM_STEADY, BLOCKS, true, true },
	{ { "loads and asks for more", run_loads_and_asks_for_more, { { FINDING_OOM, L, 8 * BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, false },
	{ { "model", run_model, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, true },
	{ { "levels off", run_levels_off, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, BLOCKS + 10, true, true },
	{ { "stops", run_stops, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, true },
	{ { "at once", run_at_once, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, false },
	{ { "few", run_few, { { FINDING_OOM, L, GIB } }, 1 }, OOM_FULL, 0, false, false },
	{ { "sizes", run_sizes, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, 0, false, false },
	{ { "lines", run_lines, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, 0, false, false },
	{ { "frees", run_frees, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_UNEXPLAINED, BLOCKS, true, true },
	{ { "kept before", run_kept_before, { { FINDING_OOM, M, BLOCK } }, 1 }, OOM_STEADY, BLOCKS, true, true },
	{ { "kept before, and asked once", run_kept_before_and_asked_once, { { FINDING_OOM, L, BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, true },
	{ { "kept before, and asked for more", run_kept_before_and_asked_for_more, { { FINDING_OOM, L, 4 * BLOCK } }, 1 }, OOM_FULL, BLOCKS, true, true },
	{ { "little of the device", run_little_of_all, { { FINDING_OOM, M, BLOCK } }, 1 }, OOM_UNEXPLAINED, BLOCKS, true, true },
	/* clang-format on */
};

static void test_causes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };
		size_t count;

		run_program(&run, &programs[i].program);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, 1);
		assert_string_equal(analysis_oom_cause_name(ooms->cause),
				    analysis_oom_cause_name(programs[i].cause));
		assert_int_equal(ooms->series.live.count, programs[i].count);
		assert_int_equal(ooms->series.stack != 0, programs[i].has_stack);
		assert_int_equal(ooms->series.launched, programs[i].launched);
		run_end(&run);
	}
}

static void test_figures(void **state)
{
	const struct analysis_oom *ooms;
	struct run run = { 0 };
	size_t count, part;

	(void)state;
	assert_true(run_begin(&run));
	run_keeps_beside(&run);
	finish(&run);
	ooms = analysis_ooms(run.analysis, &count);
	assert_int_equal(count, 1);
	assert_int_equal(ooms->own.bytes, HELD + GIB);
	assert_int_equal(ooms->series.live.bytes, HELD);
	assert_int_equal(ooms->series.block_bytes, BLOCK);
	assert_int_equal(ooms->series.frees, 0);
	/* Behind the call before it, and its own. */
	assert_int_equal(ooms->series.first_ns, 100 * SECOND + 40 * US);
	assert_int_equal(ooms->series.last_ns, ooms->newest[0].allocation.ts_ns);
	for (part = 0; part < OOM_SERIES_PARTS; part++)
		assert_int_equal(ooms->series.made[part], BLOCKS / OOM_SERIES_PARTS);
	run_end(&run);
}

/* What is given back then, and is enough, was an allocator's. */
static void test_recovery(void **state)
{
	static const enum oom_cause causes[] = { OOM_STEADY, OOM_CACHED };
	size_t granted, i, count;

	(void)state;
	for (granted = 0; granted < 2; granted++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };

		assert_true(run_begin(&run));
		run_keeps(&run);
		for (i = 0; i < 4; i++)
			free_at(&run, DEVICE_ADDR + i * (BLOCK + MIB));
		if (granted)
			alloc_from(&run, KEEPER, BLOCK);
		finish(&run);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, 1);
		assert_string_equal(analysis_oom_cause_name(ooms->cause),
				    analysis_oom_cause_name(causes[granted]));
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_recovery),
	};

	return unit_run("analysis: growth until memory runs out", tests);
}
