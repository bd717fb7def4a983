// SPDX-License-Identifier: BSD-2-Clause
/* Pools that keep memory to no purpose, and those that do so for a good reason. */
#include "analysed.h"

#define POOL 0x6000000ull
#define THRESHOLD 4
#define RESERVED 5

static void pool_alloc(struct run *run, uint64_t addr, uint64_t size)
{
	feed(run, record_on(0, record_alloc("cuMemAllocAsync", addr, size)));
}

static void pool_free(struct run *run, uint64_t addr)
{
	feed(run, record_begin_of("cuMemFreeAsync", addr, 0));
	feed(run, record_free("cuMemFreeAsync", addr));
}

static void pool_call(struct run *run, const char *symbol, uint64_t attribute, uint64_t value)
{
	union record record = record_memory(symbol, POOL, attribute);

	record.call.size = value;
	record.call.known |= MS_KNOWN_SIZE;
	feed(run, record_on(0, record));
}

static void set_threshold(struct run *run, uint64_t bytes)
{
	pool_call(run, "cuMemPoolSetAttribute", THRESHOLD, bytes);
}

static void told_reserved(struct run *run, uint64_t bytes)
{
	pool_call(run, "cuMemPoolGetAttribute", RESERVED, bytes);
}

static void trim(struct run *run, uint64_t bytes)
{
	union record record = record_alloc("cuMemPoolTrimTo", POOL, bytes);

	feed(run, record_on(0, record));
}

/* 16 blocks of 64 MiB: 1 GiB. */
static void fill_and_empty(struct run *run)
{
	int i;

	for (i = 0; i < 16; i++)
		pool_alloc(run, DEVICE_ADDR + i * 64 * MIB, 64 * MIB);
	wait_for(run, 100 * MS);
	for (i = 0; i < 16; i++)
		pool_free(run, DEVICE_ADDR + i * 64 * MIB);
}

static void run_pool_told(struct run *run)
{
	fill_and_empty(run);
	told_reserved(run, GIB);
	wait_for(run, SECOND);
	told_reserved(run, GIB);
}

static void run_pool_told_early(struct run *run)
{
	pool_alloc(run, DEVICE_ADDR, 64 * MIB);
	told_reserved(run, GIB);
	pool_free(run, DEVICE_ADDR);
	wait_for(run, 2 * SECOND);
}

