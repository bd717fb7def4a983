// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

static void test_grows_by_doubling_and_keeps_the_items(void **state)
{
	size_t capacity = 0, i;
	uint64_t *items = NULL;

	(void)state;
	for (i = 0; i < 1000; i++) {
		assert_int_equal(memory_grow(&items, &capacity, i + 1, sizeof(*items)), 0);
		assert_true(capacity > i);
		assert_int_equal(capacity & (capacity - 1), 0);
		items[i] = i;
	}
	assert_int_equal(capacity, 1024);
	for (i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

static void test_leaves_what_is_large_enough(void **state)
{
	size_t capacity = 0;
	char *items = NULL, *before;

	(void)state;
	assert_int_equal(memory_grow(&items, &capacity, 0, 1), 0);
	assert_null(items);
	assert_int_equal(memory_grow(&items, &capacity, 8, 1), 0);
	before = items;
	assert_int_equal(memory_grow(&items, &capacity, 8, 1), 0);
	assert_ptr_equal(items, before);
	assert_int_equal(capacity, 8);
	free(items);
}

/* One of them may be all that there is, of each of a thousand processes. */
static void test_large_items_begin_with_one(void **state)
{
	size_t capacity = 0;
	char *items = NULL;

	(void)state;
	assert_int_equal(memory_grow(&items, &capacity, 1, 2000), 0);
	assert_int_equal(capacity, 1);
	assert_int_equal(memory_grow(&items, &capacity, 2, 2000), 0);
	assert_int_equal(capacity, 2);
	free(items);
}

static void test_one_step_can_be_large(void **state)
{
	size_t capacity = 0;
	char *items = NULL;

	(void)state;
	assert_int_equal(memory_grow(&items, &capacity, 1025, 3), 0);
	assert_int_equal(capacity, 2048);
	items[2048 * 3 - 1] = 1; /* all of it is there, or AddressSanitizer objects */
	free(items);
}

/* Large enough for what the kernel is told of large arrays: it must be a hint and nothing else. */
static void test_large_arrays_keep_their_items(void **state)
{
	enum { COUNT = 4 << 20 };
	size_t capacity = 0, i;
	uint32_t *items = NULL;

	(void)state;
	for (i = 0; i < COUNT; i++) {
		assert_int_equal(memory_grow(&items, &capacity, i + 1, sizeof(*items)), 0);
		items[i] = i;
	}
	for (i = 0; i < COUNT; i++)
		if (items[i] != i)
			fail_msg("item %zu is %u", i, items[i]);
	free(items);
}

/* Sizes that do not fit into a size_t; none of them may reach realloc(). */
static void test_overflow_changes_nothing(void **state)
{
	static const struct {
		size_t needed, item_bytes;
	} cases[] = {
		{ SIZE_MAX, 1 },        { SIZE_MAX / 2 + 2, 1 }, { SIZE_MAX / 2, 2 },
		{ SIZE_MAX / 8, 16 },   { 9, SIZE_MAX },         { 16, SIZE_MAX / 16 + 1 },
		{ SIZE_MAX, SIZE_MAX },
	};
	size_t capacity = 0, i;
	char *items = NULL, *before;

	(void)state;
	assert_int_equal(memory_grow(&items, &capacity, 1, 1), 0);
	before = items;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(memory_grow(&items, &capacity, cases[i].needed,
					     cases[i].item_bytes),
				 -ENOMEM);
		assert_ptr_equal(items, before);
		assert_int_equal(capacity, 8);
	}
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_by_doubling_and_keeps_the_items),
		cmocka_unit_test(test_leaves_what_is_large_enough),
		cmocka_unit_test(test_large_items_begin_with_one),
		cmocka_unit_test(test_one_step_can_be_large),
		cmocka_unit_test(test_large_arrays_keep_their_items),
		cmocka_unit_test(test_overflow_changes_nothing),
	};

	return unit_run("memory", tests);
}
