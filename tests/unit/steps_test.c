// SPDX-License-Identifier: BSD-2-Clause
/*
 * Steps that nobody marked: which programs have some, how many, and what these did.
 */
#include <stdlib.h>

#include "scenario.h"
#include "timeline/steps.h"

#define US 1000ul
#define STEPS 50
#define OTHER_THREAD 77
#define A 0x7f0000000000ul
#define MIB (1ul << 20)

struct looped {
	struct scenario s;
	struct steps steps;
	struct phases phases;
	uint64_t next_addr;
};

static void take(struct looped *l, union record record)
{
	struct event event;

	record.event.ts_ns = l->s.now_ns + 10 * US;
	apply(&l->s, record);
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	steps_event(&l->steps, &event, &l->s.state.change);
	phases_event(&l->phases, &event, &l->s.state.change);
}

static void launch_by(struct looped *l, uint32_t tid, uint64_t kernel)
{
	take(l, record_by(tid, record_taking(US, record_launch("cuLaunchKernel", kernel))));
}

static void launch(struct looped *l, uint64_t kernel)
{
	launch_by(l, RECORD_PID, kernel);
}

static void grow(struct looped *l)
{
	take(l, record_alloc("cuMemAlloc_v2", A + l->next_addr++ * MIB, MIB));
}

/* What is there before the loop. */
static void set_up(struct looped *l)
{
	uint64_t kernel;

	for (kernel = 1; kernel <= 20; kernel++)
		launch(l, kernel % 2 + 1);
}

/* Layers of the same kernels, then kernels of a step, one of which was never there before. */
static void step(struct looped *l, int layers)
{
	launch(l, 100);
	while (layers--) {
		launch(l, 1);
		launch(l, 2);
	}
	launch(l, 3);
	launch(l, 1);
	launch(l, 4);
	launch(l, 5);
	launch(l, 6);
	launch(l, 101);
}

static const struct steps_thread *found(struct looped *l)
{
	const struct steps_thread *thread = NULL;
	size_t i;

	assert_false(l->steps.incomplete);
	steps_finish(&l->steps, &l->phases);
	for (i = 0; i < l->steps.count; i++) {
		if (!l->steps.threads[i].step)
			continue;
		assert_null(thread);
		thread = &l->steps.threads[i];
	}
	return thread;
}

static void end(struct looped *l)
{
	steps_fini(&l->steps);
	phases_fini(&l->phases);
	state_fini(&l->s.state);
}

static void test_a_loop(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i;

	(void)state;
	set_up(&l);
	for (i = 0; i < STEPS; i++) {
		step(&l, 2);
		grow(&l);
	}
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->step->handle, 100);
	/* To know what recurs, one has to have been there. */
	assert_int_equal(thread->step->count, STEPS - 2);
	assert_int_equal(thread->step->equal, STEPS - 2);
	assert_int_equal(thread->step->equal_launches, (STEPS - 2) * 11);
	assert_int_equal(thread->step->held.total, (STEPS - 2) * MIB);
	assert_int_equal(thread->step->held.p95, MIB);
	assert_int_equal(thread->step->time.total, (STEPS - 2) * thread->step->time.max);
	assert_int_equal(thread->step->time.p95, thread->step->time.max);
	end(&l);
}

/* Now and then there is something between the steps, and every tenth writes a checkpoint. */
static void test_a_loop_with_other_things_in_it(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i, j;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		step(&l, 3);
		for (j = 0; i % 10 == 9 && j < 4; j++)
			launch(&l, 200);
	}
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->step->handle, 100);
	assert_int_equal(thread->step->count, STEPS - 2);
	assert_int_equal(thread->step->equal, STEPS - 2 - 4);
	end(&l);
}

/* Most launches are those of equal layers; but layers are no steps. */
static void test_layers_are_no_steps(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i;

	(void)state;
	for (i = 0; i < STEPS; i++)
		step(&l, 30);
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->step->handle, 100);
	end(&l);
}

