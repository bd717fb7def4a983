// SPDX-License-Identifier: BSD-2-Clause
/*
 * How programs' memory grows: by blocks of any sizes, until they end, on one device of several.
 * Each with the findings that it must have, and no others.
 */
#include "analysed.h"

#define MANY 600

/* ---- freed when the program ends ------------------------------------------------------------- */

static void serve(struct run *run, uint64_t blocks[MANY])
{
	int i;

	for (i = 0; i < MANY; i++) {
		blocks[i] = alloc_new(run, MIB);
		steps(run, 3);
	}
}

static void run_freed_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	end_process(run, 0);
}

/* What it set up stays, and no finding of its own is about that. */
static void run_freed_but_for_set_up(struct run *run)
{
	set_up(run);
	run_freed_at_shutdown(run);
}

/* Its end was not seen. */
static void run_freed_as_the_recording_ends(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
}

/* It waits, and saves what it has, before it frees each. */
static void run_saved_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	serve(run, blocks);
	for (i = 0; i < MANY; i++) {
		copy_up(run, blocks[i], HOST_ADDR, KIB, 10 * US);
		synchronise(run, 10 * US);
		free_at(run, blocks[i]);
	}
	end_process(run, 0);
}

/* Another thread finishes what it is at. */
static void run_finished_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY / 2);
	launch(run);
	launch(run);
	free_all(run, blocks + MANY / 2, MANY / 2);
	launch(run);
	end_process(run, 0);
}

static void run_freed_and_went_on(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	steps(run, 30);
	end_process(run, 0);
}

/* It has nothing to do any more, but that it ends is not to be seen. */
static void run_freed_and_waited(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	free_all(run, blocks, MANY);
	wait_for(run, MINUTE);
}

/* Its interpreter takes long to exit. */
static void run_exits_late(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	wait_for(run, 15 * SECOND);
	end_process(run, 0);
}

/* Nothing of what it does meanwhile is work. */
static void run_exits_late_after_frees(struct run *run)
{
	uint64_t blocks[MANY], other = alloc_new(run, 3 * MIB);

	serve(run, blocks);
	wait_for(run, 7 * SECOND);
	synchronise(run, 4 * MS);
	free_at(run, other);
	wait_for(run, 7 * SECOND);
	end_process(run, 0);
}

static void run_freed_late_at_shutdown(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	wait_for(run, 15 * SECOND);
	free_all(run, blocks, MANY);
	wait_for(run, 7 * SECOND);
	end_process(run, 0);
}

/* It may have work again: what it holds has stayed as it is. */
static void run_waits(struct run *run)
{
	uint64_t blocks[MANY];

	serve(run, blocks);
	wait_for(run, 15 * SECOND);
}

/* It grew for the smaller part of its time. */
static void run_waits_and_ends(struct run *run)
{
	int i;

	for (i = 0; i < MANY / 2; i++) {
		alloc_new(run, MIB);
		steps(run, 3);
	}
	wait_for(run, 55 * SECOND);
	end_process(run, 0);
}

static void serve_summed(struct run *run, uint64_t blocks[MANY])
{
	int i;

	for (i = 0; i < MANY; i++) {
		blocks[i] = alloc_new(run, MIB);
		wait_for(run, 30 * MS);
		if (i % 33 == 0)
			feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	}
}

/* What was launched before is only told afterwards. */
static void run_freed_at_shutdown_summed(struct run *run)
{
	uint64_t blocks[MANY];

	serve_summed(run, blocks);
	free_all(run, blocks, MANY);
	feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	end_process(run, 0);
}

static void run_freed_and_went_on_summed(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	serve_summed(run, blocks);
	free_all(run, blocks, MANY);
	for (i = 0; i < 3; i++) {
		wait_for(run, 300 * MS);
		feed(run, record_launches("cuLaunchKernel", 0x1234, 500));
	}
	end_process(run, 0);
}

