// SPDX-License-Identifier: BSD-2-Clause
/*
 * Life and death of processes: attach, exec, exit, and process ids that are used again.
 */
#include "scenario.h"

#include <stdlib.h>

#define A 0x7f0000001000
#define B 0x7f0000002000

#define LATER_START_NS (RECORD_START_NS + MS_START_NS)

/* ---- attach, fork, exec ---------------------------------------------------------------------- */

static void test_attach_tells_the_name_and_the_past(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "python3", MS_ATTACH_RUNNING));
	assert_string_equal(first_process(&s)->comm, "python3");
	assert_true(first_process(&s)->was_running);
	assert_ptr_equal(s.change.process, first_process(&s));
	assert_int_equal(first_process(&s)->pid, RECORD_PID);
	assert_int_equal(first_process(&s)->start_ns, RECORD_START_NS);
	apply(&s, record_of(7, 0, record_process(MS_TYPE_ATTACH, "train", 0)));
	assert_string_equal(s.change.process->comm, "train");
	assert_false(s.change.process->was_running);
	state_fini(&s.state);
}

static void test_a_fork_changes_nothing(void **state)
{
	struct scenario s = { 0 };
	union record fork = record_process(MS_TYPE_FORK, "", 0);

	(void)state;
	fork.process.child_pid = 200;
	fork.process.child_start_ns = LATER_START_NS;
	apply(&s, record_process(MS_TYPE_ATTACH, "python3", 0));
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, fork);
	assert_string_equal(first_process(&s)->comm, "python3");
	assert_live(&s, MS_SPACE_DEVICE, 1, 10);
	assert_int_equal(s.state.processes_count, 1);
	state_fini(&s.state);
}

static void test_exec_ends_everything_and_begins_anew(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "sh", MS_ATTACH_RUNNING));
	apply(&s, record_context("cuCtxCreate_v2", 0xc000, 1));
	apply(&s, record_name(0x1234, "kernel"));
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_alloc("cudaMallocHost", B, 20));
	apply(&s, record_process(MS_TYPE_EXEC, "train", 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 10);
	assert_int_equal(s.change.implicit[MS_SPACE_PINNED].bytes, 20);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->implicit_frees, 1);
	assert_string_equal(first_process(&s)->comm, "train");
	assert_int_equal(s.state.processes_count, 1);

	/* Nothing of the old program is known to the new one. */
	apply(&s, record_launch("cuLaunchKernel", 0x1234));
	assert_null(s.change.kernel);
	apply(&s, record_in(0xc000, record_alloc("cudaMalloc", A, 1)));
	assert_int_equal(s.change.device, -1);
	apply_free_of(&s, "cudaFree", B);
	assert_int_equal(s.change.free, FREE_UNKNOWN); /* it is seen from its beginning */
	state_fini(&s.state);
}

static void test_exec_in_the_middle_of_a_free(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_by(101, record_free_begin(A)));
	apply(&s, record_process(MS_TYPE_EXEC, "train", 0));
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 10);
	apply(&s, record_by(101, record_free("cudaFree", A))); /* of the old program's block */
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	apply(&s, record_alloc("cudaMalloc", A, 20));
	apply_free_of(&s, "cudaFree", A);
	assert_changed(&s, 2, 20);
	state_fini(&s.state);
}

/* ---- attached to late ------------------------------------------------------------------------ */

/* A child that is attached to milliseconds after it has executed its program. */
static void attach_late(struct scenario *s)
{
	apply(s, record_process(MS_TYPE_ATTACH, "sh", MS_ATTACH_RUNNING));
	apply(s, record_process(MS_TYPE_EXEC, "train", 0));
	apply(s, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING | MS_ATTACH_BEGUN));
}

static void test_who_makes_a_context_first_was_not_attached_to_too_late(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	attach_late(&s);
	assert_true(first_process(&s)->was_running);
	apply(&s, record_name(0x1234, "kernel"));
	apply(&s, record_context("cudaSetDevice", 0, 1));
	assert_true(first_process(&s)->was_running);
	apply(&s, record_context("cuDevicePrimaryCtxRetain", 0xc000, 1));
	assert_false(first_process(&s)->was_running);
	apply_free_of(&s, "cudaFree", A);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	state_fini(&s.state);

	attach_late(&s);
	apply(&s, record_context("cuCtxCreate_v2", 0xc000, 1));
	assert_false(first_process(&s)->was_running);
	state_fini(&s.state);
}