/* Nor are parameters of an optimizer, which have most launches of their thread, but little time. */
static void test_time_counts_as_well(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		step(&l, 300);
		l.s.now_ns += 10000 * US;
		/* Now and then there is more in it. */
		if (i % 10 == 9)
			launch(&l, 7);
	}
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->step->handle, 100);
	end(&l);
}

/* The kernel that steps begin with also fills memory before, and does something else in between. */
static void test_other_loops_of_the_same_kernel(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i, j;

	(void)state;
	for (i = 0; i < 100; i++)
		launch(&l, 100);
	for (i = 0; i < STEPS; i++) {
		step(&l, 20);
		for (j = 0; i == STEPS / 2 && j < 4; j++) {
			launch(&l, 100);
			launch(&l, 50);
		}
	}
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->step->handle, 100);
	/* Until the steps have more launches than there were before. */
	assert_int_equal(thread->step->equal, STEPS - 4);
	assert_int_equal(thread->step->count, STEPS - 4 + 4);
	assert_int_equal(thread->step->equal_launches, (STEPS - 4) * 47);
	end(&l);
}

/* The backward pass has a thread of its own. */
static void test_one_thread_of_each_process(void **state)
{
	struct looped l = { 0 };
	const struct steps_thread *thread;
	int i, j;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		step(&l, 1);
		for (j = 0; j < 20; j++)
			launch_by(&l, OTHER_THREAD, 300 + j);
	}
	thread = found(&l);
	assert_non_null(thread);
	assert_int_equal(thread->tid, OTHER_THREAD);
	assert_int_equal(thread->step->equal, STEPS - 2);
	end(&l);
}

static void run_in_disorder(struct looped *l)
{
	int i;

	srand(6);
	for (i = 0; i < 3000; i++)
		launch(l, 1 + rand() % 12);
}

/* Of another length each time. */
static void run_of_any_length(struct looped *l)
{
	int i;

	srand(7);
	for (i = 0; i < STEPS; i++)
		step(l, rand() % 20);
}

static void run_one_kernel(struct looped *l)
{
	int i;

	for (i = 0; i < 3000; i++)
		launch(l, 1);
}

static void run_few_steps(struct looped *l)
{
	int i;

	for (i = 0; i < STEPS_LEAST; i++)
		step(l, 2);
}

/* Most of what it launches is in no loop. */
static void run_mostly_other(struct looped *l)
{
	int i;

	run_in_disorder(l);
	for (i = 0; i < STEPS; i++)
		step(l, 2);
}

/* It says itself what its steps are. */
static void run_marked(struct looped *l)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		take(l, record_marker(MS_MARKER_PUSH, "step"));
		step(l, 2);
		take(l, record_marker(MS_MARKER_POP, NULL));
	}
}

static void run_counted(struct looped *l)
{
	int i;

	for (i = 0; i < STEPS; i++)
		take(l, record_launches("cuLaunchKernel", 1 + i % 3, 10));
}

static void test_programs_without_steps(void **state)
{
	static void (*const programs[])(struct looped *) = { run_in_disorder,  run_of_any_length,
							     run_one_kernel,   run_few_steps,
							     run_mostly_other, run_marked,
							     run_counted };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct looped l = { 0 };

		programs[i](&l);
		if (found(&l))
			fail_msg("program %zu has steps", i);
		end(&l);
	}
}

static void test_what_lies_in_a_gap_is_no_step(void **state)
{
	struct looped l = { 0 };
	int i;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		step(&l, 2);
		if (i == 20)
			steps_gap(&l.steps);
	}
	assert_int_equal(found(&l)->step->count, STEPS - 3);
	end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loop),
		cmocka_unit_test(test_a_loop_with_other_things_in_it),
		cmocka_unit_test(test_layers_are_no_steps),
		cmocka_unit_test(test_time_counts_as_well),
		cmocka_unit_test(test_other_loops_of_the_same_kernel),
		cmocka_unit_test(test_one_thread_of_each_process),
		cmocka_unit_test(test_programs_without_steps),
		cmocka_unit_test(test_what_lies_in_a_gap_is_no_step),
	};

	return unit_run("steps", tests);
}
