// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many processes that end: what is kept of them, and that nothing is missing in the sum.
 */
#include "scenario.h"

#include "ledger/ended.h"

#define A 0x7f0000001000
#define COUNT 1000u
#define PID(i) (1000 + (i) % 300)
#define START_NS(i) ((1 + (uint64_t)(i)) * MS_START_NS)

/* Each holds i bytes at its end, and has freed one more block. */
static void live_and_die(struct scenario *s, uint32_t i)
{
	const char *name = i % 2 ? "odd" : "even";

	if (i % 11 == 0) {
		apply(s, record_of(PID(i), START_NS(i), record_attach_running()));
		apply(s, record_of(PID(i), START_NS(i), record_process(MS_TYPE_EXEC, "next", 0)));
	}
	apply(s,
	      record_of(PID(i), START_NS(i), record_process(MS_TYPE_ATTACH, "short", i % 7 == 0)));
	apply(s, record_of(PID(i), START_NS(i), record_alloc("cudaMalloc", A, i)));
	apply(s, record_of(PID(i), START_NS(i), record_alloc("cudaMalloc", A + 8192, 1)));
	apply(s, record_of(PID(i), START_NS(i), record_free_begin(A + 8192)));
	apply(s, record_of(PID(i), START_NS(i), record_free("cudaFree", A + 8192)));
	apply(s, record_of(PID(i), START_NS(i),
			   record_copy("cuMemcpyHtoD_v2", 10, MS_DIRECTION_HTOD)));
	apply(s,
	      record_of(PID(i), START_NS(i), record_failed(2, record_alloc("cudaMalloc", 0, 5))));
	apply(s, record_of(PID(i), START_NS(i), record_name(0x1000 + i, name)));
	apply(s, record_of(PID(i), START_NS(i), record_launch("cuLaunchKernel", 0x1000 + i)));
	apply(s, record_of(PID(i), START_NS(i), record_launch("cuLaunchKernel", 0x9000 + i)));
	apply(s, record_of(PID(i), START_NS(i), record_nccl(MS_NCCL_ncclAllReduce, 0x5000 + i, i)));
	apply(s, record_of(PID(i), START_NS(i), record_exit(0)));
}

/* Large ones among the first, so that they stay because of their size. */
static uint32_t nth(uint32_t i)
{
	return i < ENDED_LARGE ? COUNT - ENDED_LARGE + i : i - ENDED_LARGE;
}

static void run(struct scenario *s)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		live_and_die(s, nth(i));
}

static void test_few_are_all_kept(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < ENDED_RECENT + ENDED_LARGE; i++)
		live_and_die(&s, i);
	assert_int_equal(s.state.processes_count, ENDED_RECENT + ENDED_LARGE);
	assert_int_equal(s.state.more_count, 0);
	assert_null(s.state.more);
	state_fini(&s.state);
}

static void test_the_last_and_the_largest_are_kept(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	run(&s);
	/* One more than that only until the next process begins. */
	assert_int_equal(s.state.processes_count, ENDED_RECENT + ENDED_LARGE + 1);
	assert_int_equal(s.state.more_count + s.state.processes_count, COUNT);
	for (i = 0; i < ENDED_LARGE; i++)
		assert_int_equal(s.state.processes[i]->start_ns, START_NS(nth(i)));
	for (i = 0; i < ENDED_RECENT; i++)
		assert_int_equal(s.state.processes[s.state.processes_count - 1 - i]->start_ns,
				 START_NS(nth(COUNT - 1 - i)));
	state_fini(&s.state);
}

static uint64_t total_of(const struct state *state, uint64_t (*get)(const struct process *))
{
	uint64_t total = state->more ? get(state->more) : 0;
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		total += get(state->processes[i]);
	return total;
}

static uint64_t allocs(const struct process *process)
{
	return process->spaces[MS_SPACE_DEVICE].allocs;
}

static uint64_t alloc_bytes(const struct process *process)
{
	return process->spaces[MS_SPACE_DEVICE].alloc_bytes;
}

static uint64_t frees(const struct process *process)
{
	return process->spaces[MS_SPACE_DEVICE].frees;
}

static uint64_t nccl_calls(const struct process *process)
{
	uint64_t calls = process->nccl.others;
	size_t i;

	for (i = 0; i < process->nccl.count; i++)
		calls += nccl_moves(&process->nccl.list[i]).count;
	return calls;
}

