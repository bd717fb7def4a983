// SPDX-License-Identifier: BSD-2-Clause
/* Lines of files that name what was compiled at run time. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/perf_map.h"

static void parse(struct perf_map *map, const char *lines)
{
	const size_t length = strlen(lines);
	char *text = malloc(length + 1);

	assert_non_null(text);
	memcpy(text, lines, length + 1);
	assert_int_equal(perf_map_parse(map, text, length), 0);
}

static void expect(const struct perf_map *map, uint64_t address, const char *name)
{
	const struct perf_map_entry *entry = perf_map_find(map, address);

	if (!name) {
		assert_null(entry);
		return;
	}
	assert_non_null(entry);
	assert_string_equal(map->text + entry->name, name);
}

static void test_names(void **state)
{
	struct perf_map map;

	(void)state;
	parse(&map, "7f0000002000 10 second\n"
		    "7f0000001000 20 py::f:/a b.py\n"
		    "0x7F0000003000 0x8 third\n");
	expect(&map, 0x7f0000000fff, NULL);
	expect(&map, 0x7f0000001000, "py::f:/a b.py");
	expect(&map, 0x7f000000101f, "py::f:/a b.py");
	expect(&map, 0x7f0000001020, NULL);
	expect(&map, 0x7f000000200f, "second");
	expect(&map, 0x7f0000003007, "third");
	perf_map_fini(&map);
	expect(&map, 0x7f0000001000, NULL);
}

/* Compiled again at the same place: the file is only ever appended to. */
static void test_the_last_one_counts(void **state)
{
	struct perf_map map;

	(void)state;
	parse(&map, "1000 20 old\n1000 10 new\n");
	expect(&map, 0x1000, "new");
	expect(&map, 0x1010, NULL);
	perf_map_fini(&map);
}

static void test_what_is_no_line(void **state)
{
	struct perf_map map;

	(void)state;
	parse(&map, "\n\n1000\n1000 \n1000 20\n1000 20 \n1000 0 empty\nffffffffffffffff 2 wraps\n"
		    "11112222333344445 2 long\nxyz 2 name\n-1 2 name\n1000 20 unfinished");
	assert_int_equal(map.count, 0);
	perf_map_fini(&map);
	parse(&map, "");
	expect(&map, 0, NULL);
	perf_map_fini(&map);
}

static void test_long_names_are_cut(void **state)
{
	char line[PERF_MAP_NAME_BYTES * 3] = "1000 1 ";
	struct perf_map map;

	(void)state;
	memset(line + 7, 'n', sizeof(line) - 9);
	line[sizeof(line) - 2] = '\n';
	parse(&map, line);
	assert_int_equal(strlen(map.text + perf_map_find(&map, 0x1000)->name),
			 PERF_MAP_NAME_BYTES - 1);
	perf_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_the_last_one_counts),
		cmocka_unit_test(test_what_is_no_line),
		cmocka_unit_test(test_long_names_are_cut),
	};

	return unit_run("perf_map", tests);
}
