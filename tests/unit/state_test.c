// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocations and frees of one process: what is live, what was freed, and what is told of it when
 * calls fail, race or go missing.
 */
#include "scenario.h"

#define A 0x7f0000001000
#define B 0x7f0000002000
#define C 0x7f0000003000

#define FIRST_THREAD RECORD_PID
#define OTHER_THREAD 101

/* ---- without incident ------------------------------------------------------------------------ */

static void test_alloc_and_free(void **state)
{
	struct scenario s = { 0 };
	const struct space_total *device;

	(void)state;
	apply(&s, record_at(1000, record_taking(50, record_alloc("cuMemAlloc_v2", A, 4096))));
	assert_changed(&s, 1, 4096);
	assert_int_equal(s.change.live_bytes, 4096);
	assert_int_equal(s.change.free, FREE_NONE);
	assert_live(&s, MS_SPACE_DEVICE, 1, 4096);

	apply(&s, record_at(2000, record_free_begin(A)));
	assert_false(s.change.has_allocation);
	assert_int_equal(s.change.device, -1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	apply(&s, record_at(2000, record_free("cuMemFree_v2", A)));
	assert_changed(&s, 1, 4096);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_true(s.change.has_live);
	assert_int_equal(s.change.live_bytes, 0);

	device = space_of(&s, MS_SPACE_DEVICE);
	assert_int_equal(device->allocs, 1);
	assert_int_equal(device->alloc_bytes, 4096);
	assert_int_equal(device->frees, 1);
	assert_int_equal(device->free_bytes, 4096);
	assert_int_equal(device->implicit_frees, 0);
	state_fini(&s.state);
}

static void test_an_allocation_remembers_how_it_was_made(void **state)
{
	struct scenario s = { 0 };
	const struct allocation *made = &s.change.allocation;
	union record alloc;

	(void)state;
	alloc = record_merged("cuMemAlloc_v2", record_alloc("cudaMalloc", A, 10));
	alloc = record_by(OTHER_THREAD, record_on(3, record_in(0xc0, alloc)));
	apply(&s, record_at(1000, alloc));
	apply_free_of(&s, "cudaFree", A);
	assert_int_equal(made->addr, A);
	assert_int_equal(made->ts_ns, 1000);
	assert_int_equal(made->tid, OTHER_THREAD);
	assert_int_equal(made->device, 3);
	assert_int_equal(made->context, 0xc0);
	assert_int_equal(made->space, MS_SPACE_DEVICE);
	assert_true(made->size_known);
	assert_string_equal(probe_at(made->row)->symbol, "cudaMalloc");
	assert_string_equal(probe_at(made->driver_row)->symbol, "cuMemAlloc_v2");
	assert_int_equal(s.change.device, 3);
	state_fini(&s.state);
}

static void test_ids_count_up_over_everything(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 1));
	apply(&s, record_alloc("cuMemAllocManaged", B, 2));
	apply_free_of(&s, "cuMemFree_v2", A);
	apply(&s, record_of(200, RECORD_START_NS, record_alloc("cuMemAlloc_v2", A, 3)));
	assert_changed(&s, 3, 3);
	apply(&s, record_alloc("cuMemAlloc_v2", A, 4));
	assert_changed(&s, 4, 4);
	state_fini(&s.state);
}

static void test_spaces_are_kept_apart(void **state)
{
	static const struct {
		const char *alloc, *free;
		enum ms_space space;
	} cases[] = {
		{ "cuMemAlloc_v2", "cuMemFree_v2", MS_SPACE_DEVICE },
		{ "cuMemAllocAsync", "cuMemFreeAsync", MS_SPACE_POOL },
		{ "cuMemAllocManaged", "cuMemFree_v2", MS_SPACE_MANAGED },
		{ "cudaMallocHost", "cudaFreeHost", MS_SPACE_PINNED },
		{ "cudaHostRegister", "cudaHostUnregister", MS_SPACE_REGISTERED },
	};
	struct scenario s = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		apply(&s, record_alloc(cases[i].alloc, A + i * 4096, 1000 + i));
	for (i = 0; i < 5; i++)
		assert_live(&s, cases[i].space, 1, 1000 + i);
	for (i = 0; i < 5; i++) {
		apply_free_of(&s, cases[i].free, A + i * 4096);
		assert_int_equal(s.change.allocation.space, cases[i].space);
		assert_live(&s, cases[i].space, 0, 0);
		assert_int_equal(space_of(&s, cases[i].space)->free_bytes, 1000 + i);
	}
	assert_int_equal(space_of(&s, MS_SPACE_NONE)->allocs, 0);
	state_fini(&s.state);
}

