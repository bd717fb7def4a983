// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdlib.h>

#include "base/map.h"

#define KEYS 2048
#define STEPS 100000

static void test_empty_map_has_nothing(void **state)
{
	struct map map = { 0 };

	(void)state;
	assert_null(map_get(&map, 0));
	assert_null(map_get(&map, UINT64_MAX));
	assert_false(map_remove(&map, 0));
	map_fini(&map);
	map_fini(&map);
}

static void test_set_get_replace_remove(void **state)
{
	struct map map = { 0 };

	(void)state;
	assert_int_equal(map_set(&map, 7, 70), 0);
	assert_int_equal(map_set(&map, 8, 80), 0);
	assert_int_equal(map_set(&map, 7, 71), 0);
	assert_int_equal(map.count, 2);
	assert_int_equal(*map_get(&map, 7), 71);
	assert_true(map_remove(&map, 7));
	assert_false(map_remove(&map, 7));
	assert_null(map_get(&map, 7));
	assert_int_equal(*map_get(&map, 8), 80);
	assert_int_equal(map.count, 1);
	map_fini(&map);
}

/* No value of a key is reserved for "free". */
static void test_extreme_keys_are_keys(void **state)
{
	const uint64_t keys[] = { 0, 1, UINT64_MAX, 1ull << 63, 1ull << 32, 0xffffffff };
	struct map map = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		assert_null(map_get(&map, keys[i]));
		assert_int_equal(map_set(&map, keys[i], i), 0);
	}
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_int_equal(*map_get(&map, keys[i]), i);
	map_fini(&map);
}

static void test_value_can_be_changed_in_place(void **state)
{
	struct map map = { 0 };

	(void)state;
	assert_int_equal(map_set(&map, 1, 10), 0);
	*map_get(&map, 1) += 5;
	assert_int_equal(*map_get(&map, 1), 15);
	map_fini(&map);
}

static void test_is_empty_and_usable_after_fini(void **state)
{
	struct map map = { 0 };

	(void)state;
	assert_int_equal(map_set(&map, 1, 10), 0);
	map_fini(&map);
	assert_null(map_get(&map, 1));
	assert_int_equal(map_set(&map, 2, 20), 0);
	assert_int_equal(map.count, 1);
	map_fini(&map);
}

/* A quarter stays free, or a search for a missing key would be long, and in a full one endless. */
static void test_is_never_full(void **state)
{
	struct map map = { 0 };
	uint64_t key;

	(void)state;
	for (key = 0; key < 100000; key++) {
		assert_int_equal(map_set(&map, key * 4096, key), 0);
		assert_true(map.count * 4 <= map.capacity * 3);
	}
	map_fini(&map);
}

/* Against the simplest model there is: an array with a place for every key. */
static void test_random_operations(void **state)
{
	uint64_t values[KEYS] = { 0 }, random = 42, step;
	struct map map = { 0 };
	size_t count = 0;

	(void)state;
	for (step = 1; step <= STEPS; step++) {
		size_t place = (random = unit_random(random)) % KEYS;
		uint64_t key = place << 21;

		if (random >> 40 & 1) {
			count += !values[place];
			values[place] = step;
			assert_int_equal(map_set(&map, key, step), 0);
		} else {
			assert_int_equal(map_remove(&map, key), values[place] != 0);
			count -= values[place] != 0;
			values[place] = 0;
		}
		assert_int_equal(map.count, count);
	}
	for (step = 0; step < KEYS; step++) {
		const uint64_t *found = map_get(&map, step << 21);

		assert_int_equal(found ? *found : 0, values[step]);
	}
	map_fini(&map);
}

/* Few slots and many collisions: removal must not cut a probe sequence. */
static void test_removal_in_a_crowded_map(void **state)
{
	uint64_t random = 7, keys[11];
	size_t round, i, j;

	(void)state;
	for (round = 0; round < 5000; round++) {
		struct map map = { 0 };

		for (i = 0; i < 11; i++) {
			keys[i] = random = unit_random(random);
			assert_int_equal(map_set(&map, keys[i], i), 0);
		}
		assert_int_equal(map.capacity, 16);
		for (i = 0; i < 11; i++) {
			assert_true(map_remove(&map, keys[i]));
			for (j = 0; j < 11; j++)
				assert_int_equal(!map_get(&map, keys[j]), j <= i);
		}
		map_fini(&map);
	}
}

/* ---- keys that were chosen with care --------------------------------------------------------- */

/*
 * Number i of those that a well-known way to scatter keys (by the golden ratio) puts into one place
 * of a table of up to 2^24: the way back from such results.
 */
static uint64_t chosen_key(uint64_t i)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ull;
	uint64_t inverse = factor, result = i << 24, product;
	int step;

	for (step = 0; step < 6; step++)
		inverse *= 2 - factor * inverse;
	product = (result ^ result >> 29 ^ result >> 58) * inverse;
	return product ^ product >> 32;
}

static void test_keys_that_were_chosen_to_collide(void **state)
{
	struct map map = { 0 };
	size_t i, run = 0, longest = 0;

	(void)state;
	for (i = 0; i < 16384; i++)
		assert_int_equal(map_set(&map, chosen_key(i), i), 0);
	for (i = 0; i < map.capacity; i++) {
		run = map_is_used(&map, i) ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_int_equal(map.count, 16384);
	assert_true(longest < 1000);
	map_fini(&map);
}

static void test_sorted_slots(void **state)
{
	struct map map = { 0 };
	struct map_pair *sorted;
	uint64_t i;

	(void)state;
	assert_null(map_sorted(&map));
	for (i = 0; i < 100; i++)
		assert_int_equal(map_set(&map, i * 37 % 101, i), 0);
	sorted = map_sorted(&map);
	assert_non_null(sorted);
	for (i = 0; i < 100; i++) {
		assert_int_equal(sorted[i].value * 37 % 101, sorted[i].key);
		assert_true(!i || sorted[i].key > sorted[i - 1].key);
	}
	free(sorted);
	map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_map_has_nothing),
		cmocka_unit_test(test_set_get_replace_remove),
		cmocka_unit_test(test_extreme_keys_are_keys),
		cmocka_unit_test(test_value_can_be_changed_in_place),
		cmocka_unit_test(test_is_empty_and_usable_after_fini),
		cmocka_unit_test(test_is_never_full),
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_removal_in_a_crowded_map),
		cmocka_unit_test(test_keys_that_were_chosen_to_collide),
		cmocka_unit_test(test_sorted_slots),
	};

	return unit_run("map", tests);
}
