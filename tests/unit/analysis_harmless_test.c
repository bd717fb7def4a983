// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that only look as if they leaked: there must be nothing to find, but for notes.
 */
#include "analysed.h"

static void run_empty(struct run *run)
{
	(void)run;
}

static void run_nothing_but_a_process(struct run *run)
{
	feed(run, record_attach_running());
	wait_for(run, MINUTE);
	end_process(run, 0);
}

static void run_balanced(struct run *run)
{
	int i;

	set_up(run);
	for (i = 0; i < 2000; i++) {
		uint64_t scratch = alloc_new(run, 3 * MIB), other = alloc_new(run, 5 * MIB);

		step(run);
		free_at(run, scratch);
		free_at(run, other);
	}
}

static void run_init_only(struct run *run)
{
	set_up(run);
	steps(run, 2000);
	end_process(run, 0);
}

/* Nothing but setting up: that this is all that was seen does not make it a leak. */
static void run_init_at_the_end(struct run *run)
{
	steps(run, 2000);
	set_up(run);
	steps(run, 10);
}

/* Most of what is freed stays with the program, for the next time. */
static void run_caching(struct run *run)
{
	int i;

	for (i = 0; i < 4000; i++) {
		/* Ever less often something does not fit into what is there. */
		if (i < 40 ? i % 4 == 0 : i == 100 || i == 350 || i == 1200)
			alloc_new(run, 20 * MIB);
		step(run);
	}
	end_process(run, 0);
}

/* Large blocks for as many parts of the work, the last of which goes on. */
static void run_few_parts(struct run *run)
{
	int i;

	set_up(run);
	for (i = 0; i < 5; i++) {
		steps(run, 500);
		alloc_new(run, 256 * MIB);
	}
	steps(run, 1500);
	end_process(run, 0);
}

/* The same, when they are needed. */
static void run_few_when_needed(struct run *run)
{
	static const int pauses[] = { 200, 900, 300, 1100, 700 };
	int i;

	set_up(run);
	for (i = 0; i < 5; i++) {
		alloc_new(run, 256 * MIB);
		steps(run, pauses[i]);
	}
	end_process(run, 0);
}

/* It gives back what it has, once, and starts again. */
static void run_caching_emptied(struct run *run)
{
	uint64_t segments[20];
	int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 20; i++) {
			segments[i] = alloc_new(run, 20 * MIB);
			steps(run, 10);
		}
		steps(run, 1000);
		for (i = 0; i < 20 && !round; i++)
			free_at(run, segments[i]);
	}
	end_process(run, 0);
}

static void run_fluctuating(struct run *run)
{
	uint64_t live[64] = { 0 }, random = 7;
	int i;

	for (i = 0; i < 6000; i++) {
		uint64_t *place;

		random = unit_random(random);
		place = &live[random % 64];
		if (*place)
			free_at(run, *place);
		random = unit_random(random);
		*place = random % 3 ? alloc_new(run, 1 * MIB + random % MIB) : 0;
		if (i % 4 == 0)
			step(run);
	}
}

static void run_sawtooth(struct run *run)
{
	uint64_t batch[100];
	int i, j;

	for (i = 0; i < 7; i++) {
		for (j = 0; j < 100; j++) {
			batch[j] = alloc_new(run, MIB);
			steps(run, 2);
		}
		for (j = 0; j < 100; j++)
			free_at(run, batch[j]);
	}
	for (j = 0; j < 60; j++) {
		alloc_new(run, MIB);
		steps(run, 2);
	}
}

/* Old ones make way for new ones: none is kept for ever, and their number stays. */
static void run_replacing(struct run *run)
{
	uint64_t live[256], random = 3;
	int i;

	for (i = 0; i < 256; i++)
		live[i] = alloc_new(run, MIB);
	for (i = 0; i < 512; i++) {
		random = unit_random(random);
		free_at(run, live[random % 256]);
		live[random % 256] = alloc_new(run, MIB);
		steps(run, 2);
	}
}

/* A cache that fills up, and then old ones make way for new ones. */
static void run_filling_then_replacing(struct run *run)
{
	uint64_t live[256], random = 3;
	int i;

	for (i = 0; i < 256; i++) {
		live[i] = alloc_new(run, MIB);
		steps(run, 4);
	}
	for (i = 0; i < 512; i++) {
		random = unit_random(random);
		free_at(run, live[random % 256]);
		live[random % 256] = alloc_new(run, MIB);
		steps(run, 2);
	}
}

/* Much of it is given back in the middle: it grows again, but not to more than there was. */
static void run_shrinking(struct run *run)
{
	int i;

	for (i = 0; i < 600; i++) {
		alloc_at(run, DEVICE_ADDR + i * MIB, MIB);
		steps(run, 2);
	}
	for (i = 0; i < 600; i++)
		if (i % 10)
			free_at(run, DEVICE_ADDR + i * MIB);
	for (i = 0; i < 150; i++) {
		alloc_at(run, DEVICE_ADDR + GIB + i * MIB, MIB);
		steps(run, 8);
	}
}

