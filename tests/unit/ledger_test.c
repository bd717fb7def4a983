// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "ledger/ledger.h"

#define ADDRESSES 4096
#define STEPS 200000

static struct allocation at(uint64_t addr, uint64_t size_bytes)
{
	return (struct allocation){ .addr = addr, .size_bytes = size_bytes, .size_known = true };
}

static void test_empty(void **state)
{
	struct ledger ledger = { 0 };
	struct allocation removed;

	(void)state;
	assert_null(ledger_find(&ledger, 0x1000));
	assert_false(ledger_remove(&ledger, 0x1000, &removed));
	ledger_fini(&ledger);
	ledger_fini(&ledger);
}

static void test_insert_find_remove(void **state)
{
	const struct allocation first = at(0x1000, 10), second = at(0x2000, 20);
	struct ledger ledger = { 0 };
	struct allocation removed;

	(void)state;
	assert_int_equal(ledger_insert(&ledger, &first), 0);
	assert_int_equal(ledger_insert(&ledger, &second), 0);
	assert_int_equal(ledger.count, 2);
	assert_int_equal(ledger_find(&ledger, 0x2000)->size_bytes, 20);
	assert_true(ledger_remove(&ledger, 0x1000, &removed));
	assert_int_equal(removed.size_bytes, 10);
	assert_null(ledger_find(&ledger, 0x1000));
	assert_int_equal(ledger_find(&ledger, 0x2000)->size_bytes, 20);
	ledger_fini(&ledger);
}

/* Every entry is found through exactly one slot. */
static void assert_one_slot_each(const struct ledger *ledger)
{
	size_t used = 0, i;

	for (i = 0; i < ledger->slots_capacity; i++)
		used += ledger->slots[i].position != 0;
	assert_int_equal(used, ledger->count);
	for (i = 0; i < ledger->count; i++)
		assert_ptr_equal(ledger_find(ledger, ledger->entries[i].addr), &ledger->entries[i]);
}

static void test_every_entry_has_one_slot(void **state)
{
	struct ledger ledger = { 0 };
	struct allocation removed;
	uint64_t i;

	(void)state;
	for (i = 1; i <= 300; i++) {
		const struct allocation new = at(i * 4096, i);

		assert_int_equal(ledger_insert(&ledger, &new), 0);
		assert_one_slot_each(&ledger);
	}
	for (i = 300; i > 0; i -= 2) {
		assert_true(ledger_remove(&ledger, i * 4096, &removed));
		assert_one_slot_each(&ledger);
	}
	ledger_fini(&ledger);
}

/* Against the simplest model there is: an array with a place for every address. */
static void test_random_operations(void **state)
{
	uint64_t sizes[ADDRESSES] = { 0 }, random = 1;
	struct ledger ledger = { 0 };
	size_t live = 0, step;

	(void)state;
	for (step = 1; step <= STEPS; step++) {
		size_t place = (random = unit_random(random)) % ADDRESSES;
		uint64_t addr = 0x7f0000000000 + place * 512;
		struct allocation removed, new = at(addr, step);

		if (sizes[place]) {
			assert_true(ledger_remove(&ledger, addr, &removed));
			assert_int_equal(removed.addr, addr);
			assert_int_equal(removed.size_bytes, sizes[place]);
			sizes[place] = 0;
			live--;
		} else {
			assert_null(ledger_find(&ledger, addr));
			assert_int_equal(ledger_insert(&ledger, &new), 0);
			sizes[place] = step;
			live++;
		}
		assert_int_equal(ledger.count, live);
	}
	for (step = 0; step < ADDRESSES; step++) {
		const struct allocation *found = ledger_find(&ledger, 0x7f0000000000 + step * 512);

		assert_int_equal(found ? found->size_bytes : 0, sizes[step]);
	}
	ledger_fini(&ledger);
}

/* ---- by any address inside ------------------------------------------------------------------- */

static void insert(struct ledger *ledger, uint64_t addr, uint64_t size_bytes)
{
	const struct allocation new = at(addr, size_bytes);

	assert_int_equal(ledger_insert(ledger, &new), 0);
}

