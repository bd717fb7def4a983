// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocations that are not known by an address: arrays, memory of others, physical memory; and what
 * ends with contexts and programs.
 */
#include "ledger/exports.h"
#include "physical.h"

/* ---- values of different kinds --------------------------------------------------------------- */

static void test_equal_values_of_different_kinds_are_apart(void **state)
{
	static const struct {
		const char *alloc, *free;
		enum ms_space space;
	} cases[] = {
		{ "cuMemAlloc_v2", "cuMemFree_v2", MS_SPACE_DEVICE },
		{ "cuMemAddressReserve", "cuMemAddressFree", MS_SPACE_RESERVED },
		{ "cuMemCreate", "cuMemRelease", MS_SPACE_PHYSICAL },
		{ "cuMemMap", "cuMemUnmap", MS_SPACE_MAPPED },
		{ "cuArrayCreate_v2", "cuArrayDestroy", MS_SPACE_ARRAY },
		{ "cuImportExternalMemory", "cuDestroyExternalMemory", MS_SPACE_IMPORTED },
	};
	struct scenario s = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 6; i++)
		apply(&s, record_alloc(cases[i].alloc, VA, 1000 + i));
	for (i = 0; i < 6; i++)
		assert_live(&s, cases[i].space, 1, 1000 + i);
	for (i = 0; i < 6; i++) {
		apply_end_of(&s, cases[i].free, VA, 0);
		assert_changed(&s, i + 1, 1000 + i);
		assert_live(&s, cases[i].space, 0, 0);
	}
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_two_kinds_of_free_at_once(void **state)
{
	union record inner = record_failed(1, record_free("cuMemFree_v2", VA));
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", VA, 1));
	apply(&s, record_alloc("cuArrayCreate_v2", VA, 2));
	apply(&s, record_begin_of("cuArrayDestroy", VA, 0));
	apply(&s, record_begin_of("cuMemFree_v2", VA, 0));
	inner.call.flags |= MS_CALL_NESTED;
	apply(&s, inner);
	apply(&s, record_free("cuArrayDestroy", VA));
	assert_changed(&s, 2, 2);
	assert_live(&s, MS_SPACE_DEVICE, 1, 1);
	assert_live(&s, MS_SPACE_ARRAY, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

/* A handle may be any number. */
static void test_a_handle_of_0(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, 0, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	release(&s, 0);
	assert_int_equal(s.change.free, FREE_KNOWN);
	release(&s, 0);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	state_fini(&s.state);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void test_arrays(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_in(CONTEXT, record_alloc("cuArrayCreate_v2", H, 100)));
	apply(&s, record_in(CONTEXT, record_alloc("cuMipmappedArrayCreate", H2, 200)));
	apply(&s, record_alloc("cudaMallocArray", H2 + 1, 400));
	assert_live(&s, MS_SPACE_ARRAY, 3, 700);
	apply_end_of(&s, "cuMemFree_v2", H, 0); /* no address */
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	apply_end_of(&s, "cuArrayDestroy", H, 0);
	assert_changed(&s, 1, 100);
	apply(&s, record_begin_of("cuMipmappedArrayDestroy", H2, 0));
	apply(&s, record_failed(1, record_free("cuMipmappedArrayDestroy", H2)));
	assert_live(&s, MS_SPACE_ARRAY, 2, 600);
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_int_equal(s.change.implicit[MS_SPACE_ARRAY].bytes, 200);
	assert_live(&s, MS_SPACE_ARRAY, 1, 400);
	apply_end_of(&s, "cudaFreeArray", H2 + 1, 0);
	assert_live(&s, MS_SPACE_ARRAY, 0, 0);
	assert_freed(&s, MS_SPACE_ARRAY, 2, 500);
	state_fini(&s.state);
}

/* ---- memory of others ------------------------------------------------------------------------ */

static union record opened(const char *symbol, uint64_t addr)
{
	return record_without(MS_KNOWN_SIZE, record_alloc(symbol, addr, 0));
}

static void test_imported_memory_is_mapped_and_released(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, opened("cuMemImportFromShareableHandle", H));
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	apply(&s, record_map(VA, MIB, H));
	assert_int_equal(s.change.allocation.owner, 1);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KEPT);
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	unmap(&s, VA, MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_IMPORTED].count, 1);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNKNOWN_SIZES], 0);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_external_memory(void **state)
{
	struct scenario s = { 0 };
	const char *get = "cuExternalMemoryGetMappedBuffer";

	(void)state;
	apply(&s, record_in(CONTEXT, record_alloc("cuImportExternalMemory", H, 4 * MIB)));
	apply(&s, record_from(H, record_in(CONTEXT, record_alloc(get, VA, MIB))));
	assert_live(&s, MS_SPACE_IMPORTED, 1, 4 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 1, MIB);
	apply_end_of(&s, "cuMemFree_v2", VA, 0);
	assert_changed(&s, 2, MIB);
	apply_end_of(&s, "cuDestroyExternalMemory", H, 0);
	assert_changed(&s, 1, 4 * MIB);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);

	/* A context takes both with it. */
	apply(&s, record_in(CONTEXT, record_alloc("cuImportExternalMemory", H, 4 * MIB)));
	apply(&s, record_from(H, record_in(CONTEXT, record_alloc(get, VA, MIB))));
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_opened_twice_and_closed_twice(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, opened("cuIpcOpenMemHandle_v2", VA));
	apply(&s, opened("cuIpcOpenMemHandle_v2", VA));
	assert_changed(&s, 1, 0);
	assert_int_equal(s.change.allocation.references, 2);
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	assert_int_equal(space_of(&s, MS_SPACE_IMPORTED)->allocs, 1);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	assert_int_equal(s.change.free, FREE_KEPT);
	assert_changed(&s, 1, 0);
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	apply(&s, record_begin_of("cuIpcCloseMemHandle", VA, 0));
	apply(&s, record_failed(1, record_free("cuIpcCloseMemHandle", VA)));
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_freed(&s, MS_SPACE_IMPORTED, 1, 0);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	state_fini(&s.state);
}