static void test_who_has_called_anything_else_may_have_been(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	attach_late(&s);
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_context("cuDevicePrimaryCtxRetain", 0xc000, 1));
	assert_true(first_process(&s)->was_running);
	state_fini(&s.state);
}

static void test_what_fails_tells_nothing(void **state)
{
	struct scenario s = { 0 };
	union record failed = record_context("cuCtxCreate_v2", 0, 1);

	(void)state;
	attach_late(&s);
	failed.call.result = 2;
	apply(&s, failed);
	assert_true(first_process(&s)->was_running && first_process(&s)->only_begun);
	apply(&s, record_context("cuCtxCreate_v2", 0xc000, 1));
	assert_false(state_may_hold_more(first_process(&s)));
	state_fini(&s.state);
}

/* It holds nothing of its parent's, and may have allocated before it was attached to. */
static void test_of_a_forked_child_the_first_call_tells(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "worker", MS_ATTACH_BEGUN));
	assert_false(first_process(&s)->was_running);
	assert_true(state_may_hold_more(first_process(&s)));
	apply(&s, record_context("cuCtxCreate_v2", 0xc000, 1));
	assert_false(state_may_hold_more(first_process(&s)));
	state_fini(&s.state);

	apply(&s, record_process(MS_TYPE_ATTACH, "worker", MS_ATTACH_BEGUN));
	apply(&s, record_alloc("cudaMalloc", A, 10));
	assert_true(first_process(&s)->was_running);
	state_fini(&s.state);
}

/* The context may be that of a library, of which another one has made its own long ago. */
static void test_who_had_been_running_for_long_may_hold_memory(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING));
	apply(&s, record_context("cuCtxCreate_v2", 0xc000, 1));
	assert_true(first_process(&s)->was_running);
	state_fini(&s.state);
}

/* Nobody knows the peak of the first, and the process has one row for both. */
static void test_an_exec_does_not_make_earlier_numbers_whole(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "sh", MS_ATTACH_RUNNING));
	assert_false(first_process(&s)->was_running_earlier);
	apply(&s, record_process(MS_TYPE_EXEC, "train", 0));
	assert_true(first_process(&s)->was_running_earlier);
	assert_false(first_process(&s)->was_running);
	apply(&s, record_process(MS_TYPE_EXEC, "other", 0));
	assert_true(first_process(&s)->was_running_earlier);
	state_restart(&s.state, 5);
	assert_false(first_process(&s)->was_running_earlier);
	state_fini(&s.state);

	apply(&s, record_process(MS_TYPE_ATTACH, "sh", 0));
	apply(&s, record_process(MS_TYPE_EXEC, "train", 0));
	assert_false(first_process(&s)->was_running_earlier);
	state_fini(&s.state);
}

/* ---- exit ------------------------------------------------------------------------------------ */

static void test_exit_keeps_what_was_live(void **state)
{
	struct scenario s = { 0 };
	const struct space_total *device;

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_alloc("cudaMalloc", B, 20));
	apply(&s, record_alloc("cudaMallocManaged", 0x1000, 5));
	apply_free_of(&s, "cudaFree", A);
	apply(&s, record_at(5000, record_exit(3 << 8)));
	assert_true(first_process(&s)->exited);
	assert_int_equal(first_process(&s)->exit_status, 3 << 8);
	assert_int_equal(first_process(&s)->exit_ts_ns, 5000);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].bytes, 20);
	assert_int_equal(s.change.implicit[MS_SPACE_MANAGED].bytes, 5);
	assert_live(&s, MS_SPACE_DEVICE, 0, 0);
	device = space_of(&s, MS_SPACE_DEVICE);
	assert_int_equal(device->exit_count, 1);
	assert_int_equal(device->exit_bytes, 20);
	assert_int_equal(device->peak_bytes, 30);
	assert_int_equal(device->implicit_frees, 0); /* reported as live at exit instead */
	state_fini(&s.state);
}

