// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "model/ledger.h"

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
		used += ledger->slots[i] != 0;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_insert_find_remove),
		cmocka_unit_test(test_every_entry_has_one_slot),
		cmocka_unit_test(test_random_operations),
	};

	return unit_run("ledger", tests);
}
