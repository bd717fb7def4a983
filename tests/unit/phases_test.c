// SPDX-License-Identifier: BSD-2-Clause
/*
 * Phases: what is added up of what lies between markers, and what is left out and counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"
#include "timeline/phases.h"

#define MIB (1l << 20)
#define A 0x7f0000000000ul
#define OTHER_THREAD 77

struct marked {
	struct scenario s;
	struct phases phases;
};

static void take(struct marked *m, union record record)
{
	struct event event;

	if (!record.event.ts_ns)
		record.event.ts_ns = m->s.now_ns + 100;
	apply(&m->s, record);
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	phases_event(&m->phases, &event, &m->s.state.change);
}

static union record in_thread(uint32_t tid, union record record)
{
	record.event.tid = tid;
	return record;
}

static void push(struct marked *m, const char *name)
{
	take(m, record_marker(MS_MARKER_PUSH, name));
}

static void pop(struct marked *m)
{
	take(m, record_marker(MS_MARKER_POP, NULL));
}

static void give_back(struct marked *m, uint64_t addr)
{
	take(m, record_free_begin(addr));
	take(m, record_free("cuMemFree_v2", addr));
}

static void alloc(struct marked *m, uint64_t addr, uint64_t bytes)
{
	take(m, record_alloc("cuMemAlloc_v2", addr, bytes));
}

static void finish(struct marked *m)
{
	phases_finish(&m->phases, m->s.now_ns);
}

static void end(struct marked *m)
{
	phases_fini(&m->phases);
	state_fini(&m->s.state);
}

/* The place of a phase in the list; its name is in the list only once. */
static const struct phase *named(const struct marked *m, const char *name)
{
	const struct phase *found = NULL;
	size_t i;

	for (i = 0; i < m->phases.count; i++) {
		if (!m->phases.phases[i]->name || strcmp(m->phases.phases[i]->name, name))
			continue;
		assert_null(found);
		found = m->phases.phases[i];
	}
	assert_non_null(found);
	return found;
}

static void test_one_inside_the_other(void **state)
{
	struct marked m = { 0 };
	const struct phase *step, *forward;

	(void)state;
	alloc(&m, A, MIB);
	push(&m, "step");
	alloc(&m, A + MIB, 2 * MIB);
	push(&m, "forward");
	alloc(&m, A + 8 * MIB, 4 * MIB);
	take(&m, in_thread(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A + 16 * MIB, 8 * MIB)));
	give_back(&m, A + 8 * MIB);
	take(&m, record_copy("cuMemcpyHtoD_v2", 100, MS_DIRECTION_HTOD));
	pop(&m);
	take(&m, record_launch("cuLaunchKernel", 0x1000));
	pop(&m);
	push(&m, "step");
	give_back(&m, A);
	pop(&m);
	finish(&m);
	step = named(&m, "step");
	forward = named(&m, "forward");
	assert_ptr_equal(forward->parent, step);
	assert_int_equal(forward->count, 1);
	assert_int_equal(forward->held.total, 8 * MIB);
	assert_int_equal(forward->peak_bytes, 15 * MIB);
	assert_int_equal(forward->sums.allocs, 1);
	assert_int_equal(forward->sums.alloc_bytes, 4 * MIB);
	assert_int_equal(forward->sums.free_bytes, 4 * MIB);
	assert_int_equal(forward->sums.copies, 1);
	assert_int_equal(forward->sums.launches, 0);
	assert_int_equal(step->count, 2);
	assert_int_equal(step->held.total, 9 * MIB);
	assert_int_equal(step->held.max, 10 * MIB);
	assert_int_equal(step->peak_bytes, 15 * MIB);
	assert_int_equal(step->sums.allocs, 2);
	assert_int_equal(step->sums.frees, 2);
	assert_int_equal(step->sums.launches, 1);
	assert_int_equal(m.phases.unmatched + m.phases.left + m.phases.dropped, 0);
	end(&m);
}

static union record started(uint64_t id)
{
	union record record = record_marker(MS_MARKER_STARTED, NULL);

	record.marker.id = id;
	return record;
}

static union record ended(uint64_t id)
{
	union record record = record_marker(MS_MARKER_END, NULL);

	record.marker.id = id;
	return record;
}

