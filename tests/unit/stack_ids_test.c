// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that have the same stacks share their ids, and nothing is kept of those that are gone.
 */
#include "capture/stacks/stack_ids.h"
#include "unit.h"

static void the_first_id_stands_for_all(void **unused)
{
	struct stack_ids ids = { 0 };
	struct stack_ids_shared one = { 0 }, two = { 0 };

	(void)unused;
	assert_int_equal(stack_ids_add(&ids, &one, 1, 111), 1);
	assert_int_equal(stack_ids_add(&ids, &one, 2, 222), 2);
	assert_int_equal(stack_ids_add(&ids, &two, 3, 111), 1);
	/* The kernel side had forgotten that it was reported. */
	assert_int_equal(stack_ids_add(&ids, &one, 1, 111), 1);
	assert_int_equal(stack_ids_add(&ids, &one, 4, 222), 2);
	assert_int_equal(stack_ids_find(&ids, 1), 1);
	assert_int_equal(stack_ids_find(&ids, 3), 1);
	assert_int_equal(stack_ids_find(&ids, 4), 2);
	assert_int_equal(stack_ids_find(&ids, 5), 5);
	/* The first process is gone: the other still means its stacks. */
	stack_ids_forget(&ids, &one);
	assert_int_equal(stack_ids_find(&ids, 3), 1);
	assert_int_equal(stack_ids_find(&ids, 4), 4);
	stack_ids_forget(&ids, &two);
	assert_int_equal(stack_ids_add(&ids, &two, 6, 222), 2);
	stack_ids_forget(&ids, &two);
	stack_ids_fini(&ids);
}

static void what_is_kept_is_bounded(void **unused)
{
	struct stack_ids ids = { 0 };
	uint32_t id = 0, process;

	(void)unused;
	for (process = 0; process < 10000; process++) {
		struct stack_ids_shared shared = { 0 };
		uint64_t what;

		for (what = 1; what <= 20; what++)
			assert_int_equal(stack_ids_add(&ids, &shared, ++id, what), what);
		stack_ids_forget(&ids, &shared);
	}
	assert_int_equal(ids.firsts.count, 20);
	assert_int_equal(ids.others.count, 0);
	for (id = 0; id < 2 * STACK_IDS_MOST; id++) {
		struct stack_ids_shared shared = { 0 };

		assert_int_equal(stack_ids_add(&ids, &shared, 1000000 + id, 1000 + id),
				 1000000 + id);
		assert_int_equal(shared.count, 0);
	}
	assert_int_equal(ids.firsts.count, STACK_IDS_MOST);
	stack_ids_fini(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_id_stands_for_all),
		cmocka_unit_test(what_is_kept_is_bounded),
	};

	return unit_run("stack_ids", tests);
}