/* Both have begun when the first one ends; a failed one in between gives nothing back. */
static void test_closed_by_two_threads_at_once(void **state)
{
	struct scenario s = { 0 };
	const char *close = "cuIpcCloseMemHandle";

	(void)state;
	apply(&s, opened("cuIpcOpenMemHandle_v2", VA));
	apply(&s, opened("cuIpcOpenMemHandle_v2", VA));
	apply(&s, record_begin_of(close, VA, 0));
	apply(&s, record_failed(1, record_free(close, VA)));
	apply(&s, record_begin_of(close, VA, 0));
	apply(&s, record_by(OTHER_THREAD, record_begin_of(close, VA, 0)));
	apply(&s, record_by(OTHER_THREAD, record_free(close, VA)));
	assert_int_equal(s.change.free, FREE_KEPT);
	apply(&s, record_free(close, VA));
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

/* By a call with an event of its own inside another one's: the whole takes its place. */
static void test_opened_by_a_part_of_a_call(void **state)
{
	union record part = opened("cuIpcOpenMemHandle_v2", VA);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(2000, record_taking(10, record_flagged(MS_CALL_PART, part))));
	apply(&s, record_at(1000, record_taking(2000, opened("cudaIpcOpenMemHandle", VA))));
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	assert_int_equal(space_of(&s, MS_SPACE_IMPORTED)->allocs, 1);
	apply_end_of(&s, "cudaIpcCloseMemHandle", VA, 0);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

#define HANDLE 0x1234567ull

/* By the handle that another process exported: as large as the block there, also when closed. */
static void test_opened_by_a_handle(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_call("cuCtxSynchronize")); /* the first process */
	apply(&s,
	      record_of(RECORD_PID + 1, RECORD_START_NS, record_alloc("cuMemAlloc_v2", VA, 4096)));
	apply(&s, record_of(RECORD_PID + 1, RECORD_START_NS,
			    record_memory("cuIpcGetMemHandle", VA + 100, HANDLE)));
	apply(&s, record_from(HANDLE, opened("cuIpcOpenMemHandle_v2", VA)));
	assert_live(&s, MS_SPACE_IMPORTED, 1, 4096);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_freed(&s, MS_SPACE_IMPORTED, 1, 4096);
	assert_int_equal(space_of(&s, MS_SPACE_IMPORTED)->peak_bytes, 4096);
	assert_int_equal(space_of(&s, MS_SPACE_IMPORTED)->alloc_bytes, 4096);
	assert_int_equal(s.change.process->counters[COUNTER_UNSIZED_IMPORTS], 0);
	state_fini(&s.state);
}

/* Of a handle whose export was not seen, or of none, it stays unknown. */
static void test_opened_by_an_unknown_handle(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_from(HANDLE, opened("cuIpcOpenMemHandle_v2", VA)));
	apply(&s, record_from(0, opened("cuIpcOpenMemHandle_v2", 2 * VA)));
	assert_int_equal(s.change.process->counters[COUNTER_UNKNOWN_SIZES], 2);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	apply_end_of(&s, "cuIpcCloseMemHandle", 2 * VA, 0);
	assert_int_equal(s.change.process->counters[COUNTER_UNKNOWN_SIZES], 0);
	assert_int_equal(s.change.process->counters[COUNTER_UNSIZED_IMPORTS], 2);
	state_fini(&s.state);
}

/* The newest are remembered, and no more than twice as many. */
static void test_many_exports(void **state)
{
	struct exports exports = { 0 };
	uint64_t i, size = 0;

	(void)state;
	for (i = 1; i <= 10 * LIMIT_EXPORTS; i++)
		assert_int_equal(exports_add(&exports, i, i + 7), 0);
	assert_true(exports.now.count + exports.before.count <= 2 * LIMIT_EXPORTS);
	assert_true(exports_find(&exports, 9 * LIMIT_EXPORTS + 1, &size));
	assert_int_equal(size, 9 * LIMIT_EXPORTS + 8);
	assert_false(exports_find(&exports, LIMIT_EXPORTS, &size));
	exports_fini(&exports);
}