static void take_out(struct ledger *ledger, uint64_t addr)
{
	struct allocation removed;

	assert_true(ledger_remove(ledger, addr, &removed));
	assert_int_equal(removed.addr, addr);
}

/* Where the allocation begins that the address lies in; 0: in none. */
static uint64_t start_of(struct ledger *ledger, uint64_t addr)
{
	const struct allocation *found = ledger_containing(ledger, addr);

	return found ? found->addr : 0;
}

static void test_an_empty_ledger_contains_nothing(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	assert_null(ledger_containing(&ledger, 0));
	assert_null(ledger_containing(&ledger, UINT64_MAX));
	assert_null(ledger_first(&ledger, 0, UINT64_MAX));
	insert(&ledger, 0x1000, 0x1000);
	assert_non_null(ledger_containing(&ledger, 0x1800));
	take_out(&ledger, 0x1000);
	assert_null(ledger_containing(&ledger, 0x1000));
	assert_null(ledger_containing(&ledger, 0x1800));
	assert_null(ledger_first(&ledger, 0, UINT64_MAX));
	ledger_fini(&ledger);
}

/* Of every size around each power of two, and at every offset to the stretch that it begins in. */
static void test_the_edges_of_every_size(void **state)
{
	unsigned int level;

	(void)state;
	for (level = 0; level <= 40; level++) {
		const uint64_t power = 1ull << level;
		const uint64_t sizes[] = { power - (level > 0), power, power + (power - 1) };
		const uint64_t offsets[] = { 0, 1, power / 2, power - 1 };
		size_t i;

		for (i = 0; i < 12; i++) {
			uint64_t addr = (1ull << 46) + offsets[i / 3], size = sizes[i % 3];
			struct ledger ledger = { 0 };

			insert(&ledger, addr, size);
			assert_int_equal(start_of(&ledger, addr), addr);
			assert_int_equal(start_of(&ledger, addr + size / 2), addr);
			assert_int_equal(start_of(&ledger, addr + size - 1), addr);
			assert_int_equal(start_of(&ledger, addr - 1), 0);
			assert_int_equal(start_of(&ledger, addr + size), 0);
			ledger_fini(&ledger);
		}
	}
}

static void test_neighbours_of_all_sizes_side_by_side(void **state)
{
	struct ledger ledger = { 0 };
	uint64_t addr = 0x7f0000000000;
	unsigned int level;

	(void)state;
	for (level = 0; level <= 40; addr += 1ull << level, level++)
		insert(&ledger, addr, 1ull << level);
	for (level = 0, addr = 0x7f0000000000; level <= 40; addr += 1ull << level, level++) {
		assert_int_equal(start_of(&ledger, addr), addr);
		assert_int_equal(start_of(&ledger, addr + (1ull << level) / 2), addr);
		assert_int_equal(start_of(&ledger, addr + (1ull << level) - 1), addr);
	}
	assert_int_equal(start_of(&ledger, addr), 0);
	assert_int_equal(start_of(&ledger, 0x7f0000000000 - 1), 0);
	ledger_fini(&ledger);
}

static void test_at_the_ends_of_the_address_space(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	insert(&ledger, 16, 100);
	insert(&ledger, UINT64_MAX - 99, 100);
	assert_null(ledger_containing(&ledger, 0));
	assert_int_equal(start_of(&ledger, 115), 16);
	assert_null(ledger_containing(&ledger, 116));
	assert_int_equal(start_of(&ledger, UINT64_MAX), UINT64_MAX - 99);
	assert_null(ledger_containing(&ledger, UINT64_MAX - 100));
	ledger_fini(&ledger);
}

/* Of an unknown size (0) only the first address is known. */
static void test_an_unknown_size_contains_its_beginning(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	insert(&ledger, 0x1000, 0);
	insert(&ledger, 0x2000, 0x100);
	assert_int_equal(start_of(&ledger, 0x1000), 0x1000);
	assert_null(ledger_containing(&ledger, 0x1001));
	assert_int_equal(start_of(&ledger, 0x2001), 0x2000);
	take_out(&ledger, 0x1000);
	assert_null(ledger_containing(&ledger, 0x1000));
	assert_int_equal(start_of(&ledger, 0x20ff), 0x2000);
	ledger_fini(&ledger);
}

