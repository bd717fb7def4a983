// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where time is spent in calls, by call stack, as a recording is replayed.
 */
#include "records.h"

#include <stdlib.h>

#include "ledger/state.h"
#include "report/call_sites.h"

#define STEP 1 /* stacks */
#define LOAD 2
#define STEP_TOO 3 /* the same frames as STEP */
#define STEP_CUT 4 /* the same Python frames, without the native one */
#define UNKNOWN 9

#define MEMSETS (1u << MS_OP_MEMSET)
#define COPIES (1u << MS_OP_COPY)

struct fixture {
	struct state state;
	struct call_sites sites, launches;
	uint64_t ts_ns;
};

static void feed(struct fixture *f, union record record)
{
	struct event event;

	record.event.ts_ns = ++f->ts_ns;
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(state_apply(&f->state, &event), 0);
	assert_int_equal(call_sites_event(&f->sites, &f->state, &event), 0);
	assert_int_equal(call_sites_sample(&f->launches, &f->state, &event), 0);
}

static union record python(uint32_t id, const char *function)
{
	union record record = record_frame(id, function, "/usr/bin/python3");

	record.frame.kind = MS_FRAME_PYTHON;
	return record;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	feed(f, record_frame(1, "at::copy", "/opt/libtorch_cuda.so"));
	feed(f, python(2, "step"));
	feed(f, python(3, "main"));
	feed(f, record_frame(4, "load", "/opt/libdata.so"));
	feed(f, record_stack(STEP, 1, 3));
	feed(f, record_stack(LOAD, 4, 1));
	feed(f, record_stack(STEP_TOO, 1, 3));
	feed(f, record_stack(STEP_CUT, 2, 2));
}

static void finish(struct fixture *f)
{
	call_sites_fini(&f->sites);
	call_sites_fini(&f->launches);
	state_fini(&f->state);
}

static union record copy(uint32_t stack, uint64_t size, uint64_t duration_ns)
{
	union record record = record_copy("cuMemcpyHtoD_v2", size, MS_DIRECTION_HTOD);

	record.call.duration_ns = duration_ns;
	return stack ? record_called_from(stack, record) : record;
}

static void assert_row(const struct call_site_row *row, uint32_t stack, uint64_t processes,
		       uint64_t calls, uint64_t failed, uint64_t duration_ns, uint64_t bytes)
{
	assert_int_equal(row->stack->id, stack);
	assert_int_equal(row->processes, processes);
	assert_int_equal(row->total.calls, calls);
	assert_int_equal(row->total.failed, failed);
	assert_int_equal(row->total.duration_ns, duration_ns);
	assert_int_equal(row->total.bytes, bytes);
}

static void test_time_by_stack(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	feed(&f, copy(STEP, 10, 100));
	feed(&f, record_failed(1, copy(STEP, 1, 50)));
	feed(&f, copy(LOAD, 7, 1000));
	/* Seven calls that were summed up. */
	feed(&f, record_summed(7, copy(STEP, 70, 700)));
	rows = call_sites_rows(&f.sites, &f.state, true, &count);
	assert_int_equal(count, 2);
	assert_row(&rows[0], LOAD, 1, 1, 0, 1000, 7);
	assert_row(&rows[1], STEP, 1, 9, 1, 850, 81);
	free(rows);
	finish(&f);
}

static void test_what_has_no_place(void **state)
{
	union record nested = copy(STEP, 1, 1), part = copy(STEP, 1, 1);
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	nested.call.flags |= MS_CALL_NESTED;
	part.call.flags |= MS_CALL_PART;
	feed(&f, nested);
	feed(&f, part);
	feed(&f, copy(0, 1, 1));
	feed(&f, copy(UNKNOWN, 1, 1));
	feed(&f, record_without(MS_KNOWN_RESULT, copy(STEP, 1, 0)));
	rows = call_sites_rows(&f.sites, &f.state, true, &count);
	assert_int_equal(count, 0);
	free(rows);
	finish(&f);
}

/* Two workers, and what was found of a stack before its tables were there. */
static void test_the_same_python_lines_are_one_place(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	feed(&f, copy(STEP_CUT, 1, 1));
	feed(&f, copy(STEP, 1, 5));
	feed(&f, copy(STEP, 1, 5));
	feed(&f, record_of(RECORD_PID + 1, RECORD_START_NS, copy(STEP_TOO, 1, 3)));
	rows = call_sites_rows(&f.sites, &f.state, true, &count);
	assert_int_equal(count, 1);
	assert_row(&rows[0], STEP, 2, 4, 0, 14, 4);
	free(rows);
	rows = call_sites_rows(&f.sites, &f.state, false, &count);
	assert_int_equal(count, 2);
	assert_row(&rows[0], STEP, 2, 3, 0, 13, 3);
	assert_row(&rows[1], STEP_CUT, 1, 1, 0, 1, 1);
	free(rows);
	finish(&f);
}

/* As a crafted recording may have them. */
static void test_too_much_for_64_bits(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	feed(&f, record_summed(1ull << 63, copy(STEP, 1, UINT64_MAX)));
	feed(&f, record_summed(1ull << 63, copy(STEP, 1, 2)));
	rows = call_sites_rows(&f.sites, &f.state, true, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].total.calls, UINT64_MAX);
	assert_int_equal(rows[0].total.duration_ns, UINT64_MAX);
	assert_int_equal(call_sites_mean_ns(&rows[0].total), 1);
	free(rows);
	finish(&f);
}