static void run_ended_with_context(struct run *run)
{
	int i;

	feed(run, record_context("cuCtxCreate_v2", 0xc000, 0));
	for (i = 0; i < MANY; i++) {
		alloc_in(run, 0xc000, MIB);
		steps(run, 3);
	}
	destroy_context(run, 0xc000);
	end_process(run, 0);
}

/* ---- of many sizes --------------------------------------------------------------------------- */

#define CREEP_SUM 1348930560ull

/* Each a third larger than the last, and that is kept. */
static void run_geometric(struct run *run)
{
	uint64_t size = 256 * KIB;
	int i;

	for (i = 0; i < 28; i++) {
		alloc_new(run, size);
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
	end_process(run, 9);
}

static void run_geometric_freed_at_shutdown(struct run *run)
{
	uint64_t size = 256 * KIB, blocks[28];
	int i;

	for (i = 0; i < 28; i++) {
		blocks[i] = alloc_new(run, size);
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
	free_all(run, blocks, 28);
	end_process(run, 0);
}

/* It makes a larger one, and lets go of the last. */
static void run_geometric_replaced(struct run *run)
{
	uint64_t size = 256 * KIB, last = 0;
	int i;

	for (i = 0; i < 28; i++) {
		uint64_t next = alloc_new(run, size);

		if (last)
			free_at(run, last);
		last = next;
		steps(run, 60);
		size += size * 3 / 10 / 512 * 512;
	}
}

/* A cache that grows with every request, as a whole. */
static void run_rising(struct run *run)
{
	int i;

	set_up(run);
	for (i = 0; i < 54; i++) {
		alloc_new(run, (i + 16) * MIB);
		steps(run, 30);
	}
}

static void run_mixed(struct run *run)
{
	static const uint64_t sizes[] = { MIB, 300 * KIB, 7 * MIB, 20 * KIB, 3 * MIB };
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_new(run, sizes[i * 7 % 5]);
		steps(run, 2);
	}
}

static void run_two_classes(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_new(run, i % 2 ? 3 * MIB / 2 : 3 * MIB);
		steps(run, 3);
	}
}

/* The same function allocates what comes and goes, of other sizes and of the same. */
static void run_mixed_among_others(struct run *run)
{
	uint64_t live[8] = { 0 }, random = 5;
	int i;

	alloc_new(run, 900 * MIB);
	for (i = 0; i < 2000; i++) {
		random = unit_random(random);
		if (live[random % 8])
			free_at(run, live[random % 8]);
		live[random % 8] = alloc_new(run, 2 * MIB + random % (30 * MIB));
		step(run);
		if (i % 10 == 9)
			alloc_new(run, i % 20 == 9 ? MIB : 600 * KIB);
	}
}

/* A cache whose pieces become larger, begun long after the rest, which comes and goes all along. */
static void run_rising_late(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		uint64_t scratch = alloc_new(run, i % 2 ? 2 * MIB : 400 * KIB);

		if (i >= 900 && i % 20 == 0)
			alloc_new(run, (8 + i / 20) * MIB);
		step(run);
		free_at(run, scratch);
	}
}

/* One size after the other, but none for good. */
static void run_moving(struct run *run)
{
	uint64_t blocks[8] = { 0 };
	int i, j;

	for (i = 0; i < 16; i++) {
		for (j = 0; j < 8; j++) {
			if (blocks[j])
				free_at(run, blocks[j]);
			blocks[j] = alloc_new(run, (16 << i * 3 % 5) * MIB);
			steps(run, 10);
		}
	}
}

/* Each block that it has makes way for a smaller one. */
static void run_replaced_by_smaller(struct run *run)
{
	uint64_t blocks[300];
	int i;

	for (i = 0; i < 300; i++)
		blocks[i] = alloc_new(run, 6 * MIB);
	for (i = 0; i < 300; i++) {
		free_at(run, blocks[i]);
		alloc_new(run, 3 * MIB);
		steps(run, 5);
	}
}