/* Nobody knows how far the frees had got: all of it ended with the process. */
static void test_exit_in_the_middle_of_frees(void **state)
{
	static const enum ms_space spaces[] = { MS_SPACE_DEVICE, MS_SPACE_PHYSICAL,
						MS_SPACE_MAPPED };
	struct scenario s = { 0 };
	size_t i;

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_alloc("cuMemCreate", 1, 4096));
	apply(&s, record_map(B, 4096, 1));
	apply(&s, record_by(101, record_free_begin(A)));
	apply(&s, record_by(102, record_begin_of("cuMemUnmap", B, 4096)));
	apply(&s, record_by(103, record_begin_of("cuMemRelease", 1, 0)));
	apply(&s, record_exit(9));
	for (i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		const struct space_total *total = space_of(&s, spaces[i]);

		assert_int_equal(total->exit_count, 1);
		assert_int_equal(total->exit_bytes, total->alloc_bytes);
		assert_int_equal(total->frees, 0);
		assert_int_equal(s.change.implicit[spaces[i]].count, 1);
	}
	assert_int_equal(first_process(&s)->exit_largest_count, 2);
	state_fini(&s.state);
}

/* Each record says for how long the step before was taken; an exit, for how long the last one. */
static void test_what_the_agent_gave_up_is_added_up(void **state)
{
	const uint64_t ms = 1000000;
	struct scenario s = { 0 };
	union record exit = record_process(MS_TYPE_EXIT, "train", 0);

	(void)state;
	apply(&s, record_process(MS_TYPE_ATTACH, "train", 0));
	apply(&s, record_at(10 * ms, record_budget(MS_BUDGET_ENTRIES, MS_BUDGET_ALL, 9 * ms)));
	assert_int_equal(first_process(&s)->counters[COUNTER_ENTRIES_MS], 0);
	apply(&s, record_at(30 * ms, record_budget(MS_BUDGET_OFF, MS_BUDGET_ENTRIES, 20 * ms)));
	assert_int_equal(first_process(&s)->counters[COUNTER_ENTRIES_MS], 20);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNTRACED_MS], 0);
	apply(&s, record_at(35 * ms, record_budget(MS_BUDGET_OFF, MS_BUDGET_OFF, 5 * ms)));
	assert_int_equal(first_process(&s)->counters[COUNTER_UNTRACED_MS], 5);
	/* What has begun counts as one. */
	exit.event.ts_ns = 42 * ms + 1;
	apply(&s, exit);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNTRACED_MS], 5 + 8);
	assert_int_equal(first_process(&s)->counters[COUNTER_ENTRIES_MS], 20);
	state_fini(&s.state);
}

static void test_a_second_exit_is_ignored(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_at(5000, record_exit(0)));
	apply(&s, record_at(6000, record_exit(9)));
	assert_int_equal(first_process(&s)->exit_status, 0);
	assert_int_equal(first_process(&s)->exit_ts_ns, 5000);
	assert_int_equal(space_of(&s, MS_SPACE_DEVICE)->exit_bytes, 10);
	assert_int_equal(s.change.implicit[MS_SPACE_DEVICE].count, 0);
	state_fini(&s.state);
}

/* ---- the largest ----------------------------------------------------------------------------- */

static void alloc_sizes(struct scenario *s, const uint64_t *sizes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		apply(s, record_alloc("cudaMalloc", A + i * 4096, sizes[i]));
}

static void assert_ids(const struct allocation *found, size_t count, const uint64_t *ids,
		       size_t expected)
{
	size_t i;

	assert_int_equal(count, expected);
	for (i = 0; i < expected; i++)
		assert_int_equal(found[i].id, ids[i]);
}