static void test_peak_is_the_first_highest(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(1000, record_taking(5, record_alloc("cuMemAlloc_v2", A, 100))));
	apply(&s, record_at(2000, record_taking(5, record_alloc("cuMemAlloc_v2", B, 50))));
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 150);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_ts_ns, 2005);
	apply_free_of(&s, "cuMemFree_v2", A);
	apply(&s, record_at(4000, record_alloc("cuMemAlloc_v2", A, 100)));
	assert_live(&s, MS_SPACE_DEVICE, 2, 150);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_ts_ns, 2005); /* not again */
	apply(&s, record_at(5000, record_taking(7, record_alloc("cuMemAlloc_v2", C, 1))));
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 151);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_ts_ns, 5007);
	apply_free_of(&s, "cuMemFree_v2", B);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 151);
	state_fini(&s.state);
}

static void test_sizes_beyond_32_bits(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 80ull << 30));
	apply(&s, record_alloc("cuMemAlloc_v2", B, 80ull << 30));
	assert_live(&s, MS_SPACE_DEVICE, 2, 160ull << 30);
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_int_equal(s.change.live_bytes, 80ull << 30);
	state_fini(&s.state);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

static void test_a_failed_alloc_allocates_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_failed(2, record_without(MS_KNOWN_ADDR,
						  record_alloc("cuMemAlloc_v2", 0, 99999))));
	assert_false(s.change.has_allocation);
	assert_true(s.change.has_live);
	assert_int_equal(s.change.live_bytes, 10);
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->allocs, 1);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 10);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_ALLOCS], 0);
	assert_int_equal(first_process(&s)->calls[MS_OP_ALLOC], 2);
	state_fini(&s.state);
}

static void test_a_failed_free_restores_the_block(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_on(1, record_alloc("cuMemAlloc_v2", A, 100)));
	apply(&s, record_free_begin(A));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	apply(&s, record_failed(1, record_free("cuMemFree_v2", A)));
	assert_int_equal(s.change.free, FREE_NONE);
	assert_false(s.change.has_allocation);
	assert_live(&s, MS_SPACE_DEVICE, 1, 100);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->allocs, 1);

	apply_free_of(&s, "cuMemFree_v2", A); /* and it is the same block as before */
	assert_changed(&s, 1, 100);
	assert_int_equal(s.change.device, 1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_a_failed_free_without_a_beginning_changes_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 100));
	apply(&s, record_failed(1, record_free("cuMemFree_v2", A)));
	apply(&s, record_failed(1, record_free("cuMemFree_v2", B)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 100);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	state_fini(&s.state);
}

static void test_a_call_whose_end_was_not_watched_is_believed(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_RESULT, record_alloc("cuMemHostRegister_v2", A, 100)));
	assert_live(&s, MS_SPACE_REGISTERED, 1, 100);
	apply(&s, record_without(MS_KNOWN_RESULT, record_free("cuMemHostUnregister", A)));
	assert_live(&s, MS_SPACE_REGISTERED, 0, 0);
	state_fini(&s.state);
}

static void test_failures_are_counted_by_call_and_result(void **state)
{
	struct scenario s = { 0 };
	const struct failure *failures;

	(void)state;
	apply(&s, record_failed(2, record_call("cudaMalloc")));
	apply(&s, record_failed(1, record_call("cudaMalloc")));
	apply(&s, record_failed(2, record_call("cuMemAlloc_v2")));
	apply(&s, record_failed(2, record_call("cudaMalloc")));
	apply(&s, record_failed(-7, record_call("cuStreamSynchronize")));
	apply(&s, record_call("cudaMemcpy"));
	assert_int_equal(first_process(&s)->failures_count, 4);
	failures = first_process(&s)->failures;
	assert_string_equal(probe_at(failures[0].row)->symbol, "cudaMalloc");
	assert_int_equal(failures[0].result, 2);
	assert_int_equal(failures[0].count, 2);
	assert_int_equal(failures[1].result, 1);
	assert_int_equal(failures[1].count, 1);
	assert_string_equal(probe_at(failures[2].row)->symbol, "cuMemAlloc_v2");
	assert_int_equal(failures[3].result, -7);
	state_fini(&s.state);
}

/* ---- two threads, one address ---------------------------------------------------------------- */

/* Thread 1 frees A; the driver gives A to thread 2 before thread 1's free has returned. */
static void test_reused_before_the_free_is_over(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(100, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s, record_at(200, record_free_begin(A)));
	apply(&s, record_at(250, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20))));
	assert_changed(&s, 2, 20);
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	apply(&s, record_at(200, record_free("cuMemFree_v2", A)));
	assert_changed(&s, 1, 10);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->free_bytes, 10);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->peak_bytes, 20); /* never 30 */
	state_fini(&s.state);
}

