// SPDX-License-Identifier: BSD-2-Clause
/*
 * Contexts: which device a call acted on, and what ends together with a context.
 */
#include "scenario.h"

#define A 0x7f0000001000
#define B 0x7f0000002000
#define C 0x7f0000003000

#define CONTEXT 0xc000
#define OTHER_CONTEXT 0xc100

static void alloc_in(struct scenario *s, uint64_t context, uint64_t addr, uint64_t size)
{
	apply(s, record_in(context, record_alloc("cuMemAlloc_v2", addr, size)));
}

/* ---- the end of a context -------------------------------------------------------------------- */

static void test_destroy_frees_what_was_allocated_in_it(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 0));
	apply(&s, record_context("cuCtxCreate_v2", OTHER_CONTEXT, 1));
	alloc_in(&s, CONTEXT, A, 10);
	alloc_in(&s, OTHER_CONTEXT, B, 20);
	alloc_in(&s, CONTEXT, C, 30);
	apply(&s, record_in(CONTEXT, record_alloc("cuMemAllocHost_v2", 0x1000, 5)));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 2);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 40);
	assert_int_equal(s.change.implicit[MS_SPACE_PINNED].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_PINNED].bytes, 5);
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	assert_live(&s, MS_SPACE_PINNED, 0, 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->implicit_frees, 2);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->implicit_bytes, 40);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 0);
	apply_free_of(&s, "cuMemFree_v2", B);
	assert_changed(&s, 2, 20);
	state_fini(&s.state);
}

/* Its allocations lie anywhere in the ledger: first, last, side by side. */
static void test_destroy_finds_all_of_many(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		alloc_in(&s, i % 7 < 4 ? CONTEXT : OTHER_CONTEXT, A + i * 512, 1);
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 572);
	assert_live(&s, MS_SPACE_DEVICE, 428, 428);
	apply(&s, record_context("cuCtxDestroy_v2", OTHER_CONTEXT, 0));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

/* As with a real driver: what a pool has given out is its device's. */
static void test_memory_of_pools_outlives_contexts(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", OTHER_CONTEXT, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	for (i = 0; i < 1000; i++) {
		const uint64_t context = i % 2 ? CONTEXT : OTHER_CONTEXT;

		apply(&s, record_in(context, record_alloc("cuMemAllocAsync", A + i * 1024, 10)));
		alloc_in(&s, context, A + i * 1024 + 512, 1);
		if (i != 4 && i != 1000 - 1)
			continue;
		apply(&s, record_context("cuCtxDestroy_v2", OTHER_CONTEXT, 0));
		apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
		assert_live(&s, MS_SPACE_DEVICE, 0, 0);
		assert_live(&s, MS_SPACE_POOL, i + 1, 10 * (i + 1));
		assert_int_equal(s.change.implicit[MS_SPACE_POOL].count, 0);
	}
	apply_free_of(&s, "cuMemFreeAsync", A);
	assert_live(&s, MS_SPACE_POOL, 1000 - 1, 10 * (1000 - 1));
	state_fini(&s.state);
}

static void test_destroy_of_a_context_that_nobody_saw_created(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_failed_destroy_frees_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 2));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_failed(201, record_context("cuCtxDestroy_v2", CONTEXT, 0)));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 0);
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	alloc_in(&s, CONTEXT, B, 10);
	assert_int_equal(s.change.device, 2);
	state_fini(&s.state);
}

/* An allocation in no known context ends with none. */
static void test_destroy_leaves_what_belongs_to_no_known_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 0));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	apply(&s, record_without(MS_KNOWN_ADDR, record_context("cuCtxDestroy_v2", CONTEXT, 0)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	state_fini(&s.state);
}

static void test_unknown_sizes_end_with_their_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_SIZE,
				 record_in(CONTEXT, record_alloc("cudaMallocPitch", A, 0))));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 0);
	state_fini(&s.state);
}

/* ---- primary contexts ------------------------------------------------------------------------ */

static void test_the_last_release_destroys(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0)); /* one too many */
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 0);
	state_fini(&s.state);
}

static void test_a_failed_release_is_none(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_failed(201, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	state_fini(&s.state);
}

static void test_reset_destroys_at_once(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 10);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_release_and_reset_are_of_one_device(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", OTHER_CONTEXT, 1));
	alloc_in(&s, CONTEXT, A, 10);
	alloc_in(&s, OTHER_CONTEXT, B, 20);
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 1));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 1)); /* of nothing */
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_created_contexts_are_not_primary(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	state_fini(&s.state);
}

