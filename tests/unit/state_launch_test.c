// SPDX-License-Identifier: BSD-2-Clause
/*
 * Launches and the names of kernels; copies, memsets and synchronisation.
 */
#include "scenario.h"

#define HANDLE 0x1234
#define OTHER_HANDLE 0x5678
#define HOST_HANDLE 0x400100 /* what the runtime calls the function */

static const struct kernel *kernel_at(const struct scenario *s, size_t place)
{
	assert_true(place < first_process(s)->kernels_count);
	return &first_process(s)->kernels[place];
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_a_handle_has_the_name_it_was_given(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "_Z3addPf"));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_string_equal(s.change.kernel, "_Z3addPf");
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	assert_null(s.change.kernel);
	assert_int_equal(kernel_at(&s, 0)->launches, 1);
	assert_string_equal(kernel_at(&s, 0)->name, "_Z3addPf");
	assert_null(kernel_at(&s, 1)->name);
	assert_int_equal(kernel_at(&s, 1)->handle, OTHER_HANDLE);
	assert_int_equal(first_process(&s)->launches, 2);
	state_fini(&s.state);
}

static union record record_found(uint64_t handle, const char *name)
{
	union record record = record_name(handle, name);

	record.name.found = 1;
	return record;
}

/* It had that name before, when nothing said so. */
static void test_a_name_that_is_found_counts_for_earlier_launches(void **state)
{
	struct scenario s = { 0 };
	int i;

	(void)state;
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	apply(&s, record_found(HANDLE, "found"));
	assert_int_equal(first_process(&s)->kernels_count, 2);
	assert_string_equal(kernel_at(&s, 0)->name, "found");
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_string_equal(s.change.kernel, "found");
	assert_int_equal(kernel_at(&s, 0)->launches, 2);
	/* Others of the same name: the last one, one among others. */
	apply(&s, record_found(OTHER_HANDLE, "found"));
	assert_int_equal(first_process(&s)->kernels_count, 1);
	assert_int_equal(kernel_at(&s, 0)->launches, 3);
	for (i = 0; i < 3; i++)
		apply(&s, record_launch("cuLaunchKernel", 0x9000 + i));
	apply(&s, record_found(0x9000, "found"));
	assert_int_equal(first_process(&s)->kernels_count, 3);
	assert_int_equal(kernel_at(&s, 0)->launches, 4);
	apply(&s, record_launch("cuLaunchKernel", 0x9001));
	apply(&s, record_launch("cuLaunchKernel", 0x9002));
	assert_int_equal(first_process(&s)->kernels_count, 3);
	assert_int_equal(kernel_at(&s, 1)->launches + kernel_at(&s, 2)->launches, 4);
	assert_int_equal(first_process(&s)->launches, 8);
	state_fini(&s.state);
}

/* What a call has said is not what was found, and stays. */
static void test_a_name_that_is_found_is_no_better_than_one_that_was_said(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "said"));
	apply(&s, record_found(HANDLE, "found"));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_string_equal(s.change.kernel, "said");
	/* An alias of something without a name says nothing. */
	apply(&s, record_alias(OTHER_HANDLE, HOST_HANDLE));
	apply(&s, record_found(OTHER_HANDLE, "found"));
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	assert_string_equal(s.change.kernel, "found");
	/* And the other way round, launches of before were of another kernel, perhaps. */
	apply(&s, record_launch("cuLaunchKernel", 0x9000));
	apply(&s, record_name(0x9000, "later"));
	assert_null(kernel_at(&s, 2)->name);
	state_fini(&s.state);
}

static void test_handles_of_one_name_are_one_kernel(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_name(OTHER_HANDLE, "kernel"));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_int_equal(first_process(&s)->kernels_count, 1);
	assert_int_equal(kernel_at(&s, 0)->launches, 3);
	state_fini(&s.state);
}

static void test_handles_without_a_name_are_kernels_of_their_own(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_int_equal(first_process(&s)->kernels_count, 2);
	assert_int_equal(kernel_at(&s, 0)->launches, 2);
	assert_int_equal(kernel_at(&s, 1)->launches, 1);
	state_fini(&s.state);
}

static void test_an_alias_finds_the_name_whichever_came_first(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_alias(OTHER_HANDLE, HANDLE));
	apply(&s, record_launch("cuLaunchKernel", OTHER_HANDLE));
	assert_string_equal(s.change.kernel, "kernel");

	apply(&s, record_alias(0x2222, 0x1111));
	apply(&s, record_launch("cuLaunchKernel", 0x2222));
	assert_null(s.change.kernel);
	apply(&s, record_name(0x1111, "late"));
	apply(&s, record_launch("cuLaunchKernel", 0x2222));
	assert_string_equal(s.change.kernel, "late");
	state_fini(&s.state);
}

/* The names of the host's stubs may lie in pages that nobody has read yet. */
static void test_an_alias_of_something_nameless_takes_no_name_away(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_alias(HANDLE, OTHER_HANDLE));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_string_equal(s.change.kernel, "kernel");
	state_fini(&s.state);
}

