// SPDX-License-Identifier: BSD-2-Clause
/*
 * Address maps, held against all allocations of a state.
 */
#include <stdio.h>
#include <stdlib.h>

#include "report/address_map.h"
#include "pipeline.h"
#include "records.h"

#define NOW 900000000000ull
#define MIB (1024ull * 1024)
#define ADDR 0x7f0000000000ull

struct made {
	struct pipeline pipeline;
	struct report_options options;
	struct spans *spans;
	struct address_maps maps;
	uint64_t now_ns;
};

static void begin(struct made *made)
{
	*made = (struct made){ .options.device = -1, .spans = spans_new(1), .now_ns = 1000 };
	assert_non_null(made->spans);
	assert_int_equal(state_follow_usage(&made->pipeline.state), 0);
}

static void feed(struct made *made, union record record)
{
	record.event.ts_ns = made->now_ns++;
	assert_int_equal(pipeline_feed(&made->pipeline, &record, record.event.size), 0);
	assert_int_equal(made->pipeline.refused, 0);
}

static void make(struct made *made)
{
	address_maps_fini(&made->maps);
	assert_int_equal(address_maps_make(&made->maps, &made->pipeline.state, &made->options, NOW,
					   made->spans),
			 0);
}

static void end(struct made *made)
{
	address_maps_fini(&made->maps);
	spans_free(made->spans);
	state_fini(&made->pipeline.state);
}

static const struct address_map *map_of(const struct made *made, uint32_t pid, int32_t device)
{
	size_t i;

	for (i = 0; i < made->maps.count; i++)
		if (made->maps.maps[i].pid == pid && made->maps.maps[i].device == device)
			return &made->maps.maps[i];
	return NULL;
}

/* ---- what is in them ------------------------------------------------------------------------- */

static void feed_all_kinds(struct made *made)
{
	static const char *const symbols[] = {
		"cuMemAllocHost_v2",   "cuMemHostRegister_v2", "cuArrayCreate_v2",
		"cuMemAddressReserve", "cuMemCreate",          "cuMemAllocManaged",
		"cuMemAllocAsync",     "cudaMalloc",
	};
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		feed(made, record_on(1, record_alloc(symbols[i], ADDR - i * 16 * MIB, 2 * MIB)));
	feed(made, record_on(1, record_map(ADDR + 16 * MIB, MIB, ADDR - 4 * 16 * MIB)));
	feed(made, record_on(0, record_alloc("cuMemAlloc_v2", ADDR, MIB)));
}

static void test_memory_that_has_an_address(void **state)
{
	const struct address_map *map;
	struct made made;

	(void)state;
	begin(&made);
	feed_all_kinds(&made);
	make(&made);
	assert_int_equal(made.maps.count, 2);
	map = map_of(&made, RECORD_PID, 1);
	assert_int_equal(map->count, 4);
	assert_int_equal(map->ts_ns, NOW);
	assert_false(map->exited);
	assert_int_equal(map->more.count, 0);
	assert_int_equal(map->blocks[0].addr, ADDR - 7 * 16 * MIB);
	assert_int_equal(map->blocks[0].size_bytes, 2 * MIB);
	assert_int_equal(map->blocks[0].ts_ns, 1007);
	assert_int_equal(map->blocks[0].space, MS_SPACE_DEVICE);
	assert_string_equal(spans_name(made.spans, map->blocks[0].name), "cudaMalloc");
	assert_int_equal(map->blocks[1].space, MS_SPACE_POOL);
	assert_int_equal(map->blocks[2].space, MS_SPACE_MANAGED);
	assert_int_equal(map->blocks[3].space, MS_SPACE_MAPPED);
	assert_int_equal(map->blocks[3].addr, ADDR + 16 * MIB);
	assert_int_equal(map_of(&made, RECORD_PID, 0)->count, 1);

	made.options.device = 0;
	make(&made);
	assert_int_equal(made.maps.count, 1);
	made.options = (struct report_options){ .device = -1, .pids = { 1 }, .pids_count = 1 };
	make(&made);
	assert_int_equal(made.maps.count, 0);
	end(&made);
}