static void test_an_address_with_another_size(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	insert(&ledger, 0x10000, 0x1000);
	assert_int_equal(start_of(&ledger, 0x10fff), 0x10000);
	take_out(&ledger, 0x10000);
	assert_null(ledger_containing(&ledger, 0x10800));
	insert(&ledger, 0x10000, 0x400);
	assert_int_equal(start_of(&ledger, 0x103ff), 0x10000);
	assert_null(ledger_containing(&ledger, 0x10400));
	take_out(&ledger, 0x10000);
	insert(&ledger, 0x10000, 0x100000);
	assert_int_equal(start_of(&ledger, 0x10ffff), 0x10000);
	take_out(&ledger, 0x10000);
	insert(&ledger, 0x10200, 0x1000); /* in the same stretch, but elsewhere */
	assert_null(ledger_containing(&ledger, 0x101ff));
	assert_int_equal(start_of(&ledger, 0x111ff), 0x10200);
	ledger_fini(&ledger);
}

/* What should have ended the first was not seen: the one that took its place is found. */
static void test_the_younger_one_of_two_that_overlap(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	insert(&ledger, 0x10000, 0x1000);
	assert_int_equal(start_of(&ledger, 0x10001), 0x10000);
	insert(&ledger, 0x10100, 0x1000);
	assert_int_equal(start_of(&ledger, 0x11001), 0x10100);
	take_out(&ledger, 0x10000); /* does not take the other one's place with it */
	assert_int_equal(start_of(&ledger, 0x11001), 0x10100);
	assert_null(ledger_containing(&ledger, 0x10001));
	ledger_fini(&ledger);
}

static void test_the_first_of_a_range(void **state)
{
	struct ledger ledger = { 0 };

	(void)state;
	insert(&ledger, 0x4000, 0x1000);
	insert(&ledger, 0x2000, 0x1000);
	insert(&ledger, 0x3000, 0);
	assert_int_equal(ledger_first(&ledger, 0, UINT64_MAX)->addr, 0x2000);
	assert_int_equal(ledger_first(&ledger, 0x2000, 0x5000)->addr, 0x2000);
	assert_int_equal(ledger_first(&ledger, 0x2001, 0x5000)->addr, 0x3000);
	assert_int_equal(ledger_first(&ledger, 0x3001, 0x4001)->addr, 0x4000);
	assert_null(ledger_first(&ledger, 0x3001, 0x4000));
	assert_null(ledger_first(&ledger, 0x4001, UINT64_MAX));
	assert_int_equal(ledger_first(&ledger, 0x4000, 0x4000)->addr,
			 0x4000); /* no size is known */
	assert_null(ledger_first(&ledger, 0x3fff, 0x3fff));
	take_out(&ledger, 0x2000);
	assert_int_equal(ledger_first(&ledger, 0x1000, 0x5000)->addr, 0x3000);
	ledger_fini(&ledger);
}

/* ---- at random ------------------------------------------------------------------------------- */

#define PLACES 200
#define PLACE_BYTES (1ull << 41) /* allocations of two places never touch */

static uint64_t random_size(uint64_t random)
{
	return random % 16 ? 1 + (random >> 4) % (1ull << (random >> 8) % 41) : 0;
}

static void compare_with_a_scan(struct ledger *ledger, const struct allocation *places,
				uint64_t addr, uint64_t end)
{
	const struct allocation *first = ledger_first(ledger, addr, end);
	uint64_t containing = 0, lowest = 0;
	size_t i;

	for (i = 0; i < PLACES; i++) {
		const struct allocation *place = &places[i];

		if (!place->addr)
			continue;
		if (place->addr == addr ||
		    (place->addr < addr && addr < place->addr + place->size_bytes))
			containing = place->addr;
		if (place->addr >= addr && place->addr < end && (!lowest || place->addr < lowest))
			lowest = place->addr;
	}
	assert_int_equal(start_of(ledger, addr), containing);
	assert_int_equal(first ? first->addr : 0, lowest);
}

