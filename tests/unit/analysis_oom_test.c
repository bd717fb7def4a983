// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that fail because memory has run out: why, as far as it can be told, and who held what.
 */
#include "analysed.h"

#define OTHER_PID 200

static const struct analysis_oom *only_oom(struct run *run)
{
	const struct analysis_oom *ooms;
	size_t count;

	if (!run->ended)
		finish(run);
	ooms = analysis_ooms(run->analysis, &count);
	assert_int_equal(count, 1);
	return ooms;
}

/* ---- causes ---------------------------------------------------------------------------------- */

static void leak_until_full(struct run *run, bool asks)
{
	int i;

	if (asks)
		told(run, 8 * GIB, 8 * GIB);
	alloc_new(run, GIB);
	for (i = 0; i < 6000; i++) {
		alloc_new(run, MIB);
		step(run);
	}
	if (asks)
		told(run, 8 * GIB - 7000 * MIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
	steps(run, 10);
}

static void run_leak(struct run *run)
{
	leak_until_full(run, true);
}

static void run_leak_not_asked(struct run *run)
{
	leak_until_full(run, false);
}

/* Every other block of what was full is freed. */
static void make_holes(struct run *run)
{
	int i;

	for (i = 0; i < 64; i++)
		alloc_at(run, DEVICE_ADDR + i * 64 * MIB, 64 * MIB);
	for (i = 0; i < 64; i += 2)
		free_at(run, DEVICE_ADDR + i * 64 * MIB);
}

static void run_fragmentation(struct run *run)
{
	make_holes(run);
	told(run, 2 * GIB, 4 * GIB);
	fail_alloc(run, GIB);
}

static void run_fragmentation_not_asked(struct run *run)
{
	make_holes(run);
	fail_alloc(run, GIB);
}

/* It has never held as much. */
static void run_more_than_ever(struct run *run)
{
	make_holes(run);
	fail_alloc(run, 3 * GIB);
}

/* There is a hole that is large enough: something else is wrong. */
static void run_no_fragmentation(struct run *run)
{
	make_holes(run);
	told(run, 2 * GIB, 4 * GIB);
	fail_alloc(run, 32 * MIB);
}

/* Both see the same devices: by one number they mean the same. */
static void with_neighbour(struct run *run, uint64_t key)
{
	as_process(run, OTHER_PID);
	feed(run, record_visible(key, 0));
	alloc_new(run, 6 * GIB);
	as_process(run, RECORD_PID);
	feed(run, record_visible(77, 0));
	alloc_new(run, GIB);
}

static void run_co_tenant(struct run *run)
{
	with_neighbour(run, 77);
	told(run, GIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

/* For all that is known, it may be on another device. */
static void run_co_tenant_unproven(struct run *run)
{
	with_neighbour(run, 0);
	fail_alloc(run, 2 * GIB);
}

/* The neighbour was told: that counts only on the same device. */
static void run_told_elsewhere(struct run *run)
{
	with_neighbour(run, 77);
	as_process(run, OTHER_PID);
	told(run, GIB, 8 * GIB);
	as_process(run, RECORD_PID);
	fail_alloc(run, 2 * GIB);
}

static void run_told_on_another(struct run *run)
{
	with_neighbour(run, 78);
	as_process(run, OTHER_PID);
	told(run, GIB, 8 * GIB);
	as_process(run, RECORD_PID);
	fail_alloc(run, 2 * GIB);
}

/* On another device, it does not matter. */
static void run_no_co_tenant(struct run *run)
{
	as_process(run, OTHER_PID);
	feed(run, record_on(1, record_alloc("cuMemAlloc_v2", DEVICE_ADDR, 6 * GIB)));
	as_process(run, RECORD_PID);
	alloc_new(run, 7 * GIB);
	told(run, GIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_co_tenant_unseen(struct run *run)
{
	alloc_new(run, GIB);
	told(run, GIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_full(struct run *run)
{
	alloc_new(run, 4 * GIB);
	alloc_new(run, 3 * GIB);
	told(run, GIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

/* That there was little left before need not be said beside it. */
static void run_full_to_the_brim(struct run *run)
{
	alloc_new(run, 4 * GIB);
	alloc_new(run, 4 * GIB - 100 * MIB);
	told(run, 100 * MIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

/* It was told before it took the rest. */
static void run_full_since(struct run *run)
{
	told(run, 8 * GIB, 8 * GIB);
	alloc_new(run, 4 * GIB);
	alloc_new(run, 3 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_full_long_ago(struct run *run)
{
	run_full_since(run);
	wait_for(run, MINUTE);
	run->tid++;
	fail_alloc(run, 2 * GIB);
}

static void run_too_large(struct run *run)
{
	told(run, 8 * GIB, 8 * GIB);
	fail_alloc(run, 9 * GIB);
}

static void run_not_asked(struct run *run)
{
	alloc_new(run, 4 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_nothing_known(struct run *run)
{
	fail_alloc(run, 2 * GIB);
}

/* It held memory before it was watched, and it is not known how much. */
static void run_leak_late(struct run *run)
{
	feed(run, record_attach_running());
	leak_until_full(run, false);
}

static void run_leak_late_but_asked(struct run *run)
{
	feed(run, record_attach_running());
	leak_until_full(run, true);
}

/* Others hold most of what was seen, which may be little. */
static void run_co_tenant_late(struct run *run)
{
	feed(run, record_attach_running());
	with_neighbour(run, 77);
	fail_alloc(run, 2 * GIB);
}

static void run_not_asked_late(struct run *run)
{
	feed(run, record_attach_running());
	run_not_asked(run);
}

static void run_pooled(struct run *run)
{
	feed(run, record_from(5, record_alloc("cuMemPoolGetAttribute", 0x900, 6 * GIB)));
	feed(run, record_from(7, record_alloc("cuMemPoolGetAttribute", 0x900, 2 * GIB)));
	alloc_new(run, GIB);
	told(run, GIB, 8 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_pinned(struct run *run)
{
	alloc_new(run, GIB);
	feed(run, record_alloc("cuMemHostAlloc", PINNED_ADDR, GIB));
	feed(run, record_failed(2, record_without(MS_KNOWN_ADDR,
						  record_alloc("cuMemHostAlloc", 0, 2 * GIB))));
}

/* What it was told is all of it is less than the device has. */
static void run_limited(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuDeviceTotalMem_v2", 0, 16 * GIB)));
	alloc_new(run, 3 * GIB);
	told(run, GIB, 4 * GIB);
	fail_alloc(run, 2 * GIB);
}

static void run_addresses(struct run *run)
{
	feed(run, record_failed(2, record_without(MS_KNOWN_ADDR,
						  record_alloc("cuMemAddressReserve", 0, GIB))));
}

/* Nothing that was allocated explains it, and the device is known. */
static void run_unexplained(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuDeviceTotalMem_v2", 0, 16 * GIB)));
	alloc_new(run, MIB);
	fail_alloc(run, GIB);
}

static void run_launch(struct run *run)
{
	alloc_new(run, 64 * MIB);
	feed(run, record_failed(2, record_launch("cuLaunchKernel", 0x1234)));
}

static void run_launch_full(struct run *run)
{
	alloc_new(run, 8 * GIB - 20 * MIB);
	told(run, 20 * MIB, 8 * GIB);
	feed(run, record_failed(2, record_launch("cuLaunchKernel", 0x1234)));
}

static void run_module(struct run *run)
{
	feed(run, record_failed(2, record_call("cuModuleLoadData")));
}

static void run_too_large_by_far(struct run *run)
{
	feed(run, record_on(0, record_alloc("cuDeviceTotalMem_v2", 0, 16 * GIB)));
	alloc_new(run, GIB);
	fail_alloc(run, 17 * GIB);
}

static const struct {
	struct program program;
	enum oom_cause cause;
} programs[] = {
	/* clang-format off */
	{ { "leak", run_leak, { { FINDING_LEAK_GROWTH, H, 6000 * MIB }, { FINDING_OOM, H, 2 * GIB } }, 2 }, OOM_LEAK },
	{ { "leak, did not ask", run_leak_not_asked, { { FINDING_LEAK_GROWTH, H, 0 }, { FINDING_OOM, M, 0 } }, 2 }, OOM_LEAK },
	{ { "leak, attached late", run_leak_late, { { FINDING_LEAK_GROWTH, H, 0 }, { FINDING_OOM, L, 0 } }, 2 }, OOM_UNKNOWN },
	{ { "leak, attached late, asked", run_leak_late_but_asked, { { FINDING_LEAK_GROWTH, H, 0 }, { FINDING_OOM, H, 0 } }, 2 }, OOM_LEAK },
	{ { "co-tenant, attached late", run_co_tenant_late, { { FINDING_OOM, L, 0 } }, 1 }, OOM_UNKNOWN },
	{ { "did not ask, attached late", run_not_asked_late, { { FINDING_OOM, L, 0 } }, 1 }, OOM_UNKNOWN },
	{ { "fragmentation", run_fragmentation, { { FINDING_OOM, M, GIB } }, 1 }, OOM_FRAGMENTATION },
	{ { "fragmentation, did not ask", run_fragmentation_not_asked, { { FINDING_OOM, L, GIB } }, 1 }, OOM_UNEXPLAINED },
	{ { "more than ever, did not ask", run_more_than_ever, { { FINDING_OOM, L, 3 * GIB } }, 1 }, OOM_FULL },
	{ { "no fragmentation", run_no_fragmentation, { { FINDING_OOM, L, 32 * MIB } }, 1 }, OOM_UNEXPLAINED },
	{ { "co-tenant", run_co_tenant, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_CO_TENANT },
	{ { "co-tenant on another device", run_no_co_tenant, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "co-tenant, unseen", run_co_tenant_unseen, { { FINDING_OOM, M, 2 * GIB } }, 1 }, OOM_UNEXPLAINED },
	{ { "co-tenant, not proven", run_co_tenant_unproven, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_UNKNOWN },
	{ { "co-tenant, which was told", run_told_elsewhere, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_CO_TENANT },
	{ { "another device's free memory", run_told_on_another, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "limit", run_limited, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_LIMIT },
	{ { "addresses", run_addresses, { { FINDING_OOM, M, GIB } }, 1 }, OOM_ADDRESSES },
	{ { "unexplained", run_unexplained, { { FINDING_OOM, M, GIB } }, 1 }, OOM_UNEXPLAINED },
	{ { "launch", run_launch, { { FINDING_OOM, L, 0 } }, 1 }, OOM_UNKNOWN },
	{ { "launch, full", run_launch_full, { { FINDING_OOM, H, 0 } }, 1 }, OOM_FULL },
	{ { "module", run_module, { { FINDING_OOM, L, 0 } }, 1 }, OOM_UNKNOWN },
	{ { "larger than the device", run_too_large_by_far, { { FINDING_OOM, H, 17 * GIB } }, 1 }, OOM_TOO_LARGE },
	{ { "full", run_full, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "full to the brim", run_full_to_the_brim, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "full since", run_full_since, { { FINDING_OOM, H, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "too large", run_too_large, { { FINDING_OOM, H, 9 * GIB } }, 1 }, OOM_TOO_LARGE },
	{ { "did not ask", run_not_asked, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_FULL },
	{ { "nothing known", run_nothing_known, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_UNKNOWN },
	{ { "pooled", run_pooled, { { FINDING_OOM, M, 2 * GIB } }, 1 }, OOM_POOLED },
	{ { "pinned", run_pinned, { { FINDING_OOM, L, 2 * GIB } }, 1 }, OOM_UNKNOWN },
	/* clang-format on */
};

static void test_causes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct run run = { 0 };

		run_program(&run, &programs[i].program);
		assert_string_equal(analysis_oom_cause_name(only_oom(&run)->cause),
				    analysis_oom_cause_name(programs[i].cause));
		run_end(&run);
	}
}

/* What was told long ago is worth less. */
static void test_old_view(void **state)
{
	const struct analysis_oom *ooms;
	struct run run = { 0 };
	size_t count;

	(void)state;
	assert_true(run_begin(&run));
	run_full_long_ago(&run);
	finish(&run);
	ooms = analysis_ooms(run.analysis, &count);
	assert_int_equal(count, 2);
	assert_true(ooms[0].view_fresh);
	assert_int_equal(ooms[0].confidence, FINDING_HIGH);
	assert_false(ooms[1].view_fresh);
	assert_int_equal(ooms[1].confidence, FINDING_MEDIUM);
	assert_int_equal(ooms[1].cause, OOM_FULL);
	run_end(&run);
}

/* A launch of a graph, which allocates and frees, too, is lost as a call about memory. */
static const struct lossy_program lossy_programs[] = {
	/* clang-format off */
	{ { "allocations", run_full, { { FINDING_OOM, FINDING_LOW, 2 * GIB } }, 1 }, MS_OP_ALLOC },
	{ { "frees", run_full, { { FINDING_OOM, FINDING_LOW, 2 * GIB } }, 1 }, MS_OP_FREE },
	{ { "graphs", run_full, { { FINDING_OOM, FINDING_LOW, 2 * GIB } }, 1 }, MS_OP_MEMORY },
	{ { "beginnings", run_full, { { FINDING_OOM, FINDING_LOW, 2 * GIB } }, 1 }, MS_ACCOUNT_FREE_BEGIN },
	/* clang-format on */
};

static void test_losses_lower_it(void **state)
{
	(void)state;
	run_all_lossy(lossy_programs);
}

/* ---- the live set ---------------------------------------------------------------------------- */

static void test_live_set(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };
	int i;

	(void)state;
	assert_true(run_begin(&run));
	as_process(&run, OTHER_PID);
	feed(&run, record_process(MS_TYPE_ATTACH, "neighbour", 0));
	feed(&run, record_visible(77, 0));
	alloc_new(&run, 3 * MIB);
	feed(&run, record_on(1, record_alloc("cuMemAlloc_v2", 0x10, GIB)));
	as_process(&run, RECORD_PID);
	feed(&run, record_process(MS_TYPE_ATTACH, "trainer", 0));
	feed(&run, record_visible(77, 0));
	for (i = 1; i <= 12; i++)
		alloc_new(&run, i * MIB);
	feed(&run, record_on(0, record_alloc("cuMemAllocAsync", 0x20, 5 * MIB)));
	feed(&run, record_on(0, record_alloc("cuMemAllocManaged", 0x30, 100 * MIB)));
	feed(&run, record_alloc("cuMemHostAlloc", PINNED_ADDR, GIB));
	feed(&run, record_alloc("cuMemAddressReserve", 0x40, GIB));
	fail_alloc(&run, GIB);

	oom = only_oom(&run);
	assert_int_equal(oom->device, 0);
	assert_int_equal(oom->pid, RECORD_PID);
	assert_string_equal(oom->comm, "trainer");
	assert_int_equal(oom->row, record_row("cuMemAlloc_v2"));
	assert_true(oom->requested_known);
	assert_int_equal(oom->requested_bytes, GIB);
	assert_int_equal(oom->own.count, 13);
	assert_int_equal(oom->own.bytes, (78 + 5) * MIB);
	assert_int_equal(oom->live.bytes, (78 + 5 + 3) * MIB);
	assert_int_equal(oom->managed.bytes, 100 * MIB);

	assert_int_equal(oom->processes_count, 2);
	assert_string_equal(oom->processes[0].comm, "trainer");
	assert_string_equal(oom->processes[1].comm, "neighbour");
	assert_int_equal(oom->processes[1].live.bytes, 3 * MIB);
	assert_int_equal(oom->kinds_count, 3);
	assert_int_equal(oom->kinds[0].space, MS_SPACE_MANAGED);
	assert_int_equal(oom->kinds[1].space, MS_SPACE_DEVICE);
	assert_int_equal(oom->kinds[1].live.bytes, 81 * MIB);
	assert_int_equal(oom->kinds[2].space, MS_SPACE_POOL);

	assert_int_equal(oom->largest_count, OOM_TOP);
	assert_int_equal(oom->largest[0].allocation.size_bytes, 100 * MIB);
	assert_int_equal(oom->largest[1].allocation.size_bytes, 12 * MIB);
	assert_int_equal(oom->largest[9].allocation.size_bytes, 5 * MIB);
	assert_int_equal(oom->newest_count, OOM_TOP);
	assert_int_equal(oom->newest[0].allocation.size_bytes, 100 * MIB);
	assert_int_equal(oom->newest[1].allocation.size_bytes, 5 * MIB);
	assert_int_equal(oom->newest[9].allocation.size_bytes, 5 * MIB);
	assert_int_equal(oom->newest[0].pid, RECORD_PID);
	run_end(&run);
}

static void test_holes(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	alloc_at(&run, DEVICE_ADDR, MIB);
	alloc_at(&run, DEVICE_ADDR + MIB, 2 * MIB);
	alloc_at(&run, DEVICE_ADDR + 3 * MIB, MIB);
	alloc_at(&run, DEVICE_ADDR + 4 * MIB, MIB);
	alloc_at(&run, DEVICE_ADDR + 5 * MIB, MIB);
	/* Nothing was ever there in between. */
	alloc_at(&run, DEVICE_ADDR + GIB, MIB);
	free_at(&run, DEVICE_ADDR + MIB);
	free_at(&run, DEVICE_ADDR + 4 * MIB);
	fail_alloc(&run, GIB);
	oom = only_oom(&run);
	assert_true(oom->holes_known);
	assert_int_equal(oom->holes, 2);
	assert_int_equal(oom->holes_bytes, 3 * MIB);
	assert_int_equal(oom->largest_hole_bytes, 2 * MIB);
	run_end(&run);
}

/* ---- how many -------------------------------------------------------------------------------- */

static void test_retries_are_one(void **state)
{
	const struct analysis_oom *oom;
	struct run run = { 0 };
	int i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < 5; i++) {
		fail_alloc(&run, GIB);
		wait_for(&run, SECOND);
	}
	oom = only_oom(&run);
	assert_int_equal(oom->failures, 5);
	assert_int_equal(oom->last_ts_ns - oom->ts_ns, 4 * SECOND);
	assert_int_equal(analysis_account(run.analysis)->oom_failures, 5);
	run_end(&run);
}

static void test_many_are_counted(void **state)
{
	struct run run = { 0 };
	size_t count;
	int i;

	(void)state;
	assert_true(run_begin(&run));
	for (i = 0; i < OOM_MAX + 5; i++) {
		run.tid++;
		fail_alloc(&run, GIB);
	}
	finish(&run);
	analysis_ooms(run.analysis, &count);
	assert_int_equal(count, OOM_MAX);
	assert_int_equal(analysis_account(run.analysis)->oom_failures, OOM_MAX + 5);
	assert_int_equal(analysis_account(run.analysis)->oom_not_listed, 5);
	run_end(&run);
}

/* A driver call that has an event of its own, inside of the runtime's. */
static void test_inner_failure_is_not_another(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	feed(&run, record_flagged(MS_CALL_NESTED | MS_CALL_PART,
				  record_failed(2, record_alloc("cuMemAlloc_v2", 0, GIB))));
	feed(&run, record_failed(2, record_alloc("cudaMalloc", 0, GIB)));
	assert_int_equal(only_oom(&run)->row, record_row("cudaMalloc"));
	assert_int_equal(analysis_account(run.analysis)->oom_failures, 1);
	run_end(&run);
}

/* Whatever the function does: that memory has run out is what it says. */
static void test_every_function_can_fail(void **state)
{
	uint32_t row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		const struct probe *probe = probe_at(row);
		struct run run = { 0 };

		if (probe->spec.op == MS_OP_NAME)
			continue;
		assert_true(run_begin(&run));
		feed(&run, record_failed(MS_CUDA_OUT_OF_MEMORY, record_call(probe->symbol)));
		assert_string_equal(probe_at(only_oom(&run)->row)->symbol, probe->symbol);
		assert_int_equal(analysis_account(run.analysis)->oom_failures, 1);
		run_end(&run);
	}
}

static void test_other_errors_are_none(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	feed(&run, record_failed(1, record_alloc("cuMemAlloc_v2", 0, GIB)));
	feed(&run, record_failed(701, record_launch("cuLaunchKernel", 0x1234)));
	expect_none(&run);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_old_view),
		cmocka_unit_test(test_losses_lower_it),
		cmocka_unit_test(test_live_set),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_retries_are_one),
		cmocka_unit_test(test_many_are_counted),
		cmocka_unit_test(test_inner_failure_is_not_another),
		cmocka_unit_test(test_every_function_can_fail),
		cmocka_unit_test(test_other_errors_are_none),
	};

	return unit_run("analysis: failed allocations", tests);
}
