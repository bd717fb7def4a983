// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies whose direction the program leaves to the driver, and what the program is told about
 * memory.
 */
#include "physical.h"

#define DEVICE 0x7f1000000000
#define HOST 0x7f2000000000
#define PAGEABLE 0x1000
#define POOL 0x7700
#define RESERVED 5
#define USED 7

/* ---- directions ------------------------------------------------------------------------------ */

static union record default_copy(uint64_t to, uint64_t from)
{
	union record record = record_copy("cuMemcpy", 10, MS_DIRECTION_DEFAULT);

	return record_to(to, record_from(from, record));
}

static enum ms_direction resolved(struct scenario *s, uint64_t to, uint64_t from)
{
	apply(s, default_copy(to, from));
	return s->change.direction;
}

/* An allocation of every kind of memory that has addresses. */
static const struct {
	const char *alloc;
	bool host;
} kinds[] = {
	{ "cuMemAlloc_v2", false },     { "cuMemAllocAsync", false },
	{ "cuMemAllocManaged", false }, { "cuMemPoolImportPointer", false },
	{ "cuMemMap", false },          { "cuExternalMemoryGetMappedBuffer", false },
	{ "cuMemAllocHost_v2", true },  { "cuMemHostRegister_v2", true },
	{ "cudaMallocHost", true },     { NULL, true }, /* pageable memory: no allocation */
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void test_all_combinations(void **state)
{
	static const enum ms_direction expected[2][2] = {
		{ MS_DIRECTION_DTOD, MS_DIRECTION_DTOH },
		{ MS_DIRECTION_HTOD, MS_DIRECTION_HTOH },
	};
	uint64_t counts[MS_DIRECTIONS_COUNT + 1] = { 0 };
	struct scenario s = { 0 };
	size_t from, to, i;

	(void)state;
	for (i = 0; i < KINDS; i++)
		if (kinds[i].alloc)
			apply(&s, record_alloc(kinds[i].alloc, VA + i * MIB, MIB / 2));
	for (from = 0; from < KINDS; from++) {
		for (to = 0; to < KINDS; to++) {
			enum ms_direction direction = expected[kinds[from].host][kinds[to].host];
			uint64_t last = MIB / 2 - 1;

			assert_int_equal(resolved(&s, VA + to * MIB + last, VA + from * MIB),
					 direction);
			assert_int_equal(resolved(&s, VA + to * MIB, VA + from * MIB + last / 3),
					 direction);
			counts[direction] += 2;
		}
	}
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		assert_int_equal(first_process(&s)->copies[i].count, counts[i]);
		assert_int_equal(first_process(&s)->copies[i].bytes, counts[i] * 10);
	}
	state_fini(&s.state);
}

static void test_what_has_ended_is_pageable_memory(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAlloc_v2", DEVICE, MIB));
	assert_int_equal(resolved(&s, DEVICE + 5, PAGEABLE), MS_DIRECTION_HTOD);
	assert_int_equal(resolved(&s, DEVICE + MIB, PAGEABLE), MS_DIRECTION_HTOH);
	assert_int_equal(resolved(&s, DEVICE - 1, PAGEABLE), MS_DIRECTION_HTOH);
	apply_free_of(&s, "cuMemFree_v2", DEVICE);
	assert_int_equal(resolved(&s, DEVICE + 5, PAGEABLE), MS_DIRECTION_HTOH);
	apply(&s, record_alloc("cuMemAllocHost_v2", DEVICE, MIB));
	assert_int_equal(resolved(&s, DEVICE + 5, DEVICE), MS_DIRECTION_HTOH);
	apply(&s, record_alloc("cuArrayCreate_v2", HOST, MIB)); /* a handle is no address */
	apply(&s, record_alloc("cuMemCreate", HOST, MIB));
	apply(&s, record_alloc("cuMemAddressReserve", HOST, MIB)); /* nothing is there yet */
	assert_int_equal(resolved(&s, HOST + 5, PAGEABLE), MS_DIRECTION_HTOH);
	apply(&s, record_map(HOST, MIB, HOST));
	assert_int_equal(resolved(&s, HOST + 5, PAGEABLE), MS_DIRECTION_HTOD);
	state_fini(&s.state);
}

static void test_memory_of_a_graph(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_node(1, DEVICE, MIB));
	apply(&s, record_memory("cuGraphInstantiate", 2, 1));
	assert_int_equal(resolved(&s, DEVICE + 1, PAGEABLE), MS_DIRECTION_HTOH);
	apply(&s, record_launch("cuGraphLaunch", 2));
	assert_int_equal(resolved(&s, DEVICE + 1, PAGEABLE), MS_DIRECTION_HTOD);
	state_fini(&s.state);
}

