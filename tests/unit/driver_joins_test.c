// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which of the driver's objects stands behind which allocations, by their addresses; and memory
 * that has several names, which counts once.
 */
#include <inttypes.h>

#include "ledger/driver_joins.h"
#include "ledger/limits.h"
#include "scenario.h"

#define CLIENT 0xc1d00001u
#define BASE 0x7ea03a000000ull
#define MIB (1ull << 20)
#define OTHER 4713

static struct driver_joins joins_of(const struct scenario *s)
{
	struct driver_joins joins;

	assert_true(driver_joins_of(first_process(s), &joins));
	return joins;
}

static void map(struct scenario *s, uint64_t base, uint64_t bytes, uint32_t object)
{
	apply(s, record_range(MS_RANGE_CREATE, base, bytes, 0));
	apply(s, record_range(MS_RANGE_MAP, base, bytes, object));
}

static void assert_sums(const struct scenario *s, uint64_t behind, uint64_t empty,
			uint64_t unmapped)
{
	const struct driver_joins joins = joins_of(s);

	assert_int_equal(joins.behind_bytes, behind);
	assert_int_equal(joins.empty_bytes, empty);
	assert_int_equal(joins.unmapped_bytes, unmapped);
	assert_int_equal(behind + empty + unmapped, first_process(s)->driver.device.live_bytes);
}

static void test_a_chunk_with_blocks(void **state)
{
	struct scenario s = { 0 };
	struct driver_joins joins;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	assert_false(driver_joins_of(first_process(&s), &joins));
	map(&s, BASE, 2 * MIB, 1);
	assert_sums(&s, 0, 2 * MIB, 0);
	apply(&s, record_alloc("cuMemAlloc_v2", BASE, 1000));
	apply(&s, record_alloc("cuMemAlloc_v2", BASE + 1024, 5000));
	apply(&s, record_object(2, 4 * MIB));
	assert_sums(&s, 2 * MIB, 0, 4 * MIB);
	joins = joins_of(&s);
	assert_int_equal(joins.largest_count, 2);
	assert_int_equal(joins.largest[0].object, 2);
	assert_int_equal(joins.largest[0].base, 0);
	assert_int_equal(joins.largest[1].base, BASE);
	assert_int_equal(joins.largest[1].blocks, 2);
	assert_int_equal(joins.largest[1].block_bytes, 6000);
	assert_int_equal(joins.largest[1].block_addr, BASE + 1024);
	assert_int_equal(joins.outside_blocks, 0);
	/* One more that nothing is known behind, and one at the very end. */
	apply(&s, record_alloc("cuMemAlloc_v2", BASE + 2 * MIB, 7));
	apply(&s, record_alloc("cuMemAlloc_v2", BASE + 2 * MIB - 1, 1));
	joins = joins_of(&s);
	assert_int_equal(joins.outside_blocks, 1);
	assert_int_equal(joins.outside_bytes, 7);
	assert_int_equal(joins.blocks, 3);
	apply_free_of(&s, "cuMemFree_v2", BASE);
	assert_int_equal(joins_of(&s).blocks, 2);
	state_fini(&s.state);
}

static void test_a_block_in_two_objects(void **state)
{
	struct scenario s = { 0 };
	struct driver_joins joins;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	apply(&s, record_object(2, 4 * MIB));
	map(&s, BASE, 2 * MIB, 1);
	map(&s, BASE + 2 * MIB, 4 * MIB, 2);
	apply(&s, record_alloc("cuMemAlloc_v2", BASE + MIB, 3 * MIB));
	joins = joins_of(&s);
	assert_int_equal(joins.blocks, 1);
	assert_int_equal(joins.block_bytes, 3 * MIB);
	assert_int_equal(joins.largest[0].block_bytes, 2 * MIB);
	assert_int_equal(joins.largest[1].block_bytes, MIB);
	/* Its second half is in none. */
	apply(&s, record_range(MS_RANGE_FREE, BASE + 2 * MIB, 4 * MIB, 0));
	joins = joins_of(&s);
	assert_int_equal(joins.block_bytes, MIB);
	assert_int_equal(joins.outside_bytes, 2 * MIB);
	assert_int_equal(joins.outside_blocks, 0);
	assert_sums(&s, 2 * MIB, 0, 4 * MIB);
	state_fini(&s.state);
}