static void run_pool_threshold(struct run *run)
{
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

/* Its device is not known yet. */
static void run_pool_threshold_first(struct run *run)
{
	union record record = record_memory("cuMemPoolSetAttribute", POOL, THRESHOLD);

	record.call.size = UINT64_MAX;
	record.call.known |= MS_KNOWN_SIZE;
	feed(run, record);
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

static void run_pool_low_threshold(struct run *run)
{
	set_threshold(run, 256 * MIB);
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

static void run_pool_gone(struct run *run)
{
	told(run, 7 * GIB, 8 * GIB);
	fill_and_empty(run);
	wait_for(run, SECOND);
	told(run, 6 * GIB, 8 * GIB);
	wait_for(run, SECOND);
	told(run, 6 * GIB, 8 * GIB);
}

/* Without a threshold it has given everything back. */
static void run_pool_plain(struct run *run)
{
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

/* And so it is told. */
static void run_pool_empty(struct run *run)
{
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	told_reserved(run, 0);
	wait_for(run, 2 * SECOND);
}

static void run_pool_trimmed(struct run *run)
{
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	trim(run, 0);
	wait_for(run, 2 * SECOND);
}

static void run_pool_back(struct run *run)
{
	told(run, 7 * GIB, 8 * GIB);
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	told(run, 7 * GIB, 8 * GIB);
	wait_for(run, 2 * SECOND);
}

/* Freed and taken again, step by step: that is what a pool is for. */
static void run_pool_used_again(struct run *run)
{
	int i;

	set_threshold(run, UINT64_MAX);
	for (i = 0; i < 20; i++) {
		fill_and_empty(run);
		wait_for(run, 50 * MS);
	}
}

static uint64_t rest_ns; /* that it then does nothing */

/* A little of it is used all the time, much of it never again. */
static void run_pool_little_use(struct run *run)
{
	int i;

	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	for (i = 0; i < 100; i++) {
		pool_alloc(run, DEVICE_ADDR, 64 * MIB);
		wait_for(run, 20 * MS);
		pool_free(run, DEVICE_ADDR);
		wait_for(run, 20 * MS);
	}
	wait_for(run, rest_ns);
}

static void run_pool_at_shutdown(struct run *run)
{
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	wait_for(run, 100 * MS);
	end_process(run, 0);
}

static void run_pool_destroyed(struct run *run)
{
	feed(run, record_alloc("cuMemPoolCreate", POOL, 0));
	set_threshold(run, UINT64_MAX);
	feed(run, record_on(0, record_from(POOL, record_alloc("cuMemAllocFromPoolAsync",
							      DEVICE_ADDR, GIB))));
	pool_free(run, DEVICE_ADDR);
	feed(run, record_free("cuMemPoolDestroy", POOL));
	wait_for(run, 2 * SECOND);
}

static void run_pool_own(struct run *run)
{
	feed(run, record_alloc("cuMemPoolCreate", POOL, 0));
	set_threshold(run, UINT64_MAX);
	feed(run, record_on(0, record_from(POOL, record_alloc("cuMemAllocFromPoolAsync",
							      DEVICE_ADDR, GIB))));
	pool_free(run, DEVICE_ADDR);
	wait_for(run, 2 * SECOND);
}

/* The device's own pool has no threshold; the other one has. */
static void run_pool_other(struct run *run)
{
	feed(run, record_alloc("cuMemPoolCreate", POOL, 0));
	set_threshold(run, UINT64_MAX);
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

static void run_pool_current(struct run *run)
{
	feed(run, record_alloc("cuMemPoolCreate", POOL, 0));
	set_threshold(run, UINT64_MAX);
	feed(run, record_on(0, record_free("cuDeviceSetMemPool", POOL)));
	fill_and_empty(run);
	wait_for(run, 2 * SECOND);
}

#define KEPT(confidence, bytes) { { FINDING_POOL_KEPT, confidence, bytes } }, 1

static const struct program pools[] = {
	/* clang-format off */
	{ "told what it has reserved", run_pool_told, KEPT(H, GIB) },
	{ "told before", run_pool_told_early, KEPT(M, GIB) },
	{ "a threshold without limit", run_pool_threshold, KEPT(M, GIB) },
	{ "a threshold before the first context", run_pool_threshold_first, KEPT(M, GIB) },
	{ "a low threshold", run_pool_low_threshold, KEPT(M, 256 * MIB) },
	{ "the device has less", run_pool_gone, KEPT(M, GIB) },
	{ "no threshold", run_pool_plain, {}, 0 },
	{ "told that it is empty", run_pool_empty, {}, 0 },
	{ "trimmed", run_pool_trimmed, {}, 0 },
	{ "the device has it back", run_pool_back, {}, 0 },
	{ "used again", run_pool_used_again, {}, 0 },
	{ "little use", run_pool_little_use, KEPT(M, GIB - 64 * MIB) },
	{ "at shutdown", run_pool_at_shutdown, {}, 0 },
	{ "a pool of its own, destroyed", run_pool_destroyed, {}, 0 },
	{ "a pool of its own", run_pool_own, KEPT(M, GIB) },
	{ "a threshold of another pool", run_pool_other, {}, 0 },
	{ "a pool made the current one", run_pool_current, KEPT(M, GIB) },
	/* clang-format on */
};

static void test_pools(void **state)
{
	(void)state;
	run_all(pools);
}

/* What is kept at the end is kept until the end: a part of a window is none. */
static void test_pools_until_the_end(void **state)
{
	static const struct program program = { "little use", run_pool_little_use,
						KEPT(M, GIB - 64 * MIB) };
	uint64_t wait_ns;

	(void)state;
	for (wait_ns = 0; wait_ns < 250 * MS; wait_ns += 5 * MS) {
		const struct finding *finding;
		struct run run = { 0 };
		size_t count;

		rest_ns = wait_ns;
		run_program(&run, &program);
		finding = analysis_findings(run.analysis, &count);
		assert_true(run.now_ns - finding->last_ts_ns < MS);
		run_end(&run);
	}
	rest_ns = 0;
}

static const struct lossy_program lossy[] = {
	{ { "frees lost", run_pool_told, { { FINDING_POOL_KEPT, M, GIB } }, 1 }, MS_OP_FREE },
};

static void test_losses(void **state)
{
	(void)state;
	run_all_lossy(lossy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_pools_until_the_end),
		cmocka_unit_test(test_losses),
	};

	return unit_run("analysis: pools that keep memory without need", tests);
}