static uint64_t nccl_moved(const struct process *process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < process->nccl.count; i++)
		bytes += nccl_moves(&process->nccl.list[i]).bytes;
	return bytes;
}

static uint64_t exit_bytes(const struct process *process)
{
	return process->spaces[MS_SPACE_DEVICE].exit_bytes;
}

static uint64_t copied(const struct process *process)
{
	return process->copies[MS_DIRECTION_HTOD].bytes;
}

static uint64_t launches(const struct process *process)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < process->kernels_count; i++)
		sum += process->kernels[i].launches;
	assert_int_equal(sum, process->launches);
	return sum;
}

static uint64_t failures(const struct process *process)
{
	assert_int_equal(process->failures_count, 1);
	return process->failures[0].count;
}

static uint64_t calls(const struct process *process)
{
	return process->calls[MS_OP_ALLOC];
}

static void test_nothing_is_missing_in_the_sum(void **state)
{
	struct scenario s = { 0 };
	const uint64_t bytes = (uint64_t)COUNT * (COUNT - 1) / 2;

	(void)state;
	run(&s);
	assert_int_equal(total_of(&s.state, allocs), 2 * COUNT);
	assert_int_equal(total_of(&s.state, alloc_bytes), bytes + COUNT);
	assert_int_equal(total_of(&s.state, frees), COUNT);
	assert_int_equal(total_of(&s.state, exit_bytes), bytes);
	assert_int_equal(total_of(&s.state, copied), 10 * COUNT);
	assert_int_equal(total_of(&s.state, launches), 2 * COUNT);
	assert_int_equal(total_of(&s.state, failures), COUNT);
	assert_int_equal(total_of(&s.state, calls), 3 * COUNT);
	assert_int_equal(total_of(&s.state, nccl_calls), COUNT);
	assert_int_equal(total_of(&s.state, nccl_moved), 4 * bytes);
	assert_int_equal(s.state.more->nccl.count, 1);
	assert_int_equal(s.state.more->nccl.list[0].handle, 0);
	state_fini(&s.state);
}

static void test_the_sum_has_names_and_the_highest_peak(void **state)
{
	struct scenario s = { 0 };
	const struct process *more;

	(void)state;
	run(&s);
	more = s.state.more;
	assert_true(more->exited && more->was_running && more->was_running_earlier);
	assert_int_equal(more->kernels_count, 3); /* even, odd, and all that have no name */
	assert_null(more->kernels[1].name);
	assert_int_equal(more->kernels[1].launches, s.state.more_count);
	/* Nobody who held more is in it. */
	assert_int_equal(more->spaces[MS_SPACE_DEVICE].peak_bytes,
			 COUNT - ENDED_LARGE - ENDED_RECENT - 2 + 1);
	state_fini(&s.state);
}

/* The pids came again and again: who is kept is still found, and who is not does not disturb. */
static void test_late_records_find_the_right_one(void **state)
{
	struct scenario s = { 0 };
	size_t i;

	(void)state;
	run(&s);
	for (i = 0; i < s.state.processes_count; i++) {
		const struct process *process = s.state.processes[i];

		apply(&s, record_of(process->pid, process->start_ns,
				    record_copy("cuMemcpyHtoD_v2", 1, MS_DIRECTION_HTOD)));
		assert_ptr_equal(s.change.process, process);
	}
	assert_int_equal(s.state.more_count + s.state.processes_count, COUNT);
	state_fini(&s.state);
}

static void test_those_that_run_are_kept(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 200; i++)
		apply(&s, record_of(5000 + i, MS_START_NS, record_alloc("cudaMalloc", A, 0)));
	run(&s);
	assert_int_equal(s.state.processes_count, 200 + ENDED_RECENT + ENDED_LARGE + 1);
	for (i = 0; i < 200; i++)
		assert_int_equal(s.state.processes[i]->pid, 5000 + i);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_are_all_kept),
		cmocka_unit_test(test_the_last_and_the_largest_are_kept),
		cmocka_unit_test(test_nothing_is_missing_in_the_sum),
		cmocka_unit_test(test_the_sum_has_names_and_the_highest_peak),
		cmocka_unit_test(test_late_records_find_the_right_one),
		cmocka_unit_test(test_those_that_run_are_kept),
	};

	return unit_run("state: processes that ended", tests);
}
