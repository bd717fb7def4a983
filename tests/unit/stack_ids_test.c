// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that have the same stacks share their ids, and nothing is kept of those that are gone.
 */
#include "capture/stacks/frame_ids.h"
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

static void what_is_forgotten_is_new_again(void **unused)
{
	struct stack_ids ids = { 0 };
	struct stack_ids_shared one = { 0 }, two = { 0 };
	struct map wanted = { 0 };

	(void)unused;
	assert_int_equal(stack_ids_add(&ids, &one, 1, 111), 1);
	assert_int_equal(stack_ids_add(&ids, &one, 2, 222), 2);
	assert_int_equal(stack_ids_add(&ids, &two, 3, 111), 1);
	assert_int_equal(map_set(&wanted, 1, 0), 0);
	stack_ids_forget(&ids, &one);
	stack_ids_forget(&ids, &two);
	stack_ids_keep(&ids, &wanted);
	assert_int_equal(stack_ids_find(&ids, 3), 3);
	assert_int_equal(stack_ids_add(&ids, &two, 4, 111), 1);
	assert_int_equal(stack_ids_find(&ids, 4), 1);
	assert_int_equal(stack_ids_add(&ids, &two, 5, 222), 5);
	assert_int_equal(stack_ids_add(&ids, &one, 6, 222), 5);
	stack_ids_forget(&ids, &one);
	stack_ids_forget(&ids, &two);
	stack_ids_fini(&ids);
	map_fini(&wanted);
}

static void frames_whose_ids_are_not_all_there_are_new_again(void **unused)
{
	struct map frames = { 0 }, wanted = { 0 };
	uint32_t id;

	(void)unused;
	map_set(&frames, 11, 1 | 1ull << FRAME_IDS_SHIFT);
	map_set(&frames, 12, 2 | 3ull << FRAME_IDS_SHIFT);
	map_set(&frames, 13, 5 | 2ull << FRAME_IDS_SHIFT | FRAME_IDS_NAMELESS);
	map_set(&frames, 14, 7 | 1ull << FRAME_IDS_SHIFT);
	for (id = 1; id < 6; id++)
		map_set(&wanted, id, 0);
	assert_int_equal(frame_ids_keep(&frames, &wanted), 4);
	assert_non_null(map_get(&frames, 11));
	assert_non_null(map_get(&frames, 12));
	assert_null(map_get(&frames, 13));
	assert_null(map_get(&frames, 14));
	map_fini(&frames);
	map_fini(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_id_stands_for_all),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(what_is_forgotten_is_new_again),
		cmocka_unit_test(frames_whose_ids_are_not_all_there_are_new_again),
	};

	return unit_run("stack_ids", tests);
}