static void test_functions_are_told_apart(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	feed(&f, copy(STEP, 1, 5));
	feed(&f, record_called_from(STEP, record_copy("cuMemcpyDtoH_v2", 1, MS_DIRECTION_DTOH)));
	rows = call_sites_rows(&f.sites, &f.state, true, &count);
	assert_int_equal(count, 2);
	free(rows);
	finish(&f);
}

static void test_where_most_time_is_spent(void **state)
{
	const uint64_t process = event_process_key(RECORD_PID, RECORD_START_NS);
	struct fixture f;
	uint64_t ns;

	(void)state;
	begin(&f);
	/* Neither half of it is the longest. */
	feed(&f, copy(LOAD, 1, 9));
	feed(&f, copy(STEP, 1, 8));
	feed(&f, copy(STEP_CUT, 1, 2));
	feed(&f, record_of(RECORD_PID + 1, RECORD_START_NS, copy(LOAD, 1, 100)));
	assert_int_equal(
		call_sites_longest(&f.sites, &f.state, process, COPIES, MS_NO_ROW, &ns)->id, STEP);
	assert_int_equal(ns, 10);
	assert_non_null(call_sites_longest(&f.sites, &f.state, process, COPIES,
					   copy(STEP, 1, 1).call.row, &ns));
	assert_null(call_sites_longest(
		&f.sites, &f.state, process, COPIES,
		record_copy("cuMemcpyDtoH_v2", 1, MS_DIRECTION_DTOH).call.row, &ns));
	assert_null(call_sites_longest(&f.sites, &f.state, process, MEMSETS, MS_NO_ROW, &ns));
	assert_int_equal(ns, 0);
	assert_null(call_sites_longest(&f.sites, &f.state, process + 7, COPIES, MS_NO_ROW, &ns));
	finish(&f);
}

/* Of those kinds alone that have stacks: others were not asked for. */
static void test_without_a_stack(void **state)
{
	struct call_site_total total;
	struct fixture f;

	(void)state;
	begin(&f);
	feed(&f, copy(0, 10, 5));
	total = call_sites_unplaced(&f.sites);
	assert_int_equal(total.calls, 0);
	assert_int_equal(call_sites_without_stack(&f.sites).calls, 1);
	feed(&f, copy(STEP, 10, 7));
	feed(&f, copy(UNKNOWN, 10, 6));
	feed(&f, record_call("cuMemsetD8_v2"));
	total = call_sites_unplaced(&f.sites);
	assert_int_equal(total.calls, 2);
	assert_int_equal(total.duration_ns, 11);
	total = call_sites_without_stack(&f.sites);
	assert_int_equal(total.calls, 3);
	finish(&f);
}

static void launches(struct fixture *f, uint32_t stack, uint32_t one_in, int count)
{
	while (count--)
		feed(f, record_launch_sample("cuLaunchKernel", stack, one_in));
}

/* Each stands for N, give or take 1.96 times the root of (400 + 1) N^2 - 400 N, and 1.92 N. */
static void test_launches_that_chance_chose(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	launches(&f, STEP, 100, 300);
	launches(&f, LOAD, 100, 4);
	launches(&f, STEP_CUT, 100, 100);
	launches(&f, 0, 100, 7);
	launches(&f, UNKNOWN, 100, 2);
	feed(&f, copy(STEP, 10, 7));
	rows = call_sites_rows(&f.launches, &f.state, true, &count);
	assert_int_equal(count, 2);
	assert_row(&rows[0], STEP, 1, 40000, 0, 0, 0);
	assert_int_equal(rows[0].total.chosen, 400);
	assert_int_equal(call_sites_error(&rows[0].total), 4097);
	assert_row(&rows[1], LOAD, 1, 400, 0, 0, 0);
	assert_int_equal(call_sites_error(&rows[1].total), 628);
	assert_int_equal(f.launches.placed[MS_OP_LAUNCH].chosen, 404);
	assert_int_equal(f.launches.unplaced[MS_OP_LAUNCH].chosen, 9);
	/* They are no calls with a time. */
	assert_int_equal(f.sites.count, 1);
	free(rows);
	finish(&f);
}

static void test_launches_all_of_which_were_taken(void **state)
{
	struct call_site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	launches(&f, STEP, 1, 30);
	launches(&f, LOAD, 1, 20);
	/* Of a recording that says anything. */
	launches(&f, LOAD, UINT32_MAX, 1);
	rows = call_sites_rows(&f.launches, &f.state, false, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].total.calls, 20ull + UINT32_MAX);
	assert_true(call_sites_error(&rows[0].total) > UINT32_MAX);
	assert_int_equal(rows[1].total.calls, 30);
	assert_int_equal(call_sites_error(&rows[1].total), 0);
	free(rows);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_stack),
		cmocka_unit_test(test_time_by_stack),
		cmocka_unit_test(test_what_has_no_place),
		cmocka_unit_test(test_the_same_python_lines_are_one_place),
		cmocka_unit_test(test_too_much_for_64_bits),
		cmocka_unit_test(test_functions_are_told_apart),
		cmocka_unit_test(test_launches_that_chance_chose),
		cmocka_unit_test(test_launches_all_of_which_were_taken),
		cmocka_unit_test(test_where_most_time_is_spent),
	};

	return cmocka_run_group_tests_name("call sites", tests, NULL, NULL);
}