static void test_ranges_end_in_any_thread(void **state)
{
	struct marked m = { 0 };

	(void)state;
	take(&m, record_marker(MS_MARKER_START, "a"));
	take(&m, in_thread(OTHER_THREAD, record_marker(MS_MARKER_START, "b")));
	take(&m, in_thread(OTHER_THREAD, started(6)));
	take(&m, started(5));
	alloc(&m, A, MIB);
	take(&m, in_thread(OTHER_THREAD, ended(5)));
	take(&m, in_thread(OTHER_THREAD, record_alloc("cuMemAlloc_v2", A + MIB, 2 * MIB)));
	take(&m, ended(6));
	take(&m, ended(6));
	finish(&m);
	assert_int_equal(named(&m, "a")->held.total, MIB);
	assert_int_equal(named(&m, "a")->sums.allocs, 1);
	assert_int_equal(named(&m, "b")->held.total, 3 * MIB);
	assert_int_equal(named(&m, "b")->sums.allocs, 2);
	assert_int_equal(named(&m, "b")->kind, PHASE_RANGE);
	assert_int_equal(m.phases.unmatched, 1);
	assert_int_equal(m.phases.ambiguous, 0);
	end(&m);
}

/* Without a tool in the program, all have the number 0: the last of the thread ends. */
static void test_ranges_without_numbers(void **state)
{
	struct marked m = { 0 };

	(void)state;
	take(&m, record_marker(MS_MARKER_START, "a"));
	take(&m, started(0));
	take(&m, in_thread(OTHER_THREAD, record_marker(MS_MARKER_START, "b")));
	take(&m, in_thread(OTHER_THREAD, started(0)));
	alloc(&m, A, MIB);
	take(&m, ended(0));
	alloc(&m, A + MIB, MIB);
	take(&m, ended(0));
	finish(&m);
	assert_int_equal(named(&m, "a")->held.total, MIB);
	assert_int_equal(named(&m, "b")->held.total, 2 * MIB);
	assert_int_equal(m.phases.ambiguous, 1);
	assert_int_equal(m.phases.unmatched, 0);
	end(&m);
}

static void test_domains_have_stacks_of_their_own(void **state)
{
	struct marked m = { 0 };
	union record inner = record_marker(MS_MARKER_PUSH, "of a library");
	union record end_inner = record_marker(MS_MARKER_POP, NULL);

	(void)state;
	inner.marker.domain = end_inner.marker.domain = 0x1000;
	take(&m, inner);
	push(&m, "program");
	alloc(&m, A, MIB);
	take(&m, end_inner);
	alloc(&m, A + MIB, 2 * MIB);
	pop(&m);
	pop(&m);
	finish(&m);
	assert_int_equal(named(&m, "of a library")->held.total, MIB);
	assert_int_equal(named(&m, "program")->held.total, 3 * MIB);
	assert_int_equal(m.phases.unmatched, 1);
	end(&m);
}

static union record function(enum ms_marker_action action, const char *name, uint64_t sp)
{
	union record record = record_marker(action, name);

	record.marker.source = MS_MARKER_BY_FUNCTION;
	record.marker.sp = sp;
	return record;
}

/* A function that an exception has left returns no more; its caller does. */
static void test_functions_that_were_left(void **state)
{
	struct marked m = { 0 };

	(void)state;
	take(&m, function(MS_MARKER_PUSH, "outer", 0x9000));
	take(&m, function(MS_MARKER_PUSH, "left", 0x8000));
	take(&m, function(MS_MARKER_PUSH, "left deeper", 0x7000));
	take(&m, function(MS_MARKER_PUSH, "next", 0x8000));
	alloc(&m, A, MIB);
	take(&m, function(MS_MARKER_PUSH, "left, too", 0x6000));
	take(&m, function(MS_MARKER_POP, NULL, 0x8000));
	take(&m, function(MS_MARKER_POP, NULL, 0x9000));
	finish(&m);
	assert_int_equal(named(&m, "outer")->held.total, MIB);
	assert_int_equal(named(&m, "next")->held.total, MIB);
	assert_string_equal(named(&m, "next")->parent->name, "outer");
	assert_int_equal(named(&m, "left")->count, 0);
	assert_int_equal(m.phases.left, 3);
	assert_int_equal(m.phases.unmatched, 0);
	end(&m);
}

static void test_what_is_too_deep_fits_all_the_same(void **state)
{
	struct marked m = { 0 };
	int i;

	(void)state;
	push(&m, "outer");
	for (i = 0; i < 2 * PHASES_DEPTH; i++)
		push(&m, "deeper");
	for (i = 0; i < 2 * PHASES_DEPTH; i++)
		pop(&m);
	alloc(&m, A, MIB);
	pop(&m);
	finish(&m);
	assert_int_equal(named(&m, "outer")->held.total, MIB);
	assert_int_equal(m.phases.dropped, PHASES_DEPTH + 1);
	assert_int_equal(m.phases.unmatched, 0);
	end(&m);
}