/* Half of each size is forgotten at the end. */
static void run_exit_leak_of_two_classes(struct run *run)
{
	uint64_t blocks[24], buffers[32];
	int i;

	for (i = 0; i < 24; i++)
		blocks[i] = alloc_new(run, 8 * MIB);
	steps(run, 1000);
	for (i = 0; i < 32; i++)
		buffers[i] = alloc_new(run, i % 2 ? 2 * MIB : 600 * KIB);
	steps(run, 1000);
	free_all(run, blocks, 24);
	free_all(run, buffers + 4, 28);
	end_process(run, 0);
}

/* ---- by device ------------------------------------------------------------------------------- */

static void run_one_device_leaks(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		uint64_t scratch = alloc_on(run, 0, 4 * MIB);

		alloc_on(run, 1, 4 * MIB);
		steps(run, 3);
		free_at(run, scratch);
	}
}

static void run_both_devices_leak(struct run *run)
{
	int i;

	for (i = 0; i < MANY; i++) {
		alloc_on(run, 0, 2 * MIB);
		alloc_on(run, 1, 4 * MIB);
		steps(run, 3);
	}
}

/* Launches are of libraries that are not traced, but it does work. */
static void run_no_launches(struct run *run)
{
	int i;

	for (i = 0; i < 2000; i++) {
		uint64_t scratch = alloc_new(run, 3 * MIB);

		alloc_new(run, 64 * KIB);
		wait_for(run, 10 * MS);
		free_at(run, scratch);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

/* ---- a part of the time ---------------------------------------------------------------------- */

/* What comes until then is none of the account's. */
static void before_window(struct run *run)
{
	run->pipeline.from_ns = UINT64_MAX;
}

static void begin_window(struct run *run)
{
	run->pipeline.from_ns = run->now_ns;
}

static void run_grows_before_and_in_window(struct run *run)
{
	uint64_t blocks[MANY];

	before_window(run);
	serve(run, blocks);
	begin_window(run);
	serve(run, blocks);
}

static void run_grows_before_window(struct run *run)
{
	uint64_t blocks[MANY];

	before_window(run);
	serve(run, blocks);
	begin_window(run);
	steps(run, 3 * MANY);
}

/* What was there before the window is freed in it, as the rest is made. */
static void run_replaced_in_window(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	before_window(run);
	serve(run, blocks);
	begin_window(run);
	for (i = 0; i < MANY; i++) {
		alloc_new(run, MIB);
		free_at(run, blocks[i]);
		steps(run, 3);
	}
}

/* It is known to work by what comes and goes in the window, which is little beside the past. */
static void run_works_in_window(struct run *run)
{
	uint64_t blocks[MANY];
	int i;

	before_window(run);
	serve(run, blocks);
	begin_window(run);
	for (i = 0; i < 100; i++) {
		alloc_new(run, MIB);
		wait_for(run, 50 * MS);
		free_at(run, alloc_new(run, 64 * MIB));
		wait_for(run, 50 * MS);
	}
}

static const struct program programs[] = {
	/* clang-format off */
	{ "freed at shutdown", run_freed_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed but for what was set up", run_freed_but_for_set_up, { { FINDING_LEAK_GROWTH, M, MANY * MIB }, { FINDING_KEPT_TO_END, H, 192 * MIB } }, 2 },
	{ "freed as the recording ends", run_freed_as_the_recording_ends, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "saved at shutdown", run_saved_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "finished at shutdown", run_finished_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed and went on", run_freed_and_went_on, {}, 0 },
	{ "freed and waited", run_freed_and_waited, {}, 0 },
	{ "exits late", run_exits_late, { { FINDING_LEAK_GROWTH, H, MANY * MIB } }, 1 },
	{ "exits late after frees", run_exits_late_after_frees, { { FINDING_LEAK_GROWTH, H, MANY * MIB } }, 1 },
	{ "freed late at shutdown", run_freed_late_at_shutdown, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "waits", run_waits, {}, 0 },
	{ "waits and ends", run_waits_and_ends, {}, 0 },
	{ "freed at shutdown, summed", run_freed_at_shutdown_summed, { { FINDING_LEAK_GROWTH, M, MANY * MIB } }, 1 },
	{ "freed and went on, summed", run_freed_and_went_on_summed, {}, 0 },
	{ "ended with its context", run_ended_with_context, { { FINDING_LEAK_GROWTH, H, MANY * MIB } }, 1 },
	{ "geometric", run_geometric, { { FINDING_LEAK_GROWTH, H, CREEP_SUM } }, 1 },
	{ "geometric, freed at shutdown", run_geometric_freed_at_shutdown, { { FINDING_LEAK_GROWTH, M, CREEP_SUM } }, 1 },
	{ "geometric, replaced", run_geometric_replaced, {}, 0 },
	{ "rising", run_rising, { { FINDING_LEAK_GROWTH, H, (54 * 16 + 53 * 54 / 2) * MIB } }, 1 },
	{ "mixed", run_mixed, { { FINDING_LEAK_GROWTH, H, MANY / 5 * (11 * MIB + 320 * KIB) } }, 1 },
	{ "two classes", run_two_classes, { { FINDING_LEAK_GROWTH, H, MANY / 2 * (4 * MIB + 512 * KIB) } }, 1 },
	{ "mixed among others", run_mixed_among_others, { { FINDING_LEAK_GROWTH, H, 100 * (MIB + 600 * KIB) } }, 1 },
	{ "rising, late", run_rising_late, { { FINDING_LEAK_GROWTH, H, (55 * 8 + 55 * (45 + 99) / 2) * MIB } }, 1 },
	{ "moving", run_moving, {}, 0 },
	{ "replaced by smaller ones", run_replaced_by_smaller, {}, 0 },
	{ "two classes at exit", run_exit_leak_of_two_classes, { { FINDING_LEAK_AT_EXIT, H, 2 * (2 * MIB + 600 * KIB) } }, 1 },
	{ "one device leaks", run_one_device_leaks, { { FINDING_LEAK_GROWTH, H, MANY * 4 * MIB } }, 1 },
	{ "both devices leak", run_both_devices_leak, { { FINDING_LEAK_GROWTH, H, MANY * 4 * MIB }, { FINDING_LEAK_GROWTH, H, MANY * 2 * MIB } }, 2 },
	{ "grows before a window and in it", run_grows_before_and_in_window, { { FINDING_LEAK_GROWTH, H, MANY * MIB } }, 1 },
	{ "grows before a window", run_grows_before_window, {}, 0 },
	{ "replaced in a window", run_replaced_in_window, {}, 0 },
	{ "works in a window", run_works_in_window, { { FINDING_LEAK_GROWTH, M, 100 * MIB } }, 1 },
	{ "no launches", run_no_launches, { { FINDING_LEAK_GROWTH, M, 2000 * 64 * KIB } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

/* ---- what findings say ----------------------------------------------------------------------- */

static void test_patterns(void **state)
{
	(void)state;
	expect_pattern(run_geometric, "geometric");
	expect_pattern(run_rising, "rising");
	expect_pattern(run_mixed, "mixed sizes");
	expect_pattern(run_freed_at_shutdown, "all of one size");
}

static void expect_device(void (*program)(struct run *run), int32_t device, bool freed)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, program);

	assert_int_equal(finding.device, device);
	assert_int_equal(finding.freed, freed);
	run_end(&run);
}

static void test_devices(void **state)
{
	(void)state;
	expect_device(run_one_device_leaks, 1, false);
	expect_device(run_freed_at_shutdown, 0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_devices),
	};

	return unit_run("analysis: growth", tests);
}
