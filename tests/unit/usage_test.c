// SPDX-License-Identifier: BSD-2-Clause
/*
 * What allocations by function are made of: their sizes, by powers of two.
 */
#include "scenario.h"

static const struct usage_cell *cell_of(const struct scenario *scenario, const char *symbol)
{
	const struct usage *usage = first_process(scenario)->usage;
	size_t i;

	for (i = 0; i < usage->count; i++)
		if (!strcmp(probe_at(usage->cells[i].row)->symbol, symbol))
			return &usage->cells[i];
	fail_msg("nothing by %s", symbol);
	return NULL;
}

static const struct usage_size *size_of(const struct scenario *scenario, const char *symbol,
					uint8_t size_class)
{
	const struct usage_cell *cell = cell_of(scenario, symbol);

	if (!cell->size_places[size_class])
		return NULL;
	assert_int_equal(cell->sizes[cell->size_places[size_class] - 1].size_class, size_class);
	return &cell->sizes[cell->size_places[size_class] - 1];
}

static union record alloc(uint64_t addr, uint64_t size)
{
	return record_on(0, record_alloc("cuMemAlloc_v2", addr, size));
}

static void test_classes(void **state)
{
	(void)state;
	assert_int_equal(usage_size_class(0), 0);
	assert_int_equal(usage_size_class(1), 0);
	assert_int_equal(usage_size_class(2), 1);
	assert_int_equal(usage_size_class(4095), 11);
	assert_int_equal(usage_size_class(4096), 12);
	assert_int_equal(usage_size_class(UINT64_MAX), 63);
}

static void test_sizes_are_counted_apart(void **state)
{
	struct scenario scenario = { 0 };
	const struct usage_size *size;

	(void)state;
	assert_int_equal(state_follow_usage(&scenario.state), 0);
	apply(&scenario, alloc(0x1000, 4096));
	apply(&scenario, alloc(0x3000, 8191));
	apply(&scenario, alloc(0x6000, 8192));
	apply_free_of(&scenario, "cuMemFree_v2", 0x3000);
	apply(&scenario, alloc(0x3000, 5000));
	apply(&scenario, record_on(0, record_alloc("cuMemAllocManaged", 0x100000, 4096)));
	size = size_of(&scenario, "cuMemAlloc_v2", 12);
	assert_int_equal(size->live_bytes, 4096 + 5000);
	assert_int_equal(size->live_count, 2);
	assert_int_equal(size->allocs, 3);
	assert_int_equal(size->alloc_bytes, 4096 + 8191 + 5000);
	assert_int_equal(size->frees, 1);
	assert_int_equal(size->free_bytes, 8191);
	assert_int_equal(size->most_bytes, 4096 + 8191);
	size = size_of(&scenario, "cuMemAlloc_v2", 13);
	assert_int_equal(size->live_bytes, 8192);
	assert_int_equal(size->most_bytes, 8192);
	assert_null(size_of(&scenario, "cuMemAlloc_v2", 11));
	assert_int_equal(size_of(&scenario, "cuMemAllocManaged", 12)->live_bytes, 4096);
	/* Of the time from now on, there is only what is live. */
	state_restart(&scenario.state, scenario.now_ns);
	size = size_of(&scenario, "cuMemAlloc_v2", 12);
	assert_int_equal(size->live_bytes, 4096 + 5000);
	assert_int_equal(size->allocs, 0);
	assert_int_equal(size->frees, 0);
	assert_int_equal(size->most_bytes, 4096 + 5000);
	state_fini(&scenario.state);
}

/* Whatever happens, the sizes of a cell add up to the cell. */
static void test_sizes_add_up(void **state)
{
	struct scenario scenario = { 0 };
	uint64_t random = 4711;
	size_t i, j;

	(void)state;
	assert_int_equal(state_follow_usage(&scenario.state), 0);
	for (i = 0; i < 5000; i++) {
		uint64_t addr = (random >> 8) % 50 * 0x1000000 + 0x1000000;

		random = unit_random(random);
		if (random % 3 == 0)
			apply_free_of(&scenario, "cuMemFree_v2", addr);
		else
			apply(&scenario, alloc(addr, random >> 32 >> random % 31));
	}
	for (i = 0; i < first_process(&scenario)->usage->count; i++) {
		const struct usage_cell *cell = &first_process(&scenario)->usage->cells[i];
		struct usage_size sum = { 0 };

		for (j = 0; j < cell->sizes_count; j++) {
			sum.live_bytes += cell->sizes[j].live_bytes;
			sum.live_count += cell->sizes[j].live_count;
			sum.allocs += cell->sizes[j].allocs;
			sum.alloc_bytes += cell->sizes[j].alloc_bytes;
			sum.frees += cell->sizes[j].frees;
			sum.free_bytes += cell->sizes[j].free_bytes;
		}
		assert_in_range(cell->sizes_count, 10, 64);
		assert_int_equal(sum.live_bytes, cell->live_bytes);
		assert_int_equal(sum.live_count, cell->live_count);
		assert_int_equal(sum.allocs, cell->allocs);
		assert_int_equal(sum.alloc_bytes, cell->alloc_bytes);
		assert_int_equal(sum.frees, cell->frees);
		assert_int_equal(sum.free_bytes, cell->free_bytes);
	}
	state_fini(&scenario.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_sizes_are_counted_apart),
		cmocka_unit_test(test_sizes_add_up),
	};

	return unit_run("usage", tests);
}