static void test_ends_of_ranges(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, record_object(1, 4 * MIB));
	map(&s, BASE, 4 * MIB, 1);
	assert_sums(&s, 0, 4 * MIB, 0);
	/* Two parts of one range; a newer driver does not say how much is freed. */
	apply(&s, record_range(MS_RANGE_UNMAP, BASE, 4 * MIB, 0));
	assert_sums(&s, 0, 0, 4 * MIB);
	apply(&s, record_range(MS_RANGE_MAP, BASE, 2 * MIB, 1));
	apply(&s, record_range(MS_RANGE_MAP, BASE + 2 * MIB, 2 * MIB, 1));
	assert_int_equal(joins_of(&s).largest[0].mapped_bytes, 4 * MIB);
	record = record_range(MS_RANGE_FREE, BASE, 0, 0);
	record.range.status = 0x1e;
	apply(&s, record);
	assert_sums(&s, 0, 4 * MIB, 0);
	apply(&s, record_range(MS_RANGE_FREE, BASE, 0, 0));
	assert_sums(&s, 0, 0, 4 * MIB);
	/* One whose end was not seen. */
	map(&s, BASE, 4 * MIB, 1);
	map(&s, BASE, 2 * MIB, 9);
	assert_sums(&s, 0, 0, 4 * MIB);
	assert_int_equal(first_process(&s)->driver.ranges.mapped.count, 1);
	state_fini(&s.state);
}

static void test_managed_memory_has_no_object(void **state)
{
	struct scenario s = { 0 };
	struct driver_joins joins;

	(void)state;
	apply(&s, record_range(MS_RANGE_MANAGED, BASE, 8 * MIB, 0));
	apply(&s, record_alloc("cuMemAllocManaged", BASE, 8 * MIB));
	apply(&s, record_alloc("cuMemAllocManaged", BASE + 16 * MIB, MIB));
	joins = joins_of(&s);
	assert_int_equal(joins.managed_blocks, 1);
	assert_int_equal(joins.managed_bytes, 8 * MIB);
	assert_int_equal(joins.managed_outside_blocks, 1);
	assert_int_equal(joins.managed_outside_bytes, MIB);
	assert_int_equal(joins.outside_blocks, 0);
	state_fini(&s.state);
}

/* The driver is not told when it is freed: it is known by the allocation. */
static void test_managed_memory_that_comes_and_goes(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	apply(&s, record_range(MS_RANGE_MANAGED, BASE, MIB, 0));
	apply(&s, record_alloc("cuMemAllocManaged", BASE, MIB));
	for (i = 1; i < 5000; i++) {
		const uint64_t base = BASE + i * MIB;

		s.now_ns += 10000000;
		apply(&s, record_range(MS_RANGE_MANAGED, base, MIB, 0));
		apply(&s, record_alloc("cuMemAllocManaged", base, MIB));
		assert_int_equal(joins_of(&s).managed_blocks, 2);
		apply_free_of(&s, "cuMemFree_v2", base);
	}
	assert_in_range(first_process(&s)->driver.ranges.created.count, 1, 1100);
	state_fini(&s.state);
}

