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
	assert_int_equal(alike[0].bytes, 2000);
	assert_int_equal(alike[0].count, 1);
	assert_int_equal(alike[1].bytes, 900);
	assert_int_equal(alike[1].count, 3);
	assert_false(alike[1].at_least);
	assert_true(alike[1].oldest_ts_ns < alike[0].allocation->ts_ns);
	assert_true(alike[1].newest_ts_ns > alike[0].allocation->ts_ns);
	assert_int_equal(alike[2].count, 1);
	free(alike);
	done(&reader);
}

/* Of an exited process, only the ten largest are known. */
static void test_there_may_be_more_of_the_smallest(void **state)
{
	struct report_reader reader;
	struct alike *alike;
	uint64_t addr;
	size_t count;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x100000, 5000));
	for (addr = 0x1000; addr <= 0x20000; addr += 0x1000)
		add(alloc("cudaMalloc", addr, 300));
	add(record_exit(0));
	reader = end();
	alike = alike_find(reader.report.recordings[0], &count);
	assert_int_equal(count, 2);
	assert_int_equal(alike[0].bytes, 5000);
	assert_false(alike[0].at_least);
	assert_int_equal(alike[1].count, PROCESS_LARGEST - 1);
	assert_true(alike[1].at_least);
	free(alike);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_that_are_alike_are_one_group),
		cmocka_unit_test(test_there_may_be_more_of_the_smallest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
