// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of NVIDIA's driver by which something was made, and which of them are closed.
 */
#include "unit.h"

#include "capture/file_makers.h"

#define FIRST 100
#define SECOND 200
#define ENDED 300 /* is not traced any more */

/* Of a look: what was asked and told. */
struct look {
	bool maps_control, maps_uvm;
	unsigned int asked;
	size_t closed_count;
	uint32_t closed[8];
	pid_t pids[8];
	int err;
};

static bool is_traced(pid_t pid, void *context)
{
	(void)context;
	return pid != ENDED;
}

static bool maps(pid_t pid, bool uvm, void *context)
{
	struct look *look = context;

	(void)pid;
	look->asked++;
	return uvm ? look->maps_uvm : look->maps_control;
}

static int closed(pid_t pid, uint32_t file, void *context)
{
	struct look *look = context;

	look->pids[look->closed_count % 8] = pid;
	look->closed[look->closed_count++ % 8] = file;
	return look->err;
}

/* With the file open if it is not 0, in that process. */
static void look_at(struct file_makers *makers, struct look *look, uint32_t file, pid_t pid)
{
	const struct file_makers_visitor visitor = { is_traced, maps, closed, look };
	struct map open = { 0 };

	makers->look++;
	if (file)
		assert_int_equal(map_set(&open, file, (uint64_t)pid), 0);
	look->asked = 0;
	look->closed_count = 0;
	assert_int_equal(file_makers_end_closed(makers, &open, &visitor), look->err);
	map_fini(&open);
}

static void test_files_that_are_closed(void **state)
{
	struct file_makers makers = { 0 };
	struct look look = { 0 };

	(void)state;
	assert_true(file_makers_note(&makers, 7, FIRST, false));
	assert_true(file_makers_note(&makers, 8, FIRST, true));
	look_at(&makers, &look, 7, FIRST);
	assert_int_equal(look.closed_count, 1);
	assert_int_equal(look.closed[0], 8);
	assert_int_equal(look.pids[0], FIRST);
	assert_true(file_makers_has(&makers, FIRST));
	assert_false(file_makers_has(&makers, SECOND));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.closed_count, 1);
	assert_int_equal(look.closed[0], 7);
	assert_false(file_makers_has(&makers, FIRST));
	file_makers_fini(&makers);
}

/* It may have been opened since the look began. */
static void test_a_file_by_which_something_was_made_meanwhile(void **state)
{
	const struct file_makers_visitor visitor = { is_traced, maps, closed, &(struct look){ 0 } };
	struct file_makers makers = { 0 };
	struct map open = { 0 };

	(void)state;
	assert_true(file_makers_note(&makers, 7, FIRST, false));
	makers.look++;
	assert_true(file_makers_any_closed(&makers, &open));
	assert_true(file_makers_note(&makers, 7, FIRST, false));
	assert_int_equal(file_makers_end_closed(&makers, &open, &visitor), 0);
	assert_true(file_makers_has(&makers, FIRST));
	file_makers_fini(&makers);
}

/* The mappings of a process may be very many. */
static void test_mappings_are_looked_at_once_for_each_process_and_kind(void **state)
{
	struct file_makers makers = { 0 };
	struct look look = { .maps_control = true };
	uint32_t file;

	(void)state;
	for (file = 1; file <= 100; file++)
		assert_true(file_makers_note(&makers, file, file % 2 ? FIRST : SECOND, file > 98));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.asked, 4);
	assert_int_equal(look.closed_count, 2); /* those of /dev/nvidia-uvm */
	assert_int_equal(look.closed[0] + look.closed[1], 99 + 100);
	look.maps_control = false;
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.asked, 2);
	assert_int_equal(look.closed_count, 98);
	assert_int_equal(makers.by_file.count, 0);
	assert_int_equal(makers.shares.count, 0);
	file_makers_fini(&makers);
}