/* Without their allocations, there are many at once; other ranges have their place all the same. */
static void test_managed_ranges_have_a_limit(void **state)
{
	struct scenario s = { 0 };
	const struct driver_ranges *ranges;
	uint64_t i;

	(void)state;
	for (i = 0; i < LIMIT_MANAGED_RANGES + 3; i++)
		apply(&s, record_range(MS_RANGE_MANAGED, BASE + i * MIB, MIB, 0));
	ranges = &first_process(&s)->driver.ranges;
	assert_int_equal(ranges->managed_count, LIMIT_MANAGED_RANGES);
	assert_int_equal(first_process(&s)->counters[COUNTER_OTHER_DRIVER_OBJECTS], 3);
	apply(&s, record_range(MS_RANGE_CREATE, BASE - 2 * MIB, 2 * MIB, 0));
	assert_int_equal(ranges->created.count, LIMIT_MANAGED_RANGES + 1);
	/* Another one at the same addresses, and what is freed. */
	apply(&s, record_range(MS_RANGE_MANAGED, BASE, 2 * MIB, 0));
	apply(&s, record_range(MS_RANGE_CREATE, BASE, MIB, 0));
	apply(&s, record_range(MS_RANGE_FREE, BASE + MIB, 0, 0));
	assert_int_equal(ranges->managed_count, LIMIT_MANAGED_RANGES - 2);
	/* The last one of these finds no place, and those before are over. */
	s.now_ns += 2000000000;
	for (i = 0; i < 3; i++)
		apply(&s, record_range(MS_RANGE_MANAGED, BASE - (4 + i) * MIB, MIB, 0));
	assert_int_equal(ranges->managed_count, 3);
	state_fini(&s.state);
}

/* CUDA asks whether a range is there; that makes none. */
static void test_a_range_that_is_validated_stays_what_it_is(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	map(&s, BASE, 2 * MIB, 1);
	apply(&s, record_range(MS_RANGE_MANAGED, BASE, 2 * MIB, 0));
	assert_sums(&s, 0, 2 * MIB, 0);
	assert_int_equal(first_process(&s)->driver.ranges.managed_count, 0);
	/* Of another size, it is another one. */
	apply(&s, record_range(MS_RANGE_MANAGED, BASE, 4 * MIB, 0));
	assert_sums(&s, 0, 0, 2 * MIB);
	state_fini(&s.state);
}

static union record on_gpu(union record record, uint8_t gpu)
{
	memset(record.range.uuid, gpu, 5);
	return record;
}

/* Each one has an ioctl of its own. */
static void test_what_is_mapped_on_two_gpus(void **state)
{
	const union record map_it = record_range(MS_RANGE_MAP, BASE, 2 * MIB, 1);
	const union record unmap_it = record_range(MS_RANGE_UNMAP, BASE, 4 * MIB, 0);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	apply(&s, record_range(MS_RANGE_CREATE, BASE, 2 * MIB, 0));
	apply(&s, on_gpu(map_it, 1));
	apply(&s, on_gpu(map_it, 2));
	assert_int_equal(joins_of(&s).largest[0].mapped_bytes, 2 * MIB);
	apply(&s, on_gpu(unmap_it, 3));
	apply(&s, on_gpu(unmap_it, 1));
	apply(&s, on_gpu(unmap_it, 1));
	assert_sums(&s, 0, 2 * MIB, 0);
	apply(&s, on_gpu(unmap_it, 2));
	assert_sums(&s, 0, 0, 2 * MIB);
	/* If one of them is not known, all of them are meant. */
	apply(&s, on_gpu(map_it, 1));
	apply(&s, unmap_it);
	assert_sums(&s, 0, 0, 2 * MIB);
	apply(&s, map_it);
	apply(&s, on_gpu(map_it, 1));
	apply(&s, on_gpu(unmap_it, 2));
	assert_sums(&s, 0, 0, 2 * MIB);
	state_fini(&s.state);
}

static union record of_file(union record record, uint32_t file)
{
	record.range.file = file;
	return record;
}