static void test_an_alias_of_itself_is_no_name(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alias(HANDLE, HANDLE));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_null(s.change.kernel);
	state_fini(&s.state);
}

/* A module was unloaded, and the next one's function got its handle. */
static void test_a_renamed_handle_has_the_new_name(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "old"));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	apply(&s, record_name(HANDLE, "new"));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	assert_string_equal(s.change.kernel, "new");
	assert_int_equal(kernel_at(&s, 0)->launches, 1);
	assert_int_equal(kernel_at(&s, 1)->launches, 1);
	state_fini(&s.state);
}

static void test_an_unread_name_is_none(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_event(MS_TYPE_NAME, sizeof(struct ms_name)));
	apply(&s, record_launch("cuLaunchKernel", 0));
	assert_null(s.change.kernel);
	state_fini(&s.state);
}

static void test_names_are_of_one_process(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_of(200, RECORD_START_NS, record_launch("cuLaunchKernel", HANDLE)));
	assert_null(s.change.kernel);
	state_fini(&s.state);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The merged record has the driver's handle in addr and the runtime's in src. */
static void test_a_runtime_launch_knows_two_handles(void **state)
{
	struct scenario s = { 0 };
	union record launch =
		record_from(HOST_HANDLE, record_merged("cuLaunchKernel",
						       record_launch("cudaLaunchKernel", HANDLE)));

	(void)state;
	apply(&s, launch);
	assert_null(s.change.kernel);
	apply(&s, record_name(HOST_HANDLE, "by the runtime"));
	apply(&s, launch);
	assert_string_equal(s.change.kernel, "by the runtime");
	apply(&s, record_name(HANDLE, "by the driver"));
	apply(&s, launch);
	assert_string_equal(s.change.kernel, "by the driver");
	state_fini(&s.state);
}

static void test_failed_launches_launch_nothing(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_failed(1, record_launch("cuLaunchKernel", HANDLE)));
	assert_string_equal(s.change.kernel, "kernel"); /* still worth showing */
	assert_int_equal(first_process(&s)->launches, 0);
	assert_int_equal(first_process(&s)->kernels_count, 0);
	assert_int_equal(first_process(&s)->failures_count, 1);
	state_fini(&s.state);
}

static void test_parts_are_not_launched_twice(void **state)
{
	struct scenario s = { 0 };
	const uint8_t flags = MS_CALL_NESTED | MS_CALL_PART;

	(void)state;
	apply(&s, record_flagged(flags, record_launch("cuLaunchKernel", HANDLE)));
	apply(&s, record_launch("cudaLaunchKernel", HOST_HANDLE));
	assert_int_equal(first_process(&s)->launches, 1);
	assert_int_equal(kernel_at(&s, 0)->handle, HOST_HANDLE);
	apply(&s, record_flagged(MS_CALL_NESTED, record_launch("cuLaunchKernel", HANDLE)));
	assert_int_equal(first_process(&s)->launches, 2); /* nested in something else */
	assert_int_equal(first_process(&s)->calls[MS_OP_LAUNCH], 3);
	state_fini(&s.state);
}

static void test_many_kernels(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		apply(&s, record_launch("cuLaunchKernel", 0x10000 + i % 1000 * 64));
	assert_int_equal(first_process(&s)->kernels_count, 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(kernel_at(&s, i)->launches, 5);
	state_fini(&s.state);
}

static void test_counted_launches_are_so_many(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_name(HANDLE, "kernel"));
	apply(&s, record_launches("cuLaunchKernel", HANDLE, 1000));
	apply(&s, record_launch("cuLaunchKernel", HANDLE));
	apply(&s, record_launches("cuLaunchKernel", HANDLE, 10));
	apply(&s, record_launches("cuLaunchKernel", OTHER_HANDLE, 100));
	apply(&s, record_failed(1, record_launches("cuLaunchKernel", OTHER_HANDLE, 7)));
	assert_int_equal(kernel_at(&s, 0)->launches, 1011);
	assert_int_equal(kernel_at(&s, 1)->launches, 100);
	assert_int_equal(first_process(&s)->launches, 1111);
	assert_int_equal(first_process(&s)->calls[MS_OP_LAUNCH], 1118);
	assert_int_equal(first_process(&s)->failures[0].count, 7);
	apply(&s, record_failed(1, record_launches("cuLaunchKernel", OTHER_HANDLE, 3)));
	assert_int_equal(first_process(&s)->failures[0].count, 10);
	apply(&s, record_name(OTHER_HANDLE, "kernel"));
	apply(&s, record_launches("cuLaunchKernel", OTHER_HANDLE, 5)); /* a kernel it knows */
	assert_int_equal(kernel_at(&s, 0)->launches, 1016);
	state_fini(&s.state);
}

/* ---- copies, memsets, synchronisation -------------------------------------------------------- */

