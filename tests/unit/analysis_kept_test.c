// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that keep memory to no purpose: in pools, by calls that fail, in other processes; and
 * those that do something like it for a good reason.
 */
#include "analysed.h"

#define POOL 0x6000000ull
#define THRESHOLD 4
#define RESERVED 5

/* ---- pools ----------------------------------------------------------------------------------- */

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

/* ---- calls that fail ------------------------------------------------------------------------- */

#define INVALID_VALUE 1
#define DEINITIALIZED 4
#define ILLEGAL_ADDRESS 700
#define ALREADY_REGISTERED 712

static void free_in_vain(struct run *run, uint64_t addr, int32_t result)
{
	feed(run, record_free_begin(addr));
	feed(run, record_failed(result, record_free("cuMemFree_v2", addr)));
}

static void run_freed_twice(struct run *run)
{
	int i;

	for (i = 0; i < 4; i++)
		alloc_at(run, DEVICE_ADDR + i * MIB, MIB);
	for (i = 0; i < 4; i++)
		free_at(run, DEVICE_ADDR + i * MIB);
	for (i = 0; i < 4; i++)
		free_in_vain(run, DEVICE_ADDR + i * MIB, INVALID_VALUE);
}

static void run_failed_once(struct run *run)
{
	free_in_vain(run, DEVICE_ADDR, INVALID_VALUE);
}

static void run_freed_at_shutdown(struct run *run)
{
	int i;

	for (i = 0; i < 100; i++)
		free_in_vain(run, alloc_new(run, KIB), DEINITIALIZED);
}

/* They stay live. */
static void run_not_freed(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 4 * MIB);
	alloc_at(run, DEVICE_ADDR + 8 * MIB, 4 * MIB);
	free_in_vain(run, DEVICE_ADDR, INVALID_VALUE);
	free_in_vain(run, DEVICE_ADDR + 8 * MIB, INVALID_VALUE);
}

static void run_error_that_stays(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 4 * MIB);
	feed(run, record_failed(ILLEGAL_ADDRESS, record_call("cuCtxSynchronize")));
	free_in_vain(run, DEVICE_ADDR, ILLEGAL_ADDRESS);
	feed(run, record_failed(ILLEGAL_ADDRESS, record_launch("cuLaunchKernel", 0x1234)));
}

static void run_registered_twice(struct run *run)
{
	int i;

	feed(run, record_alloc("cuMemHostRegister_v2", HOST_ADDR, 16 * MIB));
	for (i = 0; i < 3; i++)
		feed(run, record_failed(ALREADY_REGISTERED, record_alloc("cuMemHostRegister_v2",
									 HOST_ADDR + MIB, MIB)));
}

/* It says so once, by the runtime's call. */
static void run_part_of_another(struct run *run)
{
	union record part = record_failed(INVALID_VALUE, record_free("cuMemFree_v2", DEVICE_ADDR));
	int i;

	part.call.flags = MS_CALL_NESTED | MS_CALL_PART;
	for (i = 0; i < 3; i++)
		feed(run, part);
}

/* A question that fails takes nothing. */
static void run_questions(struct run *run)
{
	int i;

	for (i = 0; i < 100; i++)
		feed(run, record_failed(INVALID_VALUE, record_call("cuMemGetInfo_v2")));
}

#define FAILED(bytes) { { FINDING_FAILED_CALLS, H, bytes } }, 1

static const struct program failures[] = {
	/* clang-format off */
	{ "freed twice", run_freed_twice, FAILED(0) },
	{ "failed once", run_failed_once, {}, 0 },
	{ "freed at shutdown", run_freed_at_shutdown, {}, 0 },
	{ "not freed", run_not_freed, FAILED(8 * MIB) },
	{ "an error that stays", run_error_that_stays, FAILED(0) },
	{ "registered twice", run_registered_twice, FAILED(0) },
	{ "part of another call", run_part_of_another, {}, 0 },
	{ "questions", run_questions, {}, 0 },
	/* clang-format on */
};

static void test_failures(void **state)
{
	(void)state;
	run_all(failures);
}

/* UINT64_MAX: the first finding has no such evidence. */
static uint64_t evidence_of(const struct run *run, const char *what)
{
	size_t count, i;
	const struct finding *findings = analysis_findings(run->analysis, &count);

	for (i = 0; count && i < findings->evidence_count; i++)
		if (!strcmp(findings->evidence[i].what, what))
			return findings->evidence[i].value;
	return UINT64_MAX;
}

static const struct program *find_program(const struct program *programs, size_t count,
					  const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	fail_msg("there is no program \"%s\"", name);
	return NULL;
}

static void test_failures_say_what_they_were_about(void **state)
{
	static const struct {
		const char *program, *what;
		uint64_t value;
	} cases[] = {
		{ "freed twice", "calls that failed", 4 },
		{ "freed twice", "of them, of what had been given back already", 4 },
		{ "freed twice", "result", INVALID_VALUE },
		{ "not freed", "of them, of what had been given back already", UINT64_MAX },
		{ "an error that stays", "calls, this one and others, that failed with this result",
		  3 },
		{ "registered twice", "in its way, block at", HOST_ADDR },
		{ "registered twice", "of bytes", 16 * MIB },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run run = { 0 };

		run_program(&run, find_program(failures, sizeof(failures) / sizeof(*failures),
					       cases[i].program));
		assert_int_equal(evidence_of(&run, cases[i].what), cases[i].value);
		run_end(&run);
	}
}