/* Ranges end with the file of /dev/nvidia-uvm that they were asked of. */
static void test_a_file_is_closed(void **state)
{
	const uint64_t other = BASE + 64 * MIB;
	struct driver_ranges_totals totals;
	union record closed = record_object(0, 0);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	apply(&s, of_file(record_range(MS_RANGE_CREATE, BASE, 2 * MIB, 0), 5));
	apply(&s, of_file(record_range(MS_RANGE_MAP, BASE, 2 * MIB, 1), 5));
	apply(&s, of_file(record_range(MS_RANGE_MANAGED, BASE + 8 * MIB, 3 * MIB, 0), 5));
	apply(&s, of_file(record_range(MS_RANGE_CREATE, other, 4 * MIB, 0), 6));
	apply(&s, of_file(record_range(MS_RANGE_MAP, other, 1 * MIB, 1), 6));
	driver_ranges_sum(&first_process(&s)->driver.ranges, &totals);
	assert_int_equal(totals.external_count, 2);
	assert_int_equal(totals.external_bytes, 6 * MIB);
	assert_int_equal(totals.mapped_bytes, 3 * MIB);
	assert_int_equal(totals.managed_bytes, 3 * MIB);
	closed.object.action = MS_OBJECT_CLOSED;
	closed.object.file = 5;
	apply(&s, closed);
	driver_ranges_sum(&first_process(&s)->driver.ranges, &totals);
	assert_int_equal(totals.external_count, 1);
	assert_int_equal(totals.external_bytes, 4 * MIB);
	assert_int_equal(totals.mapped_count, 1);
	assert_int_equal(totals.mapped_bytes, 1 * MIB);
	assert_int_equal(totals.managed_count, 0);
	assert_int_equal(first_process(&s)->driver.ranges.managed_count, 0);
	assert_sums(&s, 0, 2 * MIB, 0);
	state_fini(&s.state);
}

static void test_more_gpus_than_are_told_apart(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	for (i = 1; i <= DRIVER_RANGES_GPUS + 1; i++)
		apply(&s, on_gpu(record_range(MS_RANGE_MAP, BASE, 2 * MIB, 1), i));
	assert_sums(&s, 0, 2 * MIB, 0);
	apply(&s, on_gpu(record_range(MS_RANGE_UNMAP, BASE, 2 * MIB, 0), 200));
	assert_sums(&s, 0, 0, 2 * MIB);
	state_fini(&s.state);
}

static void test_a_block_across_two_ranges_of_an_object(void **state)
{
	struct scenario s = { 0 };
	struct driver_joins joins;

	(void)state;
	apply(&s, record_object(1, 4 * MIB));
	apply(&s, record_range(MS_RANGE_MAP, BASE, 2 * MIB, 1));
	apply(&s, record_range(MS_RANGE_MAP, BASE + 2 * MIB, 2 * MIB, 1));
	apply(&s, record_alloc("cuMemAlloc_v2", BASE + MIB, 2 * MIB));
	joins = joins_of(&s);
	assert_int_equal(joins.blocks, 1);
	assert_int_equal(joins.largest[0].blocks, 1);
	assert_int_equal(joins.largest[0].block_bytes, 2 * MIB);
	state_fini(&s.state);
}

/* What it was like at the end is kept; the ranges are not. */
static void test_the_end_of_a_process(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	map(&s, BASE, 2 * MIB, 1);
	apply(&s, record_alloc("cuMemAlloc_v2", BASE, 1000));
	apply(&s, record_process(MS_TYPE_EXIT, "program", 0));
	assert_int_equal(joins_of(&s).behind_bytes, 2 * MIB);
	assert_int_equal(joins_of(&s).largest[0].blocks, 1);
	assert_int_equal(first_process(&s)->driver.ranges.mapped.count, 0);
	state_fini(&s.state);
}

/* ---- several names --------------------------------------------------------------------------- */

static const struct process *other_of(const struct scenario *s)
{
	return state_find(&s->state, OTHER, first_process(s)->start_ns);
}

static union record named(enum ms_object_action action, uint32_t pid, uint32_t object)
{
	union record record = record_object(object, 0);