static void test_reused_after_the_free_is_over(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(100, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s, record_at(200, record_free_begin(A)));
	apply(&s, record_at(200, record_free("cuMemFree_v2", A)));
	assert_changed(&s, 1, 10);
	apply(&s, record_at(250, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20))));
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 0);
	state_fini(&s.state);
}

/* The new owner frees it again before the first free has returned. */
static void test_both_frees_of_a_reused_address_are_told_apart(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(100, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s, record_at(200, record_free_begin(A)));
	apply(&s, record_at(250, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20))));
	apply(&s, record_at(300, record_by(OTHER_THREAD, record_free_begin(A))));
	apply(&s, record_at(300, record_by(OTHER_THREAD, record_free("cuMemFree_v2", A))));
	assert_changed(&s, 2, 20);
	apply(&s, record_at(200, record_free("cuMemFree_v2", A)));
	assert_changed(&s, 1, 10);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 2);
	state_fini(&s.state);
}

/* A free that is not over when another thread tries to free the same block: that one fails. */
static void test_double_free_by_two_threads(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A));
	apply(&s, record_by(OTHER_THREAD, record_free_begin(A)));
	apply(&s, record_by(OTHER_THREAD, record_failed(1, record_free("cuMemFree_v2", A))));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	apply(&s, record_free("cuMemFree_v2", A));
	assert_changed(&s, 1, 10);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

/* The driver gave the address away, and yet the free says that it failed. */
static void test_a_failed_free_does_not_replace_the_successor(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A));
	apply(&s, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20)));
	apply(&s, record_failed(700, record_free("cuMemFree_v2", A)));
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_changed(&s, 2, 20);
	state_fini(&s.state);
}

static void test_many_frees_at_once(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 100; i++)
		apply(&s, record_alloc("cuMemAlloc_v2", A + i * 512, i + 1));
	for (i = 0; i < 100; i++)
		apply(&s, record_by(1000 + i, record_free_begin(A + i * 512)));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	for (i = 100; i-- > 0;) {
		apply(&s, record_by(1000 + i, record_free("cuMemFree_v2", A + i * 512)));
		assert_changed(&s, i + 1, i + 1);
	}
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 100);
	state_fini(&s.state);
}

/* ---- records that are missing ---------------------------------------------------------------- */

static void test_lost_beginning_of_a_free(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free("cuMemFree_v2", A));
	assert_changed(&s, 1, 10);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

/* ... and the address was given away before the end came: that block is younger than the free. */
static void test_lost_beginning_does_not_free_the_successor(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(100, record_alloc("cuMemAlloc_v2", A, 10)));
	apply(&s, record_at(250, record_by(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A, 20))));
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	apply(&s, record_at(200, record_free("cuMemFree_v2", A)));
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	state_fini(&s.state);
}

static void test_lost_end_of_a_free(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_free_begin(A));
	apply(&s, record_alloc("cuMemAlloc_v2", A, 20));
	assert_live(&s, MS_SPACE_DEVICE, 1, 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 0);
	state_fini(&s.state);
}

static void test_both_records_of_a_free_lost(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", A, 10));
	apply(&s, record_alloc("cuMemAllocManaged", A, 20)); /* handed out again */
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_live(&s, MS_SPACE_MANAGED, 1, 20);
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_changed(&s, 2, 20);
	state_fini(&s.state);
}

/* ---- frees of what is not in the ledger ------------------------------------------------------ */

static void test_free_of_memory_from_before_tracing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_int_equal(s.change.free, FREE_PRE_ATTACH);
	assert_false(s.change.has_allocation);
	assert_false(s.change.has_live);
	assert_int_equal(first_process(&s)->counters[COUNTER_PRE_ATTACH_FREES], 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->frees, 0);
	state_fini(&s.state);
}

static void test_free_of_memory_that_nobody_saw_allocated(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "program", 0));
	apply_free_of(&s, "cuMemFree_v2", A);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_PRE_ATTACH_FREES], 0);
	state_fini(&s.state);
}

static void test_calls_whose_ends_nobody_watches(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "program", 0));
	apply(&s, record_without(MS_KNOWN_RESULT | MS_KNOWN_ADDR,
				 record_alloc("cuMemAlloc_v2", 0, 100)));
	assert_false(s.change.has_allocation);
	assert_false(s.change.has_live);
	assert_true(first_process(&s)->entries_only);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->allocs, 1);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->alloc_bytes, 100);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_ALLOCS], 0);

	apply(&s, record_without(MS_KNOWN_RESULT, record_free("cuMemFree_v2", A)));
	assert_int_equal(s.change.free, FREE_UNWATCHED);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNWATCHED_FREES], 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_FREES], 0);
	state_fini(&s.state);
}

