// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which call stacks most comes from: exact of few, never too much of many.
 */
#include "unit.h"

#include "analysis/stack_tally.h"

#define MANY 1000

static uint64_t part_of(const struct stack_tally *tally, uint32_t stack)
{
	size_t i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		if (stack && tally->stacks[i] == stack)
			return tally->parts[i];
	return 0;
}

static void test_few_are_exact(void **state)
{
	struct stack_tally tally = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 800; i++)
		stack_tally_add(&tally, 1 + i % STACK_TALLY_SLOTS, i);
	stack_tally_add(&tally, 0, 5);
	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		assert_int_equal(part_of(&tally, 1 + i), 100 * i + 8 * 4950);
	assert_int_equal(tally.whole, 799 * 400 + 5);
	assert_int_equal(tally.missing, 0);
}

/* One of many that has most is found, with a ninth of the whole missing at the worst. */
static void test_many(void **state)
{
	struct stack_tally tally = { 0 };
	uint64_t real[MANY + 1] = { 0 };
	uint32_t i;
	size_t slot;

	(void)state;
	for (i = 0; i < 20 * MANY; i++) {
		const uint32_t stack = i % 3 ? 7 : 1 + i * 7919u % MANY;

		stack_tally_add(&tally, stack, 1 + i % 5);
		real[stack] += 1 + i % 5;
	}
	for (slot = 0; slot < STACK_TALLY_SLOTS; slot++)
		if (tally.stacks[slot])
			assert_true(tally.parts[slot] <= real[tally.stacks[slot]]);
	assert_true(part_of(&tally, 7) <= real[7]);
	assert_true(part_of(&tally, 7) + tally.missing >= real[7]);
	assert_true(tally.missing && tally.missing <= tally.whole / (STACK_TALLY_SLOTS + 1));
}

/* What is taken back leaves no more than there is in truth, and the slot for others. */
static void test_taking_back(void **state)
{
	struct stack_tally tally = { 0 };
	uint64_t real[MANY + 1] = { 0 };
	uint32_t i;
	size_t slot;

	(void)state;
	for (i = 0; i < 20 * MANY; i++) {
		const uint32_t stack = i % 3 ? 7 : 1 + i * 7919u % MANY;

		stack_tally_add(&tally, stack, 4);
		real[stack] += 4;
		if (stack == 7 && i % 2)
			continue;
		stack_tally_remove(&tally, stack, 3);
		real[stack] -= 3;
	}
	assert_true(tally.missing);
	for (slot = 0; slot < STACK_TALLY_SLOTS; slot++)
		if (tally.stacks[slot])
			assert_true(tally.parts[slot] <= real[tally.stacks[slot]]);
	assert_true(part_of(&tally, 7) + tally.missing >= real[7]);
	for (i = 1; i <= MANY; i++)
		stack_tally_remove(&tally, i, real[i]);
	assert_int_equal(tally.whole, 0);
	for (slot = 0; slot < STACK_TALLY_SLOTS; slot++)
		assert_int_equal(tally.stacks[slot], 0);
}

/* A leak is found as well after many stacks that gave back all they took. */
static void test_what_is_gone_lacks_nowhere(void **state)
{
	struct stack_tally tally = { 0 };
	uint32_t round, i;

	(void)state;
	stack_tally_add(&tally, 0, 3);
	for (round = 0; round < MANY; round++) {
		for (i = 1; i <= 20; i++)
			stack_tally_add(&tally, i, 10);
		assert_true(tally.missing);
		for (i = 1; i <= 20; i++)
			stack_tally_remove(&tally, i, 10);
		/* It cannot tell that those three came from no known stack. */
		assert_int_equal(tally.missing, 3);
	}
	for (i = 0; i < 20; i++)
		stack_tally_add(&tally, 7, 40);
	assert_int_equal(part_of(&tally, 7), 800);
	assert_int_equal(tally.missing, 3);
	for (i = 0; i < 20; i++)
		stack_tally_remove(&tally, 7, 40);
	stack_tally_remove(&tally, 0, 3);
	assert_int_equal(tally.whole, 0);
	assert_int_equal(tally.missing, 0);
}

static void test_sums(void **state)
{
	struct stack_tally one = { 0 }, other = { 0 };

	(void)state;
	stack_tally_add(&one, 1, 10);
	stack_tally_add(&one, 2, 1);
	stack_tally_add(&other, 2, 4);
	stack_tally_add(&other, 0, 3);
	stack_tally_merge(&one, &other);
	assert_int_equal(part_of(&one, 1), 10);
	assert_int_equal(part_of(&one, 2), 5);
	assert_int_equal(one.whole, 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_are_exact),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_taking_back),
		cmocka_unit_test(test_what_is_gone_lacks_nowhere),
		cmocka_unit_test(test_sums),
	};

	return unit_run("stack_tally", tests);
}
