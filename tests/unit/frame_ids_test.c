// SPDX-License-Identifier: BSD-2-Clause
/* The room in a stack that functions have which were put into others. */
#include "unit.h"

#include "capture/stacks/frame_ids.h"

static void test_all_fit(void **state)
{
	uint32_t ids[4] = { 0 };

	(void)state;
	assert_int_equal(frame_ids_fit(7, 3, ids, 4), 3);
	assert_int_equal(ids[0], 7);
	assert_int_equal(ids[1], 8);
	assert_int_equal(ids[2], 9);
	assert_int_equal(ids[3], 0);
}

static void test_the_innermost_and_the_outermost_fit(void **state)
{
	uint32_t ids[4] = { 0 };

	(void)state;
	assert_int_equal(frame_ids_fit(7, 9, ids, 3), 3);
	assert_int_equal(ids[0], 7);
	assert_int_equal(ids[1], 8);
	assert_int_equal(ids[2], 15);
	/* If there is room for one, it is the function that there is without debug information. */
	assert_int_equal(frame_ids_fit(7, 9, ids, 1), 1);
	assert_int_equal(ids[0], 15);
	assert_int_equal(ids[1], 8);
}

/* Deep stacks in which all is inlined: whatever comes first, main() has a place. */
static void test_each_frame_has_a_place(void **state)
{
	uint32_t ids[MS_STACK_MOST];
	size_t count, inlined;

	(void)state;
	for (count = 1; count <= MS_STACK_MOST; count++) {
		for (inlined = 1; inlined <= 33; inlined += 8) {
			size_t put = 0, i;

			for (i = 0; i < count; i++) {
				const size_t room = frame_ids_room(put, count - i - 1);

				assert_true(room >= 1 && put + room <= MS_STACK_MOST);
				put += frame_ids_fit((uint32_t)(100 * i), inlined, ids + put, room);
				assert_int_equal(ids[put - 1], 100 * i + inlined - 1);
			}
			assert_true(put >= count && put <= MS_STACK_MOST);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fit),
		cmocka_unit_test(test_the_innermost_and_the_outermost_fit),
		cmocka_unit_test(test_each_frame_has_a_place),
	};

	return unit_run("frame_ids", tests);
}