static void test_free_of_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply(&s, record_free("cudaFree", 0));
	assert_int_equal(s.change.free, FREE_NULL);
	assert_int_equal(first_process(&s)->counters[COUNTER_NULL_FREES], 1);
	assert_int_equal(first_process(&s)->counters[COUNTER_PRE_ATTACH_FREES], 0);
	state_fini(&s.state);
}

static void test_free_of_an_unread_address_is_not_a_free_of_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_ADDR, record_free("cudaFree", 0)));
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	assert_int_equal(first_process(&s)->counters[COUNTER_NULL_FREES], 0);
	state_fini(&s.state);
}

/* ---- allocations of which not all is known --------------------------------------------------- */

static void test_alloc_of_no_bytes(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", 0, 0)); /* success, and a null pointer */
	assert_false(s.change.has_allocation);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_ALLOCS], 0);
	apply(&s, record_alloc("cudaMalloc", A, 0));
	assert_live(&s, MS_SPACE_DEVICE, 1, 0);
	state_fini(&s.state);
}

static void test_alloc_at_an_unread_address(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_ADDR, record_alloc("cudaMalloc", 0, 100)));
	assert_false(s.change.has_allocation);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_ALLOCS], 1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_alloc_of_an_unread_size(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_without(MS_KNOWN_SIZE, record_alloc("cudaMallocPitch", A, 0)));
	assert_false(s.change.allocation.size_known);
	assert_live(&s, MS_SPACE_DEVICE, 1, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 1);
	apply_free_of(&s, "cudaFree", A);
	assert_false(s.change.allocation.size_known);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 0);
	state_fini(&s.state);
}

static void test_what_is_of_no_process_makes_none(void **state)
{
	union record account = record_account(MS_OP_COPY, 5, 1);
	struct state empty = { 0 };
	struct event event;

	(void)state;
	account.event.pid = 4711;
	assert_int_equal(event_decode(&account, account.event.size, &event), 0);
	assert_int_equal(state_apply(&empty, &event), 0);
	assert_int_equal(empty.processes_count, 0);
	assert_null(empty.change.process);
	state_fini(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_of_no_process_makes_none),
		cmocka_unit_test(test_alloc_and_free),
		cmocka_unit_test(test_an_allocation_remembers_how_it_was_made),
		cmocka_unit_test(test_ids_count_up_over_everything),
		cmocka_unit_test(test_spaces_are_kept_apart),
		cmocka_unit_test(test_peak_is_the_first_highest),
		cmocka_unit_test(test_sizes_beyond_32_bits),
		cmocka_unit_test(test_a_failed_alloc_allocates_nothing),
		cmocka_unit_test(test_a_failed_free_restores_the_block),
		cmocka_unit_test(test_a_failed_free_without_a_beginning_changes_nothing),
		cmocka_unit_test(test_a_call_whose_end_was_not_watched_is_believed),
		cmocka_unit_test(test_failures_are_counted_by_call_and_result),
		cmocka_unit_test(test_reused_before_the_free_is_over),
		cmocka_unit_test(test_reused_after_the_free_is_over),
		cmocka_unit_test(test_both_frees_of_a_reused_address_are_told_apart),
		cmocka_unit_test(test_double_free_by_two_threads),
		cmocka_unit_test(test_a_failed_free_does_not_replace_the_successor),
		cmocka_unit_test(test_many_frees_at_once),
		cmocka_unit_test(test_lost_beginning_of_a_free),
		cmocka_unit_test(test_lost_beginning_does_not_free_the_successor),
		cmocka_unit_test(test_lost_end_of_a_free),
		cmocka_unit_test(test_both_records_of_a_free_lost),
		cmocka_unit_test(test_free_of_memory_from_before_tracing),
		cmocka_unit_test(test_free_of_memory_that_nobody_saw_allocated),
		cmocka_unit_test(test_calls_whose_ends_nobody_watches),
		cmocka_unit_test(test_free_of_nothing),
		cmocka_unit_test(test_free_of_an_unread_address_is_not_a_free_of_nothing),
		cmocka_unit_test(test_alloc_of_no_bytes),
		cmocka_unit_test(test_alloc_at_an_unread_address),
		cmocka_unit_test(test_alloc_of_an_unread_size),
	};

	return unit_run("state", tests);
}