static void test_random_look_ups(void **state)
{
	struct allocation places[PLACES] = { 0 };
	uint64_t random = 7, found = 0;
	struct ledger ledger = { 0 };
	size_t step;

	(void)state;
	for (step = 0; step < STEPS; step++) {
		size_t place = (random = unit_random(random)) % PLACES;
		struct allocation *here = &places[place];
		uint64_t base = (place + 1) * PLACE_BYTES, addr;

		if (here->addr) {
			take_out(&ledger, here->addr);
			here->addr = 0;
		} else {
			random = unit_random(random);
			/* Often the same address as before. */
			here->addr = base + (random % 3 ? 0 : random % (PLACE_BYTES / 2));
			here->size_bytes = random_size(random = unit_random(random));
			insert(&ledger, here->addr, here->size_bytes);
		}
		/* Now and then just before or behind one, or where one was. */
		place = (random = unit_random(random)) % PLACES;
		here = &places[place];
		random = unit_random(random);
		addr = here->addr ? here->addr : (place + 1) * PLACE_BYTES;
		addr += random % (here->size_bytes + 1);
		addr -= !(random & 0x700);
		compare_with_a_scan(&ledger, places, addr, addr + (1 + random % 4) * PLACE_BYTES);
		found += start_of(&ledger, addr) != 0;
	}
	assert_in_range(found, STEPS / 8, STEPS - STEPS / 8);
	ledger_fini(&ledger);
}

#define CONTEXTS 5

/* Each of them ends now and then, as soon as it is asked for. */
static void end_context(struct ledger *ledger, uint64_t context, uint64_t *contexts, size_t *live)
{
	const struct allocation *found;
	size_t place;

	while ((found = ledger_in(ledger, context))) {
		assert_int_equal(found->context, context);
		place = found->addr / 512;
		assert_int_equal(contexts[place], context + 1);
		contexts[place] = 0;
		live[context]--;
		take_out(ledger, found->addr);
	}
	assert_int_equal(live[context], 0);
}

static void test_random_contexts(void **state)
{
	static uint64_t contexts[ADDRESSES]; /* + 1; 0: nothing is there */
	uint64_t random = 3, context;
	size_t live[CONTEXTS] = { 0 }, step, place;
	struct ledger ledger = { 0 };

	(void)state;
	for (step = 0; step < STEPS; step++) {
		place = (random = unit_random(random)) % ADDRESSES;
		context = (random >> 32) % CONTEXTS;
		if (contexts[place]) {
			live[contexts[place] - 1]--;
			contexts[place] = 0;
			take_out(&ledger, place * 512);
		} else {
			struct allocation new = at(place * 512, 512);

			new.context = context;
			contexts[place] = context + 1;
			live[context]++;
			assert_int_equal(ledger_insert(&ledger, &new), 0);
		}
		if ((random >> 40) % 5000 == 0)
			end_context(&ledger, context, contexts, live);
		assert_int_equal(ledger_in(&ledger, context) != NULL, live[context] > 0);
	}
	for (context = 0; context < CONTEXTS; context++)
		end_context(&ledger, context, contexts, live);
	assert_int_equal(ledger.count, 0);
	ledger_fini(&ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_insert_find_remove),
		cmocka_unit_test(test_every_entry_has_one_slot),
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_an_empty_ledger_contains_nothing),
		cmocka_unit_test(test_the_edges_of_every_size),
		cmocka_unit_test(test_neighbours_of_all_sizes_side_by_side),
		cmocka_unit_test(test_at_the_ends_of_the_address_space),
		cmocka_unit_test(test_an_unknown_size_contains_its_beginning),
		cmocka_unit_test(test_an_address_with_another_size),
		cmocka_unit_test(test_the_younger_one_of_two_that_overlap),
		cmocka_unit_test(test_the_first_of_a_range),
		cmocka_unit_test(test_random_look_ups),
		cmocka_unit_test(test_random_contexts),
	};

	return unit_run("ledger", tests);
}