/* ---- memory of other processes --------------------------------------------------------------- */

#define OWNER RECORD_PID
#define USER 200
#define HANDLE 0x123456789abcull
#define THERE 0x7d0000000000ull

static void export_block(struct run *run, uint64_t addr)
{
	feed(run, record_memory("cuIpcGetMemHandle", addr, HANDLE));
}

static void open_block(struct run *run, uint64_t handle)
{
	as_process(run, USER);
	feed(run, record_on(0, record_from(handle, record_free("cuIpcOpenMemHandle_v2", THERE))));
	as_process(run, OWNER);
}

static void close_block(struct run *run)
{
	as_process(run, USER);
	feed(run, record_begin_of("cuIpcCloseMemHandle", THERE, 0));
	feed(run, record_free("cuIpcCloseMemHandle", THERE));
	as_process(run, OWNER);
}

static void share(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR + MIB);
	open_block(run, HANDLE);
	wait_for(run, 100 * MS);
}

static void run_kept_open(struct run *run)
{
	share(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

static void run_user_exits(struct run *run)
{
	run_kept_open(run);
	as_process(run, USER);
	end_process(run, 0);
	as_process(run, OWNER);
	wait_for(run, SECOND);
}

static void run_closed_late(struct run *run)
{
	run_kept_open(run);
	close_block(run);
	wait_for(run, SECOND);
}

static void run_closed_soon(struct run *run)
{
	share(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, 100 * MS);
	close_block(run);
	wait_for(run, SECOND);
}

static void run_closed_before(struct run *run)
{
	share(run);
	close_block(run);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

static void run_not_freed_yet(struct run *run)
{
	share(run);
	wait_for(run, SECOND);
}

/* It was the same address, but another block that was exported. */
static void run_freed_another(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR);
	alloc_at(run, DEVICE_ADDR + GIB, 512 * MIB);
	open_block(run, HANDLE);
	free_at(run, DEVICE_ADDR + GIB);
	wait_for(run, SECOND);
}

static void run_opened_another(struct run *run)
{
	alloc_at(run, DEVICE_ADDR, 512 * MIB);
	export_block(run, DEVICE_ADDR);
	open_block(run, HANDLE + 1);
	free_at(run, DEVICE_ADDR);
	wait_for(run, SECOND);
}

#define EXPORTED(bytes) { { FINDING_EXPORTED_KEPT, H, bytes } }, 1

static const struct program shared[] = {
	/* clang-format off */
	{ "kept open", run_kept_open, EXPORTED(512 * MIB) },
	{ "its user exits", run_user_exits, EXPORTED(512 * MIB) },
	{ "closed late", run_closed_late, EXPORTED(512 * MIB) },
	{ "closed soon", run_closed_soon, {}, 0 },
	{ "closed before", run_closed_before, {}, 0 },
	{ "not freed yet", run_not_freed_yet, {}, 0 },
	{ "another block freed", run_freed_another, {}, 0 },
	{ "another handle opened", run_opened_another, {}, 0 },
	/* clang-format on */
};

static void test_shared(void **state)
{
	(void)state;
	run_all(shared);
}

static void test_shared_say_who(void **state)
{
	struct run run = { 0 };
	const struct finding *findings;
	size_t count;

	(void)state;
	run_program(&run, &shared[0]);
	findings = analysis_findings(run.analysis, &count);
	assert_int_equal(findings->pid, OWNER);
	assert_int_equal(evidence_of(&run, "process that had them open"), USER);
	assert_int_equal(evidence_of(&run, "of them, open when the recording ended"), 1);
	run_end(&run);
}

/* While a part of the recording is missing, it may have been closed. */
static void test_shared_across_a_gap(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	share(&run);
	analysis_gap(run.analysis);
	free_at(&run, DEVICE_ADDR);
	wait_for(&run, SECOND);
	expect_none(&run);
	run_end(&run);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static const struct lossy_program lossy[] = {
	{ { "pools, frees lost", run_pool_told, { { FINDING_POOL_KEPT, M, GIB } }, 1 },
	  MS_OP_FREE },
	{ { "closed, memory lost", run_kept_open, { { FINDING_EXPORTED_KEPT, M, 0 } }, 1 },
	  MS_OP_MEMORY },
	{ { "failures, allocations lost", run_freed_twice, { { FINDING_FAILED_CALLS, M, 0 } }, 1 },
	  MS_OP_ALLOC },
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
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_failures_say_what_they_were_about),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_shared_say_who),
		cmocka_unit_test(test_shared_across_a_gap),
		cmocka_unit_test(test_losses),
	};

	return unit_run("analysis: memory kept without need", tests);
}
