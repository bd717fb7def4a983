// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "base/sorted.h"

#define KEYS 5000
#define STEPS 200000

static void test_empty(void **state)
{
	struct sorted sorted = { 0 };
	uint64_t key;

	(void)state;
	assert_false(sorted_next(&sorted, 0, &key));
	sorted_remove(&sorted, 1);
	sorted_fini(&sorted);
	sorted_fini(&sorted);
}

static void test_extreme_keys(void **state)
{
	struct sorted sorted = { 0 };
	uint64_t key;

	(void)state;
	assert_int_equal(sorted_add(&sorted, UINT64_MAX), 0);
	assert_int_equal(sorted_add(&sorted, 0), 0);
	assert_int_equal(sorted_add(&sorted, 0), 0);
	assert_true(sorted_next(&sorted, 0, &key));
	assert_int_equal(key, 0);
	assert_true(sorted_next(&sorted, 1, &key));
	assert_int_equal(key, UINT64_MAX);
	sorted_remove(&sorted, 0);
	assert_true(sorted_next(&sorted, 0, &key));
	assert_int_equal(key, UINT64_MAX);
	sorted_fini(&sorted);
}

/* Against the simplest model there is: an array with a place for every key. */
static void test_random_operations(void **state)
{
	static bool there[KEYS];
	struct sorted sorted = { 0 };
	uint64_t random = 11, key;
	size_t step, i;

	(void)state;
	for (step = 0; step < STEPS; step++) {
		size_t place = (random = unit_random(random)) % KEYS;
		bool growing = step / 20000 % 2 == 0;

		there[place] = growing ? (random >> 40) % 4 : (random >> 40) % 8 == 0;
		if (there[place])
			assert_int_equal(sorted_add(&sorted, place << 21), 0);
		else
			sorted_remove(&sorted, place << 21);
		place = (random = unit_random(random)) % KEYS;
		for (i = place; i < KEYS && !there[i]; i++)
			;
		assert_int_equal(sorted_next(&sorted, place << 21, &key), i < KEYS);
		if (i < KEYS)
			assert_int_equal(key, i << 21);
	}
	sorted_fini(&sorted);
}

/* Those that are left of many take no more than a few times what they need. */
static void test_memory_goes_with_the_keys(void **state)
{
	struct sorted sorted = { 0 };
	uint64_t key;

	(void)state;
	for (key = 0; key < 100000; key++)
		assert_int_equal(sorted_add(&sorted, key), 0);
	assert_true(sorted_bytes(&sorted) < 4 * 100000 * sizeof(key));
	for (key = 0; key < 100000; key++)
		if (key % 100)
			sorted_remove(&sorted, key);
	assert_true(sorted_bytes(&sorted) < 100000 * sizeof(key));
	for (key = 0; key < 1000; key++)
		sorted_remove(&sorted, key * 100);
	assert_int_equal(sorted.count, 0);
	sorted_fini(&sorted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_extreme_keys),
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_memory_goes_with_the_keys),
	};

	return unit_run("sorted", tests);
}