static void test_largest_first_and_of_equals_the_oldest(void **state)
{
	static const uint64_t sizes[] = { 5, 7, 1, 7, 9, 5, 7, 0 };
	static const uint64_t order[] = { 5, 2, 4, 7, 1, 6, 3, 8 };
	struct scenario s = { 0 };
	struct allocation largest[8];
	size_t max;

	(void)state;
	alloc_sizes(&s, sizes, 8);
	for (max = 0; max <= 8; max++)
		assert_ids(largest, state_largest(first_process(&s), largest, max), order, max);
	apply_free_of(&s, "cudaFree", A + 4 * 4096); /* moves the last entry */
	assert_ids(largest, state_largest(first_process(&s), largest, 3), order + 1, 3);
	state_fini(&s.state);
}

/* The ledger's order is not that of age once something was freed. */
static void test_equals_are_in_order_of_age_after_a_free(void **state)
{
	struct scenario s = { 0 };
	struct allocation largest[3];

	(void)state;
	alloc_sizes(&s, (const uint64_t[]){ 7, 7, 7, 7 }, 4);
	apply_free_of(&s, "cudaFree", A);
	assert_ids(largest, state_largest(first_process(&s), largest, 3),
		   (const uint64_t[]){ 2, 3, 4 }, 3);
	state_fini(&s.state);
}

static void test_fewer_than_asked_for(void **state)
{
	struct scenario s = { 0 };
	struct allocation largest[5];

	(void)state;
	apply(&s, record_attach_running());
	assert_int_equal(state_largest(first_process(&s), largest, 5), 0);
	alloc_sizes(&s, (const uint64_t[]){ 1, 2 }, 2);
	assert_ids(largest, state_largest(first_process(&s), largest, 5),
		   (const uint64_t[]){ 2, 1 }, 2);
	state_fini(&s.state);
}

static void test_largest_of_an_exited_process(void **state)
{
	static const uint64_t sizes[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 };
	static const uint64_t order[] = { 6, 12, 8, 5, 9, 11, 3, 1, 10, 7 };
	struct scenario s = { 0 };
	struct allocation largest[PROCESS_LARGEST];

	(void)state;
	alloc_sizes(&s, sizes, 12);
	apply(&s, record_exit(0));
	assert_ids(largest, state_largest(first_process(&s), largest, PROCESS_LARGEST), order,
		   PROCESS_LARGEST);
	assert_ids(largest, state_largest(first_process(&s), largest, 2), order, 2);
	state_fini(&s.state);
}

static int by_size(const void *a, const void *b)
{
	const struct allocation *x = a, *y = b;

	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? 1 : -1;
	return x->id < y->id ? -1 : 1;
}

/* Against sorting the whole ledger. */
static void test_largest_of_many(void **state)
{
	struct scenario s = { 0 };
	struct allocation sorted[500], largest[PROCESS_LARGEST];
	uint64_t random = 11;
	size_t i;

	(void)state;
	for (i = 0; i < 500; i++) {
		random = unit_random(random);
		apply(&s, record_alloc("cudaMalloc", A + i * 4096, random % 40));
		sorted[i] = s.change.allocation;
	}
	qsort(sorted, 500, sizeof(*sorted), by_size);
	assert_int_equal(state_largest(first_process(&s), largest, PROCESS_LARGEST),
			 PROCESS_LARGEST);
	for (i = 0; i < PROCESS_LARGEST; i++)
		assert_int_equal(largest[i].id, sorted[i].id);
	state_fini(&s.state);
}

/* ---- several processes ----------------------------------------------------------------------- */

static void test_processes_are_kept_apart(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_of(200, RECORD_START_NS, record_alloc("cudaMalloc", A, 20)));
	assert_int_equal(s.state.processes_count, 2);
	assert_int_equal(s.change.live_bytes, 20);
	assert_int_equal(s.change.process->counters[COUNTER_MISSED_FREES], 0);
	apply_free_of(&s, "cudaFree", A);
	assert_changed(&s, 1, 10);
	assert_int_equal(s.state.processes[1]->spaces[MS_SPACE_DEVICE].live_bytes, 20);
	state_fini(&s.state);
}