static void test_a_process_that_has_ended(void **state)
{
	struct file_makers makers = { 0 };
	struct look look = { 0 };

	(void)state;
	assert_true(file_makers_note(&makers, 7, ENDED, false));
	assert_true(file_makers_note(&makers, 8, ENDED, false));
	look_at(&makers, &look, 7, SECOND);
	assert_int_equal(look.closed_count, 0);
	assert_false(file_makers_has(&makers, ENDED));
	assert_true(file_makers_has(&makers, SECOND));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.closed_count, 1);
	assert_int_equal(look.pids[0], SECOND);
	file_makers_fini(&makers);
}

/* One process leaves places to others. */
static void test_a_share_of_the_places(void **state)
{
	struct file_makers makers = { 0 };
	struct look look = { 0 };
	uint32_t file;

	(void)state;
	for (file = 1; file <= FILE_MAKERS_OF_PROCESS; file++)
		assert_true(file_makers_note(&makers, file, FIRST, false));
	assert_true(file_makers_note(&makers, 1, FIRST, false));
	assert_false(file_makers_note(&makers, file, FIRST, false));
	assert_true(file_makers_note(&makers, file, SECOND, false));
	/* One that is another's already stays that. */
	assert_true(file_makers_note(&makers, file, FIRST, false));
	assert_true(file_makers_has(&makers, SECOND));
	/* What goes to another makes room. */
	assert_true(file_makers_note(&makers, 1, SECOND, false));
	assert_true(file_makers_note(&makers, file + 1, FIRST, false));
	assert_false(file_makers_note(&makers, file + 2, FIRST, false));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.closed_count, FILE_MAKERS_OF_PROCESS + 2);
	assert_int_equal(makers.shares.count, 0);
	file_makers_fini(&makers);
}

static void test_as_many_as_there_are_places(void **state)
{
	struct file_makers makers = { 0 };
	uint32_t file;

	(void)state;
	for (file = 0; file < FILE_MAKERS_MOST; file++)
		assert_true(file_makers_note(&makers, 1 + file,
					     1 + (pid_t)(file / FILE_MAKERS_OF_PROCESS), false));
	assert_false(file_makers_note(&makers, 1 + file, SECOND, false));
	assert_true(file_makers_note(&makers, 1, SECOND, false));
	file_makers_fini(&makers);
}

static void test_what_is_told_can_fail(void **state)
{
	struct file_makers makers = { 0 };
	struct look look = { .err = -5 };

	(void)state;
	assert_true(file_makers_note(&makers, 7, FIRST, false));
	assert_true(file_makers_note(&makers, 8, FIRST, false));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.closed_count, 1);
	file_makers_fini(&makers);
}

/* Of clients, one process stands for all; ranges are in the account of each that made some. */
static void test_several_processes_make_ranges_by_a_file(void **state)
{
	struct file_makers makers = { .look = 1 };
	struct look look = { 0 };

	(void)state;
	assert_true(file_makers_note(&makers, 7, FIRST, true));
	assert_true(file_makers_note(&makers, 7, SECOND, true));
	assert_true(file_makers_note(&makers, 7, ENDED, true));
	assert_true(file_makers_note(&makers, 7, FIRST, true));
	look_at(&makers, &look, 7, FIRST);
	assert_int_equal(look.closed_count, 0);
	assert_true(file_makers_has(&makers, FIRST));
	assert_true(file_makers_has(&makers, SECOND));
	assert_false(file_makers_has(&makers, ENDED));
	look_at(&makers, &look, 0, 0);
	assert_int_equal(look.closed_count, 2);
	assert_int_equal(look.closed[0] + look.closed[1], 14);
	assert_int_equal(look.pids[0] + look.pids[1], FIRST + SECOND);
	assert_false(file_makers_has(&makers, FIRST));
	assert_false(file_makers_has(&makers, SECOND));
	assert_int_equal(makers.by_file.count, 0);
	file_makers_fini(&makers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_that_are_closed),
		cmocka_unit_test(test_a_file_by_which_something_was_made_meanwhile),
		cmocka_unit_test(test_mappings_are_looked_at_once_for_each_process_and_kind),
		cmocka_unit_test(test_a_process_that_has_ended),
		cmocka_unit_test(test_several_processes_make_ranges_by_a_file),
		cmocka_unit_test(test_a_share_of_the_places),
		cmocka_unit_test(test_as_many_as_there_are_places),
		cmocka_unit_test(test_what_is_told_can_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