/* Where something may be that was not seen, no address is known to be pageable memory. */
static void assert_unclear(struct scenario *s)
{
	assert_int_equal(resolved(s, DEVICE, PAGEABLE), MS_DIRECTION_DEFAULT);
	assert_int_equal(resolved(s, PAGEABLE, DEVICE), MS_DIRECTION_DEFAULT);
	assert_int_equal(resolved(s, PAGEABLE, HOST), MS_DIRECTION_DEFAULT);
	assert_int_equal(resolved(s, PAGEABLE, PAGEABLE), MS_DIRECTION_DEFAULT);
	assert_int_equal(resolved(s, HOST + 1, DEVICE + 1), MS_DIRECTION_DTOH);
	assert_int_equal(resolved(s, DEVICE + 1, HOST + 1), MS_DIRECTION_HTOD);
	assert_int_equal(first_process(s)->copies[MS_DIRECTION_DEFAULT].count, 4);
	state_fini(&s->state);
}

static void make_both(struct scenario *s)
{
	apply(s, record_alloc("cuMemAlloc_v2", DEVICE, MIB));
	apply(s, record_alloc("cuMemAllocHost_v2", HOST, MIB));
}

static void test_unclear_when_attached_to_a_running_process(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	make_both(&s);
	assert_unclear(&s);
}

static void test_unclear_when_an_address_was_not_read(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	make_both(&s);
	assert_int_equal(resolved(&s, PAGEABLE, DEVICE), MS_DIRECTION_DTOH);
	s.state.processes[0]->copies[MS_DIRECTION_DTOH].count = 0;
	apply(&s, record_without(MS_KNOWN_ADDR, record_alloc("cudaMalloc", 0, 100)));
	assert_unclear(&s);
}

static void test_unclear_when_calls_are_watched_at_entry_only(void **state)
{
	const uint16_t unknown = MS_KNOWN_RESULT | MS_KNOWN_ADDR;
	struct scenario s = { 0 };

	(void)state;
	make_both(&s);
	apply(&s, record_without(unknown, record_alloc("cudaMalloc", 0, 100)));
	assert_unclear(&s);
}

static void test_unclear_when_a_module_has_variables(void **state)
{
	static const char *const symbols[] = { "cuModuleGetGlobal_v2", "cuLibraryGetGlobal",
					       "cuLibraryGetManaged", "cudaGetSymbolAddress" };
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct scenario s = { 0 };

		make_both(&s);
		apply(&s, record_failed(1, record_call(symbols[i])));
		assert_false(first_process(&s)->has_globals);
		apply(&s, record_free(symbols[i], 0x7f3000000000));
		assert_unclear(&s);
	}
}

static void test_unclear_while_a_size_is_unknown(void **state)
{
	struct scenario s = { 0 };
	union record open;

	(void)state;
	open = record_without(MS_KNOWN_SIZE, record_alloc("cuIpcOpenMemHandle_v2", VA, 0));
	apply(&s, open);
	make_both(&s);
	assert_int_equal(resolved(&s, VA, DEVICE), MS_DIRECTION_DTOD);
	assert_int_equal(resolved(&s, VA + 1, DEVICE), MS_DIRECTION_DEFAULT);
	apply_end_of(&s, "cuIpcCloseMemHandle", VA, 0);
	assert_int_equal(resolved(&s, VA + 1, DEVICE), MS_DIRECTION_DTOH);
	s.state.processes[0]->copies[MS_DIRECTION_DEFAULT].count = 0;
	apply(&s, open);
	assert_unclear(&s);
}

/* Of the new program everything is seen. */
static void test_clear_after_an_exec(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply(&s, record_free("cuModuleGetGlobal_v2", DEVICE));
	apply(&s, record_process(MS_TYPE_EXEC, "next", 0));
	make_both(&s);
	assert_int_equal(resolved(&s, PAGEABLE, DEVICE), MS_DIRECTION_DTOH);
	assert_int_equal(resolved(&s, PAGEABLE, PAGEABLE), MS_DIRECTION_HTOH);
	state_fini(&s.state);
}

static void test_copies_that_say_where_they_go(void **state)
{
	struct scenario s = { 0 };
	union record copy;

	(void)state;
	make_both(&s);
	copy = record_from(DEVICE, record_copy("cuMemcpyPeer", 10, MS_DIRECTION_PTOP));
	apply(&s, record_to(DEVICE, copy));
	assert_int_equal(s.change.direction, MS_DIRECTION_PTOP);
	copy = record_from(DEVICE, record_copy("cudaMemcpy", 10, MS_DIRECTION_HTOD)); /* it lies */
	apply(&s, record_to(DEVICE, copy));
	assert_int_equal(s.change.direction, MS_DIRECTION_HTOD);

	/* The addresses were not read, or the direction was not. */
	apply(&s, record_without(MS_KNOWN_ADDR, default_copy(0, DEVICE)));
	assert_int_equal(s.change.direction, MS_DIRECTION_DEFAULT);
	copy = default_copy(DEVICE, DEVICE);
	copy.call.known &= ~MS_KNOWN_SRC;
	apply(&s, copy);
	assert_int_equal(s.change.direction, MS_DIRECTION_DEFAULT);
	apply(&s, record_without(MS_KNOWN_DIRECTION, default_copy(DEVICE, DEVICE)));
	assert_int_equal(first_process(&s)->copies[MS_DIRECTIONS_COUNT].count, 1);

	/* Failed and as a part of another one, it says where it goes and is not counted. */
	apply(&s, record_failed(1, default_copy(DEVICE, DEVICE)));
	assert_int_equal(s.change.direction, MS_DIRECTION_DTOD);
	apply(&s, record_flagged(MS_CALL_PART, default_copy(DEVICE, DEVICE)));
	assert_int_equal(s.change.direction, MS_DIRECTION_DTOD);
	assert_int_equal(first_process(&s)->copies[MS_DIRECTION_DTOD].count, 0);
	assert_int_equal(first_process(&s)->copies[MS_DIRECTION_DEFAULT].count, 2);
	state_fini(&s.state);
}