/* Four times in all. */
static void run_now_and_then(struct run *run)
{
	int i, j;

	for (i = 0; i < 1000; i++) {
		for (j = 0; j < 4 && (i == 50 || i == 350 || i == 600 || i == 800); j++)
			alloc_new(run, 8 * MIB);
		steps(run, 2);
	}
}

/* Another model, when the recording ends. */
static void run_loading_at_the_end(struct run *run)
{
	int i;

	steps(run, 3000);
	for (i = 0; i < 60; i++) {
		alloc_new(run, 8 * MIB);
		steps(run, 12);
	}
}

/* All freed once, and then growing as it did before. */
static void run_two_teeth(struct run *run)
{
	int tooth, i;

	for (tooth = 0; tooth < 2; tooth++) {
		for (i = 0; i < 300; i++) {
			alloc_at(run, DEVICE_ADDR + i * MIB, MIB);
			steps(run, 3);
		}
		for (i = 0; i < 300 && !tooth; i++)
			free_at(run, DEVICE_ADDR + i * MIB);
	}
}

static void run_all_in_context(struct run *run)
{
	int i;

	feed(run, record_context("cuCtxCreate_v2", 0xc000, 0));
	for (i = 0; i < 20; i++)
		feed(run, record_in(0xc000,
				    record_alloc("cuMemAlloc_v2", DEVICE_ADDR + i * 2 * MIB, MIB)));
	steps(run, 1000);
	feed(run, record_context("cuCtxDestroy_v2", 0xc000, 0));
	end_process(run, 0);
}

/* So little that it does not matter. */
static void run_small_growth(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		alloc_new(run, 256);
		step(run);
	}
}

static void run_freed_late(struct run *run)
{
	uint64_t blocks[600];
	int i;

	for (i = 0; i < 600; i++) {
		blocks[i] = alloc_new(run, MIB);
		steps(run, 2);
	}
	for (i = 0; i < 600; i++)
		free_at(run, blocks[i]);
	steps(run, 50);
}

/* Nobody saw any of them end. */
static void run_reused_pid_without_exits(struct run *run)
{
	int round;

	for (round = 0; round < 8; round++) {
		set_up(run);
		steps(run, 200);
		run->start_ns += 100 * MS_START_NS;
	}
}

/* Memory without an address ends with its last mapping, unsaid. */
static void run_mapped(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		uint64_t handle = 0x100 + i, addr = DEVICE_ADDR;

		feed(run, record_alloc("cuMemCreate", handle, 2 * MIB));
		feed(run, record_map(addr, 2 * MIB, handle));
		feed(run, record_begin_of("cuMemRelease", handle, 0));
		feed(run, record_free("cuMemRelease", handle));
		step(run);
		feed(run, record_begin_of("cuMemUnmap", addr, 2 * MIB));
		feed(run, record_unmap(addr, 2 * MIB));
	}
	end_process(run, 0);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "empty", run_empty, {}, 0 },
	{ "nothing but a process", run_nothing_but_a_process, {}, 0 },
	{ "balanced", run_balanced, {}, 0 },
	{ "init only", run_init_only, {}, 0 },
	{ "init at the end", run_init_at_the_end, {}, 0 },
	{ "caching", run_caching, {}, 0 },
	{ "few parts", run_few_parts, {}, 0 },
	{ "few when needed", run_few_when_needed, {}, 0 },
	{ "caching, emptied once", run_caching_emptied, {}, 0 },
	{ "fluctuating", run_fluctuating, {}, 0 },
	{ "sawtooth", run_sawtooth, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "replacing", run_replacing, {}, 0 },
	{ "filling, then replacing", run_filling_then_replacing, {}, 0 },
	{ "shrinking", run_shrinking, {}, 0 },
	{ "now and then", run_now_and_then, {}, 0 },
	{ "loading at the end", run_loading_at_the_end, {}, 0 },
	{ "two teeth", run_two_teeth, { { FINDING_SAWTOOTH, H, 0 } }, 1 },
	{ "reused pid, no exits", run_reused_pid_without_exits, {}, 0 },
	{ "small growth", run_small_growth, {}, 0 },
	{ "freed late", run_freed_late, {}, 0 },
	{ "mapped", run_mapped, {}, 0 },
	{ "all in a context", run_all_in_context, {}, 0 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

/* What was freed while nothing was recorded has not leaked. */
static void test_what_a_gap_hides(void **state)
{
	struct run run = { 0 };
	uint64_t blocks[500];
	int i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < 500; i++) {
		blocks[i] = alloc_new(&run, MIB);
		steps(&run, 3);
	}
	run.pipeline.sinks_count = 0;
	for (i = 0; i < 500; i++)
		free_at(&run, blocks[i]);
	run.pipeline.sinks_count = 1;
	analysis_gap(run.analysis);
	steps(&run, 10);
	expect_none(&run);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_what_a_gap_hides),
	};

	return unit_run("analysis: no leaks", tests);
}