/* What was there before is not imported memory, and so no further reference to it. */
static void test_opened_at_an_address_of_something_else(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", VA, 10));
	apply(&s, opened("cuIpcOpenMemHandle_v2", VA));
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	apply(&s, record_alloc("cuMemAlloc_v2", VA, 10));
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 2);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	state_fini(&s.state);
}

/* ---- ends of contexts and programs ----------------------------------------------------------- */

static void make_everything(struct scenario *s)
{
	union record map = record_map(VA, MIB, H), again = record_map(VA + MIB, MIB, H2);

	apply(s, record_in(CONTEXT, record_context("cuDevicePrimaryCtxRetain", CONTEXT, 0)));
	apply(s, record_in(CONTEXT, record_alloc("cuMemAddressReserve", VA, 2 * MIB)));
	apply(s, record_in(CONTEXT, record_alloc("cuMemCreate", H, MIB)));
	apply(s, record_in(CONTEXT, record_alloc("cuMemCreate", H2, MIB)));
	apply(s, record_in(CONTEXT, map));
	apply(s, record_in(CONTEXT, again));
	apply(s, record_in(CONTEXT, opened("cuMemImportFromShareableHandle", H + 1)));
	release(s, H2);
	apply(s, record_in(CONTEXT, record_alloc("cuMemAlloc_v2", VA + 4 * MIB, 10)));
}

static void test_contexts_do_not_own_physical_memory(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	make_everything(&s);
	apply(&s, record_context("cuDevicePrimaryCtxReset_v2", 0, 0));
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	apply(&s, record_context("cuCtxDestroy_v2", CONTEXT, 0));
	assert_live(&s, MS_SPACE_RESERVED, 1, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 2, 2 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 2, 2 * MIB);
	assert_live(&s, MS_SPACE_IMPORTED, 1, 0);
	unmap(&s, VA, 2 * MIB);
	release(&s, H);
	release(&s, H + 1);
	apply_end_of(&s, "cuMemAddressFree", VA, 0);
	assert_live(&s, MS_SPACE_RESERVED, 0, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_live(&s, MS_SPACE_IMPORTED, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_exec_ends_everything(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	make_everything(&s);
	apply(&s, record_alloc("cuArrayCreate_v2", H, 3));
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	assert_int_equal(s.change.implicit[MS_SPACE_RESERVED].bytes, 2 * MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].bytes, 2 * MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].count, 2);
	assert_int_equal(s.change.implicit[MS_SPACE_MAPPED].bytes, 2 * MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_IMPORTED].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_ARRAY].bytes, 3);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 10);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_int_equal(space_of(&s, MS_SPACE_PHYSICAL)->implicit_bytes, 2 * MIB);
	assert_freed(&s, MS_SPACE_PHYSICAL, 0, 0);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	create(&s, H, 5);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 5);
	state_fini(&s.state);
}

static void test_exit_ends_everything(void **state)
{
	struct allocation largest[PROCESS_LARGEST];
	struct scenario s = { 0 };

	(void)state;
	make_everything(&s);
	apply(&s, record_exit(0));
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].count, 2);
	assert_int_equal(s.change.implicit[MS_SPACE_MAPPED].count, 2);
	assert_int_equal(space_of(&s, MS_SPACE_PHYSICAL)->exit_bytes, 2 * MIB);
	assert_int_equal(space_of(&s, MS_SPACE_RESERVED)->exit_count, 1);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	/* Addresses are no memory: one range and two mappings are not in the list. */
	assert_int_equal(state_largest(first_process(&s), largest, PROCESS_LARGEST), 4);
	assert_int_equal(largest[0].space, MS_SPACE_PHYSICAL);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_values_of_different_kinds_are_apart),
		cmocka_unit_test(test_two_kinds_of_free_at_once),
		cmocka_unit_test(test_a_handle_of_0),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_imported_memory_is_mapped_and_released),
		cmocka_unit_test(test_external_memory),
		cmocka_unit_test(test_opened_twice_and_closed_twice),
		cmocka_unit_test(test_closed_by_two_threads_at_once),
		cmocka_unit_test(test_opened_by_a_part_of_a_call),
		cmocka_unit_test(test_opened_by_a_handle),
		cmocka_unit_test(test_opened_by_an_unknown_handle),
		cmocka_unit_test(test_many_exports),
		cmocka_unit_test(test_opened_at_an_address_of_something_else),
		cmocka_unit_test(test_contexts_do_not_own_physical_memory),
		cmocka_unit_test(test_exec_ends_everything),
		cmocka_unit_test(test_exit_ends_everything),
	};

	return unit_run("state: kinds of memory", tests);
}