static void test_copies_are_counted_by_direction(void **state)
{
	struct scenario s = { 0 };
	int direction;

	(void)state;
	for (direction = 0; direction < MS_DIRECTIONS_COUNT; direction++) {
		apply(&s, record_taking(5, record_copy("cudaMemcpy", 100 + direction, direction)));
		apply(&s, record_taking(2, record_copy("cudaMemcpy", 1000, direction)));
	}
	for (direction = 0; direction < MS_DIRECTIONS_COUNT; direction++) {
		const struct call_total *copies = &first_process(&s)->copies[direction];

		assert_int_equal(copies->count, 2);
		assert_int_equal(copies->bytes, 1100 + direction);
		assert_int_equal(copies->duration_ns, 7);
		assert_int_equal(copies->unknown_bytes, 0);
	}
	assert_int_equal(first_process(&s)->copies[MS_DIRECTIONS_COUNT].count, 0);
	state_fini(&s.state);
}

static void test_copies_of_unknown_direction_or_size(void **state)
{
	struct scenario s = { 0 };
	union record copy = record_copy("cuMemcpy2D_v2", 100, MS_DIRECTION_DTOH);
	const struct process *process;

	(void)state;
	apply(&s, record_without(MS_KNOWN_DIRECTION, copy));
	apply(&s, record_without(MS_KNOWN_SIZE, copy));
	apply(&s, copy);
	process = first_process(&s);
	assert_int_equal(process->copies[MS_DIRECTIONS_COUNT].count, 1);
	assert_int_equal(process->copies[MS_DIRECTIONS_COUNT].bytes, 100);
	assert_int_equal(process->copies[MS_DIRECTION_HTOH].count, 0);
	assert_int_equal(process->copies[MS_DIRECTION_DTOH].count, 2);
	assert_int_equal(process->copies[MS_DIRECTION_DTOH].bytes, 100);
	assert_int_equal(process->copies[MS_DIRECTION_DTOH].unknown_bytes, 1);
	state_fini(&s.state);
}

static void test_memsets_and_synchronisation(void **state)
{
	struct scenario s = { 0 };
	const struct process *process;

	(void)state;
	apply(&s, record_taking(3, record_alloc("cudaMemset", 0x1000, 64)));
	apply(&s, record_taking(4, record_alloc("cuMemsetD32_v2", 0x1000, 16)));
	apply(&s, record_taking(1000, record_call("cudaDeviceSynchronize")));
	apply(&s, record_taking(500, record_call("cuEventSynchronize")));
	process = first_process(&s);
	assert_int_equal(process->memsets.count, 2);
	assert_int_equal(process->memsets.bytes, 80);
	assert_int_equal(process->memsets.duration_ns, 7);
	assert_int_equal(process->syncs.count, 2);
	assert_int_equal(process->syncs.duration_ns, 1500);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	state_fini(&s.state);
}

static void test_failed_transfers_and_parts_are_not_counted(void **state)
{
	static const char *const symbols[] = { "cudaMemcpy", "cudaMemset",
					       "cudaStreamSynchronize" };
	struct scenario s = { 0 };
	const struct process *process;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		union record record = record_taking(9, record_alloc(symbols[i], 0x1000, 10));

		apply(&s, record_failed(1, record));
		apply(&s, record_flagged(MS_CALL_NESTED | MS_CALL_PART, record));
		apply(&s, record_flagged(MS_CALL_NESTED, record));
	}
	process = first_process(&s);
	assert_int_equal(process->copies[MS_DIRECTIONS_COUNT].count, 1);
	assert_int_equal(process->memsets.count, 1);
	assert_int_equal(process->syncs.count, 1);
	assert_int_equal(process->syncs.duration_ns, 9);
	assert_int_equal(process->calls[MS_OP_COPY], 3); /* calls are calls */
	assert_int_equal(process->failures_count, 3);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_handle_has_the_name_it_was_given),
		cmocka_unit_test(test_a_name_that_is_found_counts_for_earlier_launches),
		cmocka_unit_test(test_a_name_that_is_found_is_no_better_than_one_that_was_said),
		cmocka_unit_test(test_handles_of_one_name_are_one_kernel),
		cmocka_unit_test(test_handles_without_a_name_are_kernels_of_their_own),
		cmocka_unit_test(test_an_alias_finds_the_name_whichever_came_first),
		cmocka_unit_test(test_an_alias_of_something_nameless_takes_no_name_away),
		cmocka_unit_test(test_an_alias_of_itself_is_no_name),
		cmocka_unit_test(test_a_renamed_handle_has_the_new_name),
		cmocka_unit_test(test_an_unread_name_is_none),
		cmocka_unit_test(test_names_are_of_one_process),
		cmocka_unit_test(test_a_runtime_launch_knows_two_handles),
		cmocka_unit_test(test_failed_launches_launch_nothing),
		cmocka_unit_test(test_parts_are_not_launched_twice),
		cmocka_unit_test(test_many_kernels),
		cmocka_unit_test(test_counted_launches_are_so_many),
		cmocka_unit_test(test_copies_are_counted_by_direction),
		cmocka_unit_test(test_copies_of_unknown_direction_or_size),
		cmocka_unit_test(test_memsets_and_synchronisation),
		cmocka_unit_test(test_failed_transfers_and_parts_are_not_counted),
	};

	return unit_run("state: launches and transfers", tests);
}