	record.event.pid = record.event.tid = pid;
	record.object.action = action;
	record.object.client = pid == OTHER ? CLIENT + 1 : CLIENT;
	record.object.class_number = 0;
	return record;
}

static void assert_shared(const struct scenario *s, uint64_t bytes)
{
	assert_int_equal(first_process(s)->driver.device.live_bytes, 2 * MIB);
	assert_int_equal(first_process(s)->driver.shared.live_bytes, 0);
	assert_int_equal(other_of(s)->driver.device.live_bytes, 0);
	assert_int_equal(other_of(s)->driver.shared.live_bytes, bytes);
}

static void test_memory_of_another_process(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	record = named(MS_OBJECT_DUP, OTHER, 40);
	record.object.source_client = CLIENT;
	record.object.source_object = 1;
	record.object.status = 0x57;
	apply(&s, record);
	assert_shared(&s, 0);
	record.object.status = 0;
	apply(&s, record);
	assert_shared(&s, 2 * MIB);
	/* The same handle once more is still one. */
	apply(&s, record);
	assert_shared(&s, 2 * MIB);
	apply(&s, named(MS_OBJECT_FREE, OTHER, 40));
	assert_shared(&s, 0);
	state_fini(&s.state);
}

static void test_memory_that_goes_by_a_file(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	record = named(MS_OBJECT_EXPORT, RECORD_PID, 1);
	record.object.source_client = 77;
	apply(&s, record);
	record = named(MS_OBJECT_IMPORT, OTHER, 41);
	record.object.source_client = 78;
	apply(&s, record);
	record.object.source_client = 77;
	apply(&s, record);
	assert_shared(&s, 2 * MIB);
	/* Its own exporter has it back under another name: no memory of another's. */
	record = named(MS_OBJECT_IMPORT, RECORD_PID, 42);
	record.object.source_client = 77;
	apply(&s, record);
	assert_shared(&s, 2 * MIB);
	apply(&s, named(MS_OBJECT_FREE, OTHER, CLIENT + 1));
	record = named(MS_OBJECT_FREE, OTHER, 0);
	record.object.object = record.object.client;
	apply(&s, record);
	assert_shared(&s, 0);
	state_fini(&s.state);
}

/* A range that is mapped by another name of an object of the process stands for that object. */
static void test_other_names_of_its_own(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, record_object(1, 2 * MIB));
	record = named(MS_OBJECT_DUP, RECORD_PID, 40);
	record.object.source_client = CLIENT;
	record.object.source_object = 1;
	apply(&s, record);
	map(&s, BASE, 2 * MIB, 40);
	apply(&s, record_alloc("cuMemAlloc_v2", BASE, 1000));
	assert_sums(&s, 2 * MIB, 0, 0);
	assert_int_equal(joins_of(&s).largest_count, 1);
	assert_int_equal(joins_of(&s).largest[0].object, 1);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chunk_with_blocks),
		cmocka_unit_test(test_a_block_in_two_objects),
		cmocka_unit_test(test_ends_of_ranges),
		cmocka_unit_test(test_managed_memory_has_no_object),
		cmocka_unit_test(test_managed_memory_that_comes_and_goes),
		cmocka_unit_test(test_managed_ranges_have_a_limit),
		cmocka_unit_test(test_a_range_that_is_validated_stays_what_it_is),
		cmocka_unit_test(test_what_is_mapped_on_two_gpus),
		cmocka_unit_test(test_a_file_is_closed),
		cmocka_unit_test(test_more_gpus_than_are_told_apart),
		cmocka_unit_test(test_a_block_across_two_ranges_of_an_object),
		cmocka_unit_test(test_the_end_of_a_process),
		cmocka_unit_test(test_memory_of_another_process),
		cmocka_unit_test(test_memory_that_goes_by_a_file),
		cmocka_unit_test(test_other_names_of_its_own),
	};

	return cmocka_run_group_tests_name("objects by address", tests, NULL, NULL);
}