/* Of names that a program makes up, so many are kept. */
static void test_names_have_a_limit(void **state)
{
	struct marked m = { 0 };
	const struct phase *others = NULL;
	char name[16];
	size_t i;

	(void)state;
	for (i = 0; i < 3 * PHASES_OF_PROCESS; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		push(&m, name);
		push(&m, "inner");
		pop(&m);
		pop(&m);
	}
	finish(&m);
	assert_int_equal(m.phases.count, PHASES_OF_PROCESS + 1);
	for (i = 0; i < m.phases.count; i++)
		if (m.phases.phases[i]->kind == PHASE_OTHERS)
			others = m.phases.phases[i];
	assert_non_null(others);
	assert_int_equal(others->count, 6 * PHASES_OF_PROCESS - PHASES_OF_PROCESS);
	assert_int_equal(m.phases.unmatched, 0);
	end(&m);
}

static void test_what_does_not_end(void **state)
{
	struct marked m = { 0 };

	(void)state;
	push(&m, "exec");
	alloc(&m, A, MIB);
	take(&m, record_process(MS_TYPE_EXEC, "program", 0));
	push(&m, "gap");
	phases_gap(&m.phases);
	pop(&m);
	push(&m, "exit");
	take(&m, record_marker(MS_MARKER_START, "range"));
	alloc(&m, A, 2 * MIB);
	take(&m, record_exit(0));
	finish(&m);
	assert_int_equal(named(&m, "exec")->open, 1);
	assert_int_equal(named(&m, "exec")->held.total, MIB);
	assert_int_equal(named(&m, "exit")->open, 1);
	assert_int_equal(named(&m, "exit")->held.total, 2 * MIB);
	assert_int_equal(named(&m, "range")->sums.alloc_bytes, 2 * MIB);
	assert_int_equal(named(&m, "gap")->count, 0);
	assert_int_equal(m.phases.left, 1);
	assert_int_equal(m.phases.unmatched, 1);
	end(&m);
}

static void test_percentiles(void **state)
{
	struct phase *phase = calloc(1, sizeof(*phase));
	int i;

	(void)state;
	assert_non_null(phase);
	for (i = 1; i <= 100; i++)
		phase_add(&phase->time, i);
	for (i = 0; i < 100000; i++)
		phase_add(&phase->held, i - 50000);
	phase_finish(phase);
	assert_int_equal(phase->time.p95, 95);
	assert_int_equal(phase->time.max, 100);
	assert_int_equal(phase->time.total, 5050);
	assert_int_equal(phase->held.max, 49999);
	assert_int_equal(phase->held.total, -50000);
	assert_in_range(phase->held.count, PHASE_VALUES / 2, PHASE_VALUES);
	assert_in_range(phase->held.p95, 44000, 46000);
	phase_free(phase);
}

static void test_order_is_of_the_tree(void **state)
{
	static const char *const expected[] = { "a", "b", "c", "d", "e" };
	struct marked m = { 0 };
	size_t i;

	(void)state;
	push(&m, "a");
	pop(&m);
	push(&m, "e");
	pop(&m);
	push(&m, "a");
	push(&m, "b");
	push(&m, "c");
	pop(&m);
	pop(&m);
	take(&m, record_marker(MS_MARKER_INSTANT, "d"));
	pop(&m);
	finish(&m);
	assert_int_equal(m.phases.count, 5);
	for (i = 0; i < 5; i++)
		assert_string_equal(m.phases.phases[i]->name, expected[i]);
	assert_int_equal(named(&m, "d")->count, 1);
	end(&m);
}

/* Whatever threads are in. */
static void test_marks_from_outside_lie_in_no_phase(void **state)
{
	struct marked m = { 0 };
	union record mark = record_marker(MS_MARKER_INSTANT, "deployed");

	(void)state;
	push(&m, "step");
	mark.marker.source = MS_MARKER_BY_COMMAND;
	mark.marker.event.tid = 0;
	take(&m, mark);
	pop(&m);
	finish(&m);
	assert_null(named(&m, "deployed")->parent);
	assert_int_equal(named(&m, "deployed")->source, MS_MARKER_BY_COMMAND);
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_inside_the_other),
		cmocka_unit_test(test_ranges_end_in_any_thread),
		cmocka_unit_test(test_ranges_without_numbers),
		cmocka_unit_test(test_domains_have_stacks_of_their_own),
		cmocka_unit_test(test_functions_that_were_left),
		cmocka_unit_test(test_what_is_too_deep_fits_all_the_same),
		cmocka_unit_test(test_names_have_a_limit),
		cmocka_unit_test(test_what_does_not_end),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_order_is_of_the_tree),
		cmocka_unit_test(test_marks_from_outside_lie_in_no_phase),
	};

	return unit_run("phases", tests);
}
