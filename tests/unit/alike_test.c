// SPDX-License-Identifier: BSD-2-Clause
#include "reported.h"

#include <stdlib.h>

#include "report/alike.h"

static void test_blocks_that_are_alike_are_one_group(void **state)
{
	struct report_reader reader;
	struct alike *alike;
	uint64_t addr;
	size_t count;

	(void)state;
	begin();
	for (addr = 0x1000; addr <= 0x3000; addr += 0x1000)
		add(alloc("cudaMalloc", addr, 300));
	add(alloc("cudaMallocPitch", 0x4000, 300)); /* another function */
	add(alloc("cudaMalloc", 0x5000, 2000));     /* another size */
	add(alloc("cudaMalloc", 0x6000, 300));
	release(0x1000);
	reader = end();
	alike = alike_find(reader.report.recordings[0], &count);
	assert_int_equal(count, 3);
	assert_int_equal(alike[0].group.bytes, 2000);
	assert_int_equal(alike[0].group.count, 1);
	assert_int_equal(alike[1].group.bytes, 900);
	assert_int_equal(alike[1].group.count, 3);
	assert_false(alike[1].group.at_least);
	assert_true(alike[1].group.one.ts_ns < alike[0].group.one.ts_ns);
	assert_true(alike[1].group.newest_ts_ns > alike[0].group.one.ts_ns);
	assert_int_equal(alike[2].group.count, 1);
	free(alike);
	done(&reader);
}

/* As many as there were, and not only those among the largest. */
static void test_an_exited_process_had_all_of_them(void **state)
{
	struct report_reader reader;
	struct alike *alike;
	uint64_t addr;
	size_t count;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x100000, 5000));
	for (addr = 0x1000; addr <= 0x31000; addr += 0x1000)
		add(alloc("cudaMalloc", addr, 300));
	add(record_exit(0));
	reader = end();
	alike = alike_find(reader.report.recordings[0], &count);
	assert_int_equal(count, 2);
	assert_int_equal(alike[0].group.bytes, 49 * 300);
	assert_int_equal(alike[0].group.count, 49);
	assert_false(alike[0].group.at_least);
	assert_int_equal(alike[1].group.bytes, 5000);
	free(alike);
	done(&reader);
}

/* Of a process that holds very many, only the largest are looked at while tracing goes on. */
static void test_there_may_be_more_of_the_smallest(void **state)
{
	struct report_reader reader;
	struct alike_group *groups;
	uint64_t addr;
	size_t count;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x100000, 5000));
	for (addr = 0x1000; addr <= 0x20000; addr += 0x1000)
		add(alloc("cudaMalloc", addr, 300));
	reader = end();
	groups = alike_of(reader.report.recordings[0]->processes[0].process, 32, &count);
	assert_int_equal(count, 2);
	assert_int_equal(groups[0].bytes, 5000);
	assert_false(groups[0].at_least);
	assert_int_equal(groups[1].count, PROCESS_LARGEST - 1);
	assert_true(groups[1].at_least);
	free(groups);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_that_are_alike_are_one_group),
		cmocka_unit_test(test_an_exited_process_had_all_of_them),
		cmocka_unit_test(test_there_may_be_more_of_the_smallest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