/* ---- views ----------------------------------------------------------------------------------- */

static union record info(uint64_t total, uint64_t left)
{
	union record record = record_from(left, record_call("cuMemGetInfo_v2"));

	record.call.size = total;
	record.call.known |= MS_KNOWN_SIZE;
	return record;
}

static union record attribute(uint64_t pool, uint64_t which, uint64_t value)
{
	return record_from(which, record_alloc("cuMemPoolGetAttribute", pool, value));
}

static void assert_view(const struct scenario *s, size_t i, uint64_t handle, uint64_t total,
			uint64_t left)
{
	const struct view *view = &first_process(s)->views[i];

	assert_in_range(i, 0, first_process(s)->views_count - 1);
	assert_int_equal(view->handle, handle);
	assert_int_equal(view->total_bytes, total);
	assert_int_equal(view->free_bytes, left);
}

static void test_the_program_asks_a_device(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_context("cuCtxCreate_v2", 0xc0, 3));
	apply(&s, record_at(5000, record_taking(20, record_in(0xc0, info(80 * MIB, 50 * MIB)))));
	assert_view(&s, 0, 3, 80 * MIB, 50 * MIB);
	assert_false(first_process(&s)->views[0].is_pool);
	assert_int_equal(first_process(&s)->views[0].ts_ns, 5020);
	apply(&s, info(40 * MIB, 7)); /* of some device */
	assert_view(&s, 1, UINT64_MAX, 40 * MIB, 7);
	apply(&s, record_on(0, info(40 * MIB, 8)));
	apply(&s, record_in(0xc0, info(80 * MIB, 49 * MIB)));
	apply(&s, record_failed(1, record_in(0xc0, info(1, 1))));
	apply(&s, record_without(MS_KNOWN_SIZE, record_in(0xc0, info(1, 1))));
	apply(&s, record_in(0xc0, record_alloc("cuMemGetInfo_v2", 0, 1)));
	assert_int_equal(first_process(&s)->views_count, 3);
	assert_view(&s, 0, 3, 80 * MIB, 49 * MIB);
	assert_view(&s, 1, UINT64_MAX, 40 * MIB, 7);
	assert_view(&s, 2, 0, 40 * MIB, 8);
	state_fini(&s.state);
}

static void test_the_program_asks_a_pool(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_on(0, info(80 * MIB, 50 * MIB)));
	apply(&s, attribute(0, RESERVED, 64 * MIB)); /* its handle is no device */
	apply(&s, attribute(POOL, USED, 10));
	assert_view(&s, 2, POOL, 0, 10);
	apply(&s, attribute(POOL, RESERVED, 32 * MIB));
	assert_view(&s, 2, POOL, 32 * MIB, 10);
	apply(&s, attribute(POOL, USED, 0));
	apply(&s, attribute(POOL, 6, 99)); /* what it was at most */
	apply(&s, attribute(POOL, 8, 99));
	apply(&s, attribute(POOL, 4, 1)); /* a threshold */
	apply(&s, attribute(POOL + 1, 4, 1));
	apply(&s, record_failed(1, attribute(POOL, USED, 5)));
	apply(&s, record_without(MS_KNOWN_SIZE, attribute(POOL, USED, 5)));
	assert_int_equal(first_process(&s)->views_count, 3);
	assert_view(&s, 0, 0, 80 * MIB, 50 * MIB);
	assert_view(&s, 1, 0, 64 * MIB, 0);
	assert_view(&s, 2, POOL, 32 * MIB, 0);
	assert_true(first_process(&s)->views[2].is_pool);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_combinations),
		cmocka_unit_test(test_what_has_ended_is_pageable_memory),
		cmocka_unit_test(test_memory_of_a_graph),
		cmocka_unit_test(test_unclear_when_attached_to_a_running_process),
		cmocka_unit_test(test_unclear_when_an_address_was_not_read),
		cmocka_unit_test(test_unclear_when_calls_are_watched_at_entry_only),
		cmocka_unit_test(test_unclear_when_a_module_has_variables),
		cmocka_unit_test(test_unclear_while_a_size_is_unknown),
		cmocka_unit_test(test_clear_after_an_exec),
		cmocka_unit_test(test_copies_that_say_where_they_go),
		cmocka_unit_test(test_the_program_asks_a_device),
		cmocka_unit_test(test_the_program_asks_a_pool),
	};

	return unit_run("state: copies and views", tests);
}
