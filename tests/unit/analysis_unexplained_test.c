// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices that fill up, as programs are told, and what of it their allocations explain. Each with
 * the findings that it must have, and no others.
 */
#include "analysed.h"

/* ---- unexplained ----------------------------------------------------------------------------- */

static void creep(struct run *run, uint64_t per_step)
{
	int i;

	alloc_new(run, GIB);
	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - i * per_step, 8 * GIB);
		steps(run, 5);
	}
}

static void run_unexplained(struct run *run)
{
	creep(run, 2 * MIB);
}

static void run_unexplained_little(struct run *run)
{
	creep(run, 128 * KIB);
}

/* Libraries and modules are loaded, and that is it. */
static void run_unexplained_at_first(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - (i < 60 ? i : 60) * 5 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* What it warms up with, and then next to nothing. */
static void run_unexplained_ever_less(struct run *run)
{
	uint64_t free_bytes = 6 * GIB;
	int i;

	for (i = 0; i < 200; i++) {
		free_bytes -= i < 100 ? 2 * MIB : 100 * KIB;
		told(run, free_bytes, 8 * GIB);
		steps(run, 5);
	}
}

/* It goes up and down with what others do. */
static void run_unexplained_swinging(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		told(run, 6 * GIB - i % 50 * 5 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* As much as it allocates. */
static void run_explained(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		alloc_new(run, 2 * MIB);
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* What was freed into a pool stays with it. */
static void run_explained_by_pool(struct run *run)
{
	uint64_t addr = DEVICE_ADDR + 100 * GIB;
	int i;

	for (i = 0; i < 200; i++) {
		feed(run, record_on(0, record_alloc("cuMemAllocAsync", addr, (100 + 2 * i) * MIB)));
		feed(run, record_begin_of("cuMemFreeAsync", addr, 0));
		feed(run, record_free("cuMemFreeAsync", addr));
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* It may have moved to the device. */
static void run_explained_by_managed(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuMemAllocManaged", DEVICE_ADDR + 100 * GIB, GIB)));
	creep(run, 2 * MIB);
}

/* All but so little of it that it is not worth a word. */
static void run_explained_by_managed_but_little(struct run *run)
{
	feed(run,
	     record_on(0, record_alloc("cuMemAllocManaged", DEVICE_ADDR + 100 * GIB, 350 * MIB)));
	creep(run, 2 * MIB);
}

static void begin_other(struct run *run)
{
	as_process(run, 77);
	feed(run, record_context("cuCtxCreate_v2", 0xd000, 0));
	alloc_on(run, 0, 64 * MIB);
	as_process(run, RECORD_PID);
}

/* Another process is there, and allocates nothing more. */
static void run_unexplained_in_company(struct run *run)
{
	begin_other(run);
	creep(run, 2 * MIB);
}

/* The other one allocates it. */
static void run_explained_by_other(struct run *run)
{
	int i;

	begin_other(run);
	for (i = 0; i < 200; i++) {
		as_process(run, 77);
		alloc_on(run, 0, 2 * MIB);
		launch(run);
		as_process(run, RECORD_PID);
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* ---- by NVML --------------------------------------------------------------------------------- */

static void held(struct run *run, uint64_t bytes)
{
	feed(run, record_held("GPU-a", bytes));
}

static void run_held(struct run *run)
{
	int i;

	alloc_new(run, GIB);
	for (i = 0; i < 200; i++) {
		held(run, GIB + 500 * MIB + i * 2 * MIB);
		steps(run, 5);
	}
}

/* With objects of the driver, all else has been explained. */
static void run_held_with_objects(struct run *run)
{
	feed(run, record_object(1, 500 * MIB));
	feed(run, record_object(2, GIB));
	run_held(run);
}

static void run_held_little(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		held(run, GIB + i * 128 * KIB);
		steps(run, 5);
	}
}

/* Modules are loaded, and that is it. */
static void run_held_at_first(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		held(run, GIB + (i < 60 ? i : 60) * 5 * MIB);
		steps(run, 5);
	}
}

/* A pool keeps what has been freed into it. */
static void run_held_by_pool(struct run *run)
{
	uint64_t addr = DEVICE_ADDR + 100 * GIB;
	int i;

	for (i = 0; i < 200; i++) {
		feed(run, record_on(0, record_alloc("cuMemAllocAsync", addr, (100 + 2 * i) * MIB)));
		feed(run, record_begin_of("cuMemFreeAsync", addr, 0));
		feed(run, record_free("cuMemFreeAsync", addr));
		held(run, GIB + i * 2 * MIB);
		steps(run, 5);
	}
}

/* What a sample has of the first device alone is no rise or fall. */
static void run_held_on_two_devices(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		held(run, GIB + (i % 2) * 500 * MIB);
		feed(run, record_held("GPU-b", GIB - (i % 2) * 500 * MIB));
		steps(run, 5);
	}
}

static void run_held_more_on_two_devices(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		held(run, GIB + i * MIB);
		feed(run, record_held("GPU-b", GIB + i * MIB));
		steps(run, 5);
	}
}

/* The driver takes what it is asked for, and NVML says so. */
static void run_held_explained(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		feed(run, record_object(100 + i, 2 * MIB));
		held(run, i * 2 * MIB);
		steps(run, 5);
	}
}

/* Told by the program's own questions, too: it is one finding, that of the process alone. */
static void run_held_and_told(struct run *run)
{
	int i;

	for (i = 0; i < 200; i++) {
		held(run, GIB + i * 2 * MIB);
		told(run, 6 * GIB - i * 2 * MIB, 8 * GIB);
		steps(run, 5);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct program programs[] = {
	/* clang-format off */
	{ "unexplained", run_unexplained, { { FINDING_UNEXPLAINED_GROWTH, M, 0 } }, 1 },
	{ "unexplained, little", run_unexplained_little, {}, 0 },
	{ "unexplained at first", run_unexplained_at_first, {}, 0 },
	{ "unexplained, ever less", run_unexplained_ever_less, {}, 0 },
	{ "unexplained, swinging", run_unexplained_swinging, {}, 0 },
	{ "explained", run_explained, { { FINDING_LEAK_GROWTH, H, 400 * MIB } }, 1 },
	{ "explained by a pool", run_explained_by_pool, {}, 0 },
	{ "explained by managed memory", run_explained_by_managed, {}, 0 },
	{ "explained by managed memory but for little", run_explained_by_managed_but_little, {}, 0 },
	{ "unexplained, in company", run_unexplained_in_company, { { FINDING_UNEXPLAINED_GROWTH, L, 0 } }, 1 },
	{ "explained by another", run_explained_by_other, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "held", run_held, { { FINDING_UNEXPLAINED_GROWTH, M, 0 } }, 1 },
	{ "held, beside objects", run_held_with_objects, { { FINDING_UNEXPLAINED_GROWTH, H, 0 } }, 1 },
	{ "held, little", run_held_little, {}, 0 },
	{ "held at first", run_held_at_first, {}, 0 },
	{ "held by a pool", run_held_by_pool, {}, 0 },
	{ "held on two devices", run_held_on_two_devices, {}, 0 },
	{ "held, more on two devices", run_held_more_on_two_devices, { { FINDING_UNEXPLAINED_GROWTH, M, 0 } }, 1 },
	{ "held, and explained", run_held_explained, {}, 0 },
	{ "held and told", run_held_and_told, { { FINDING_UNEXPLAINED_GROWTH, M, 0 } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static void test_device(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_int_equal(only_finding(&run, run_unexplained).device, 0);
	run_end(&run);
	run = (struct run){ 0 };
	assert_int_equal(only_finding(&run, run_held).device, -1);
	run_end(&run);
}

static void assert_says(void (*program)(struct run *run), const char *wanted)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, program);

	assert_string_equal(finding_says(&finding), wanted);
	run_end(&run);
}

/* NVML's number is the process's own. */
static void test_says(void **state)
{
	(void)state;
	assert_says(run_unexplained, "runs beside %B more in use that no allocation explains");
	assert_says(run_held, "holds %B more, by NVML, that nothing explains");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_says),
	};

	return unit_run("analysis: unexplained growth", tests);
}