static void test_a_reused_pid_is_another_process(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_exit(0));
	apply(&s, record_of(RECORD_PID, LATER_START_NS, record_alloc("cudaMalloc", A, 20)));
	assert_int_equal(s.state.processes_count, 2);
	assert_ptr_equal(s.change.process, s.state.processes[1]);
	assert_int_equal(s.change.live_bytes, 20);
	assert_false(s.change.process->exited);
	state_fini(&s.state);
}

/* The exit was lost or comes late: the older one's events still find it. */
static void test_late_events_of_the_older_process(void **state)
{
	struct scenario s = { 0 };
	const struct process *older, *newer;

	(void)state;
	apply(&s, record_alloc("cudaMalloc", A, 10));
	apply(&s, record_of(RECORD_PID, LATER_START_NS, record_alloc("cudaMalloc", A, 20)));
	older = s.state.processes[0];
	newer = s.state.processes[1];
	apply(&s, record_alloc("cudaMalloc", B, 1));
	assert_ptr_equal(s.change.process, older);
	apply(&s, record_of(RECORD_PID, LATER_START_NS, record_alloc("cudaMalloc", B, 2)));
	assert_ptr_equal(s.change.process, newer);
	apply(&s, record_exit(0));
	assert_true(older->exited);
	assert_false(newer->exited);
	assert_int_equal(older->spaces[MS_SPACE_DEVICE].exit_bytes, 11);
	assert_int_equal(newer->spaces[MS_SPACE_DEVICE].live_bytes, 22);
	assert_int_equal(s.state.processes_count, 2);
	state_fini(&s.state);
}

static void test_many_processes(void **state)
{
	struct scenario s = { 0 };
	uint32_t i, round;

	(void)state;
	for (round = 0; round < 3; round++)
		for (i = 0; i < 2000; i++)
			apply(&s, record_of(1 + i % 1000, (1 + i / 1000) * MS_START_NS,
					    record_alloc("cudaMalloc", A + round * 4096, i)));
	assert_int_equal(s.state.processes_count, 2000);
	for (i = 0; i < 2000; i++) {
		assert_int_equal(s.state.processes[i]->pid, 1 + i % 1000);
		assert_int_equal(s.state.processes[i]->spaces[MS_SPACE_DEVICE].live_bytes, 3 * i);
	}
	state_fini(&s.state);
}

static void test_fini_of_a_zeroed_state_and_twice(void **state)
{
	struct state empty = { 0 };

	(void)state;
	state_fini(&empty);
	state_fini(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach_tells_the_name_and_the_past),
		cmocka_unit_test(test_a_fork_changes_nothing),
		cmocka_unit_test(test_exec_ends_everything_and_begins_anew),
		cmocka_unit_test(test_exec_in_the_middle_of_a_free),
		cmocka_unit_test(test_who_makes_a_context_first_was_not_attached_to_too_late),
		cmocka_unit_test(test_who_has_called_anything_else_may_have_been),
		cmocka_unit_test(test_what_fails_tells_nothing),
		cmocka_unit_test(test_of_a_forked_child_the_first_call_tells),
		cmocka_unit_test(test_who_had_been_running_for_long_may_hold_memory),
		cmocka_unit_test(test_an_exec_does_not_make_earlier_numbers_whole),
		cmocka_unit_test(test_exit_keeps_what_was_live),
		cmocka_unit_test(test_exit_in_the_middle_of_frees),
		cmocka_unit_test(test_what_the_agent_gave_up_is_added_up),
		cmocka_unit_test(test_a_second_exit_is_ignored),
		cmocka_unit_test(test_largest_first_and_of_equals_the_oldest),
		cmocka_unit_test(test_equals_are_in_order_of_age_after_a_free),
		cmocka_unit_test(test_fewer_than_asked_for),
		cmocka_unit_test(test_largest_of_an_exited_process),
		cmocka_unit_test(test_largest_of_many),
		cmocka_unit_test(test_processes_are_kept_apart),
		cmocka_unit_test(test_a_reused_pid_is_another_process),
		cmocka_unit_test(test_late_events_of_the_older_process),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_fini_of_a_zeroed_state_and_twice),
	};

	return unit_run("state: processes", tests);
}