/* Of a process that was running, references from before are not known: nothing may be given up. */
static void test_release_in_a_process_that_was_running_destroys_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply(&s, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0));
	apply(&s, record_context("cuDevicePrimaryCtxRelease_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void test_device_is_that_of_the_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 2));
	assert_int_equal(s.change.device, 2);
	apply(&s, record_context("cuDevicePrimaryCtxRetain", OTHER_CONTEXT, 5));
	alloc_in(&s, CONTEXT, A, 10);
	assert_int_equal(s.change.device, 2);
	assert_int_equal(s.change.allocation.device, 2);
	alloc_in(&s, OTHER_CONTEXT, B, 10);
	assert_int_equal(s.change.device, 5);
	apply(&s, record_in(CONTEXT, record_launch("cuLaunchKernel", 0x1234)));
	assert_int_equal(s.change.device, 2);
	state_fini(&s.state);
}

static void test_a_recorded_device_goes_first(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 2));
	apply(&s, record_on(4, record_in(CONTEXT, record_alloc("cudaMalloc", A, 10))));
	assert_int_equal(s.change.device, 4);
	state_fini(&s.state);
}

static void test_device_is_unknown_without_a_known_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	assert_int_equal(s.change.device, -1);
	assert_int_equal(s.change.allocation.device, -1);
	alloc_in(&s, CONTEXT, B, 10);
	assert_int_equal(s.change.device, -1);
	apply(&s, record_without(MS_KNOWN_DEVICE, record_context("cuCtxCreate_v2", CONTEXT, 0)));
	alloc_in(&s, CONTEXT, C, 10);
	assert_int_equal(s.change.device, -1);
	state_fini(&s.state);
}

static void test_a_free_tells_the_device_of_its_block(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 1));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_free_begin(A));
	apply(&s, record_on(0, record_free("cuMemFree_v2", A))); /* current is another one */
	assert_int_equal(s.change.device, 1);
	state_fini(&s.state);
}

static void test_a_reused_context_handle_is_the_new_context(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 0));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	alloc_in(&s, CONTEXT, A, 10);
	assert_int_equal(s.change.device, -1);
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 3));
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 4)); /* its destruction was lost */
	alloc_in(&s, CONTEXT, B, 10);
	assert_int_equal(s.change.device, 4);
	assert_int_equal(first_process(&s)->contexts_count, 1);
	state_fini(&s.state);
}

static void test_contexts_of_processes_are_kept_apart(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", CONTEXT, 1));
	alloc_in(&s, CONTEXT, A, 10);
	apply(&s, record_of(200, RECORD_START_NS, record_context("cuCtxDestroy_v2", CONTEXT, 0)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	alloc_in(&s, CONTEXT, B, 10);
	assert_int_equal(s.change.device, 1);
	state_fini(&s.state);
}

/* Attached to late, a thread's context is not known until it changes. */
static void test_blocks_of_an_unknown_context_outlive_contexts_visibly(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(first_process(&s)->counters[COUNTER_UNCLEAR_ENDS], 0);
	apply(&s, record_alloc("cuMemAlloc_v2", 0x7000, 10));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNCLEAR_ENDS], 1);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_destroy_frees_what_was_allocated_in_it),
		cmocka_unit_test(test_destroy_finds_all_of_many),
		cmocka_unit_test(test_memory_of_pools_outlives_contexts),
		cmocka_unit_test(test_destroy_of_a_context_that_nobody_saw_created),
		cmocka_unit_test(test_failed_destroy_frees_nothing),
		cmocka_unit_test(test_destroy_leaves_what_belongs_to_no_known_context),
		cmocka_unit_test(test_unknown_sizes_end_with_their_context),
		cmocka_unit_test(test_the_last_release_destroys),
		cmocka_unit_test(test_a_failed_release_is_none),
		cmocka_unit_test(test_reset_destroys_at_once),
		cmocka_unit_test(test_release_and_reset_are_of_one_device),
		cmocka_unit_test(test_created_contexts_are_not_primary),
		cmocka_unit_test(test_release_in_a_process_that_was_running_destroys_nothing),
		cmocka_unit_test(test_device_is_that_of_the_context),
		cmocka_unit_test(test_a_recorded_device_goes_first),
		cmocka_unit_test(test_device_is_unknown_without_a_known_context),
		cmocka_unit_test(test_a_free_tells_the_device_of_its_block),
		cmocka_unit_test(test_a_reused_context_handle_is_the_new_context),
		cmocka_unit_test(test_contexts_of_processes_are_kept_apart),
		cmocka_unit_test(test_blocks_of_an_unknown_context_outlive_contexts_visibly),
	};

	return unit_run("state: contexts", tests);
}