/* Only the largest are kept one by one; all of them are counted. */
static void test_a_process_that_has_exited(void **state)
{
	const struct address_map *map;
	struct made made;
	uint64_t i;

	(void)state;
	begin(&made);
	for (i = 1; i <= 30; i++)
		feed(&made, record_on(0, record_alloc("cudaMalloc", ADDR + i * 64 * MIB, i * MIB)));
	feed(&made, record_on(0, record_alloc("cuMemAllocHost_v2", ADDR, 1000 * MIB)));
	feed(&made, record_exit(0));
	make(&made);
	assert_int_equal(made.maps.count, 1);
	map = map_of(&made, RECORD_PID, 0);
	assert_true(map->exited);
	assert_int_equal(map->ts_ns, made.now_ns - 1);
	/* One of the ten is host memory. */
	assert_int_equal(map->count, PROCESS_LARGEST - 1);
	assert_int_equal(map->blocks[0].size_bytes, 22 * MIB);
	assert_int_equal(map->more.count, 21);
	assert_int_equal(map->more.bytes, 21 * 22 / 2 * MIB);
	end(&made);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

#define BLOCKS 30000

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* Of several processes: which are the largest does not depend on whose they are. */
static void test_the_largest_of_a_device(void **state)
{
	static uint64_t sizes[BLOCKS];
	uint64_t total = 0, listed = 0, more_bytes = 0, more = 0, seed = 88172645463325252;
	size_t count = 0, i, j;
	struct made made;

	(void)state;
	begin(&made);
	for (i = 0; i < BLOCKS; i++) {
		seed = unit_random(seed);
		sizes[i] = 1 + (seed >> 20) % (1 << 20);
		total += sizes[i];
		feed(&made, record_of(100 + seed % 3, RECORD_START_NS,
				      record_on(0, record_alloc("cudaMalloc", ADDR + (i ^ 1) * MIB,
								sizes[i]))));
	}
	qsort(sizes, BLOCKS, sizeof(*sizes), by_size);
	make(&made);
	assert_int_equal(made.maps.count, 3);
	for (i = 0; i < 3; i++) {
		const struct address_map *map = &made.maps.maps[i];

		for (j = 0; j < map->count; j++) {
			assert_true(map->blocks[j].size_bytes >= sizes[ADDRESS_BLOCKS_DEVICE - 1]);
			assert_true(!j || map->blocks[j - 1].addr < map->blocks[j].addr);
			listed += map->blocks[j].size_bytes;
		}
		count += map->count;
		more += map->more.count;
		more_bytes += map->more.bytes;
	}
	assert_int_equal(count, ADDRESS_BLOCKS_DEVICE);
	assert_int_equal(more, BLOCKS - ADDRESS_BLOCKS_DEVICE);
	assert_int_equal(listed + more_bytes, total);
	end(&made);
}

static void test_many_devices(void **state)
{
	size_t count = 0, more = 0, i;
	struct made made;

	(void)state;
	begin(&made);
	for (i = 0; i < 2 * ADDRESS_MAPS_MAX; i++)
		feed(&made, record_on((int32_t)i, record_alloc("cudaMalloc", ADDR + i * MIB, MIB)));
	for (i = 0; i < 300; i++)
		feed(&made, record_on(0, record_alloc("cudaMalloc", ADDR - MIB - i * MIB, MIB)));
	make(&made);
	assert_int_equal(made.maps.count, ADDRESS_MAPS_MAX);
	assert_int_equal(made.maps.left_out, ADDRESS_MAPS_MAX);
	for (i = 0; i < made.maps.count; i++) {
		count += made.maps.maps[i].count;
		more += made.maps.maps[i].more.count;
		assert_true(made.maps.maps[i].count <= ADDRESS_BLOCKS_MAX / ADDRESS_MAPS_MAX);
	}
	assert_int_equal(count + more, ADDRESS_MAPS_MAX + 300);
	assert_true(more > 0);
	end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_that_has_an_address),
		cmocka_unit_test(test_a_process_that_has_exited),
		cmocka_unit_test(test_the_largest_of_a_device),
		cmocka_unit_test(test_many_devices),
	};

	return unit_run("address_map", tests);
}
