// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which functions and static probes of which files are markers, as the user names them.
 */
#include <errno.h>
#include <stdio.h>

#include "capture/attach/marker_rows.h"
#include "unit.h"

static void test_functions(void **state)
{
	struct marker_rows rows = { 0 };

	(void)state;
	assert_int_equal(marker_rows_add_function(&rows, "libfoo:do_it"), 0);
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.rows[0].kernel.action, MS_MARKER_PUSH);
	assert_string_equal(rows.rows[0].kernel.fixed, "do_it");
	assert_int_equal(rows.rows[0].kernel.length, sizeof("do_it"));
	assert_false(rows.rows[0].on_return);
	assert_int_equal(rows.rows[1].kernel.action, MS_MARKER_POP);
	assert_true(rows.rows[1].on_return);
	assert_true(marker_row_is_of(&rows.rows[0], "/usr/lib/libfoo.so.1.2", "do_it"));
	assert_true(marker_row_is_of(&rows.rows[0], "libfoo", "do_it"));
	assert_false(marker_row_is_of(&rows.rows[0], "/usr/lib/libfoobar.so", "do_it"));
	assert_false(marker_row_is_of(&rows.rows[0], "/usr/lib/libfoo.so", "do_it_too"));
	marker_rows_fini(&rows);
	assert_int_equal(marker_rows_add_function(&rows, "/opt/a:b"), 0);
	assert_true(marker_row_is_of(&rows.rows[0], "/opt/a", "b"));
	assert_false(marker_row_is_of(&rows.rows[0], "/opt/a.1", "b"));
	marker_rows_fini(&rows);
	/* The call begins before a phase of the same function would. */
	assert_int_equal(marker_rows_add_function(&rows, "libcuda:cuMemAlloc_v2"), -EEXIST);
	assert_int_equal(rows.count, 0);
}

static void test_static_probes(void **state)
{
	static const char *const wrong[] = {
		"usdt:",     "usdt:a",      "usdt:a:b",    "usdt:a:b:",  "usdt::b:c",
		"usdt:a::c", "usdt:a:b:,c", "usdt:a:b:c,", "ustd:a:b:c", "a"
	};
	struct marker_rows rows = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(marker_rows_add_probe(&rows, wrong[i]), -EINVAL);
	assert_int_equal(marker_rows_add_probe(&rows, "usdt:libpython3.11:python:gc__start"), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.rows[0].kernel.action, MS_MARKER_INSTANT);
	assert_string_equal(rows.rows[0].kernel.fixed, "python:gc__start");
	assert_true(marker_row_is_probe(&rows.rows[0], "/usr/lib/libpython3.11.so.1.0", "python",
					"gc__start"));
	assert_false(marker_row_is_probe(&rows.rows[0], "/usr/lib/libpython3.12.so.1.0", "python",
					 "gc__start"));
	assert_true(marker_rows_have_probes(&rows, "/usr/lib/libpython3.11.so.1.0"));
	assert_false(marker_rows_have_probes(&rows, "/usr/bin/cat"));
	assert_int_equal(marker_rows_add_probe(&rows, "usdt:a:b:begin,end"), 0);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.rows[1].kernel.action, MS_MARKER_PUSH);
	assert_true(marker_row_is_probe(&rows.rows[1], "/a", "b", "begin"));
	assert_int_equal(rows.rows[2].kernel.action, MS_MARKER_POP);
	assert_true(marker_row_is_probe(&rows.rows[2], "/a", "b", "end"));
	assert_false(marker_row_is_of(&rows.rows[2], "/a", "end"));
	marker_rows_fini(&rows);
}

static void test_there_can_be_too_many(void **state)
{
	struct marker_rows rows = { 0 };
	char name[32];
	int i, err = 0;

	(void)state;
	assert_int_equal(marker_rows_add_nvtx(&rows, true), 0);
	assert_int_equal(marker_rows_add_nvtx(&rows, true), 0);
	assert_int_equal(marker_rows_injected(&rows), rows.count - 1);
	for (i = 0; !err; i++) {
		snprintf(name, sizeof(name), "a:b%d", i);
		err = marker_rows_add_function(&rows, name);
	}
	assert_int_equal(err, -ENOSPC);
	assert_in_range(rows.count, MS_MARKER_ROWS - 2, MS_MARKER_ROWS);
	marker_rows_fini(&rows);
	assert_int_equal(marker_rows_injected(&rows), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_static_probes),
		cmocka_unit_test(test_there_can_be_too_many),
	};

	return unit_run("markers", tests);
}
