// SPDX-License-Identifier: BSD-2-Clause
/*
 * The governor's decisions: programs with so many calls a second, whose calls cost what they do
 * at each of its steps.
 */
#include "agent/governor.h"
#include "unit.h"

#define SECOND_NS 1000000000ull
#define TICK_NS (SECOND_NS / 10)
#define BUDGET_PPM 5000 /* 0.5 % */

/* Of a call, as on a slow machine. */
#define WHOLE_NS 2400
#define ENTRY_NS 1200
#define STACK_NS 8000

#define PROGRAMS 3

struct program {
	uint64_t bulk, allocations; /* a second */
	bool has_stacks;            /* of allocations */
	struct governor_process process;
	uint64_t spent_ns, stackless_ns;
	uint64_t at_ns[MS_BUDGET_STEPS];
};

struct world {
	struct governor governor;
	struct program programs[PROGRAMS];
	size_t count;
	uint64_t turns, changes;
	bool one_step_at_a_time;
};

static struct world world_of(bool can_enter, bool can_remove)
{
	const struct governor_options options = { .budget_ppm = BUDGET_PPM,
						  .can_enter = can_enter,
						  .can_remove = can_remove };
	struct world world = { .one_step_at_a_time = true };

	governor_init(&world.governor, &options);
	return world;
}

static struct program *add(struct world *world, uint64_t bulk, uint64_t allocations)
{
	struct program *program = &world->programs[world->count++];

	*program = (struct program){ .bulk = bulk, .allocations = allocations };
	return program;
}

static enum ms_budget_step step_of(const struct world *world, const struct program *program)
{
	return governor_step(&world->governor, &program->process);
}

static void tick(struct world *world, uint64_t ns)
{
	static const uint64_t costs_ns[MS_BUDGET_STEPS] = {
		[MS_BUDGET_ALL] = WHOLE_NS, [MS_BUDGET_ENTRIES] = ENTRY_NS
	};
	struct governor_process *processes[PROGRAMS];
	enum ms_budget_step before[PROGRAMS];
	size_t i;

	for (i = 0; i < world->count; i++) {
		struct program *program = &world->programs[i];
		const enum ms_budget_step step = before[i] = step_of(world, program);
		const uint64_t stacks_ns =
			program->has_stacks ? program->allocations * STACK_NS * ns / SECOND_NS : 0;
		const bool stackless = program->process.is_stackless;
		struct governor_spent spent = { .bulk_ns = program->bulk * costs_ns[step] * ns /
							   SECOND_NS };

		*(stackless ? &spent.spared_ns : &spent.stacks_ns) = stacks_ns;
		spent.all_ns = spent.bulk_ns + program->allocations * WHOLE_NS * ns / SECOND_NS +
			       spent.stacks_ns;
		program->at_ns[step] += ns;
		program->stackless_ns += stackless ? ns : 0;
		program->spent_ns += spent.all_ns;
		world->changes += governor_note(&world->governor, &program->process, ns, &spent);
		processes[i] = &program->process;
	}
	world->turns += governor_turn(&world->governor, processes, world->count, ns);
	for (i = 0; i < world->count; i++)
		if (before[i] == MS_BUDGET_ALL && world->programs[i].bulk &&
		    step_of(world, &world->programs[i]) == MS_BUDGET_OFF &&
		    world->programs[i].process.is_reason)
			world->one_step_at_a_time = false;
}

static void run(struct world *world, uint64_t seconds)
{
	uint64_t i;

	for (i = 0; i < 10 * seconds; i++)
		tick(world, TICK_NS);
}

/* Millionths of a CPU that it has cost the program for so long. */
static uint64_t cost_ppm(const struct program *program, uint64_t seconds)
{
	return program->spent_ns / (seconds * SECOND_NS / 1000000);
}

/* The budget holds whatever the load is; with few calls, nothing is given up. */
static void loads_keep_within_the_budget(void **unused)
{
	static const struct {
		uint64_t bulk;
		enum ms_budget_step highest; /* step that is taken */
	} loads[] = {
		{ 10, MS_BUDGET_ALL },       { 1000, MS_BUDGET_ALL },     { 2000, MS_BUDGET_ALL },
		{ 3000, MS_BUDGET_ENTRIES }, { 4000, MS_BUDGET_ENTRIES }, { 10000, MS_BUDGET_OFF },
		{ 100000, MS_BUDGET_OFF },   { 400000, MS_BUDGET_OFF },
	};
	size_t i;
	int step;

	(void)unused;
	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		struct world world = world_of(true, true);
		const struct program *program = add(&world, loads[i].bulk, 0);

		run(&world, 1000);
		/* What it could save up before, and 0.02 points. */
		assert_in_range(cost_ppm(program, 1000), 0, BUDGET_PPM + 200);
		for (step = 0; step < MS_BUDGET_STEPS; step++)
			assert_int_equal(program->at_ns[step] != 0, step <= (int)loads[i].highest);
		assert_true(world.one_step_at_a_time);
		/* Even then, it is looked at now and then. */
		if (loads[i].highest == MS_BUDGET_OFF)
			assert_in_range(program->at_ns[MS_BUDGET_ENTRIES], 2 * SECOND_NS / 10,
					500 * SECOND_NS);
	}
}

static void a_million_calls_a_second_cost_what_one_look_does(void **unused)
{
	struct world world = world_of(true, true);
	const struct program *program = add(&world, 1000000, 0);

	(void)unused;
	run(&world, 1000);
	/* The debt of the two ticks at the beginning, and then one every minute. */
	assert_in_range(cost_ppm(program, 1000), 0, BUDGET_PPM + 200);
	assert_true(world.one_step_at_a_time);
}

/* Their probes are removed when it is used up, not at the next look. */
static void credit_is_not_overdrawn(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 400000, 0);
	struct governor_process *process = &program->process;
	const uint64_t early_ns = SECOND_NS / 200;
	const int64_t early_costs_ns = (int64_t)(early_ns * 400000 * ENTRY_NS / SECOND_NS);
	int64_t least_ns = INT64_MAX;
	uint64_t i;

	(void)unused;
	/* What the beginning costs is paid back first. */
	while (!world.governor.off)
		tick(&world, TICK_NS);
	while (world.governor.off)
		tick(&world, TICK_NS);
	world.turns = 0;
	for (i = 0; i < 1000; i++) {
		const uint64_t lasts_ns = governor_lasts_ns(&world.governor, &process, 1);

		tick(&world, lasts_ns < early_ns ? early_ns :
			     lasts_ns < TICK_NS  ? lasts_ns :
						   TICK_NS);
		least_ns = process->credit_ns < least_ns ? process->credit_ns : least_ns;
		if (world.governor.off)
			assert_int_equal(governor_lasts_ns(&world.governor, &process, 1),
					 UINT64_MAX);
	}
	assert_true(world.turns >= 10);
	assert_true(least_ns >= -early_costs_ns);
	program->bulk = 100;
	run(&world, 100);
	assert_int_equal(governor_lasts_ns(&world.governor, &process, 1), UINT64_MAX);
}

static void bursts_within_ten_seconds_are_not_cut(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 0, 0);
	int i;

	(void)unused;
	for (i = 0; i < 20; i++) {
		run(&world, 10);
		program->bulk = 20000;
		run(&world, 1);
		program->bulk = 0;
	}
	assert_int_equal(world.changes, 0);
	assert_int_equal(world.turns, 0);
}

static void who_becomes_quiet_is_traced_as_usual_again(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 100000, 0);

	(void)unused;
	run(&world, 60);
	program->bulk = 100;
	run(&world, 400);
	assert_int_equal(step_of(&world, program), MS_BUDGET_ALL);
	world.turns = world.changes = 0;
	run(&world, 100);
	assert_int_equal(world.turns + world.changes, 0);
}

/* Just above the budget with results, just below it without: no step back and forth. */
static void a_load_between_two_steps_stays_at_one(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 3000, 0);

	(void)unused;
	run(&world, 1000);
	assert_int_equal(step_of(&world, program), MS_BUDGET_ENTRIES);
	assert_int_equal(world.changes, 1);
}

/* Of a larger budget that was used up, no more is owed than of the one that there is now. */
static void a_lowered_budget_leaves_no_old_debt(void **unused)
{
	struct world world = world_of(false, true);
	struct program *program = add(&world, 10000000, 0);

	(void)unused;
	world.governor.options.budget_ppm = 100 * BUDGET_PPM;
	run(&world, 30);
	assert_int_equal(step_of(&world, program), MS_BUDGET_OFF);
	world.governor.options.budget_ppm = BUDGET_PPM;
	program->bulk = 0;
	run(&world, (GOVERNOR_DEBT_NS + GOVERNOR_CREDIT_NS) / SECOND_NS);
	assert_int_equal(step_of(&world, program), MS_BUDGET_ALL);
}

static void allocations_are_never_given_up(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 0, 100000);

	(void)unused;
	run(&world, 100);
	assert_true(program->process.is_over);
	assert_int_equal(world.turns + world.changes, 0);
	/* Its few launches are not the reason. */
	program->bulk = 1000;
	run(&world, 100);
	assert_int_equal(world.turns, 0);
	/* Now they are, too; once in a minute they are looked at. */
	program->bulk = 10000;
	program->at_ns[MS_BUDGET_OFF] = 0;
	run(&world, 1000);
	assert_in_range(program->at_ns[MS_BUDGET_OFF], 900 * SECOND_NS, 999 * SECOND_NS);
	assert_in_range(world.turns, 2 * 1000 / 62, 2 * 1000 / 59);
}

static void others_only_wait_for_those_that_are_the_reason(void **unused)
{
	struct world world = world_of(true, true);
	struct program *busy = add(&world, 100000, 0), *near = add(&world, 2050, 0);
	const struct program *quiet = add(&world, 10, 0);

	(void)unused;
	run(&world, 30);
	assert_true(busy->process.at_entries);
	assert_false(quiet->process.at_entries);
	/* It ends. */
	busy->bulk = 0;
	run(&world, 400);
	assert_false(world.governor.off);
	assert_int_equal(step_of(&world, quiet), MS_BUDGET_ALL);
	assert_int_equal(step_of(&world, near), MS_BUDGET_ALL);
}

static void what_is_not_possible_is_not_done(void **unused)
{
	struct world entries = world_of(true, false), removal = world_of(false, true),
		     neither = world_of(false, false);
	struct program *program;

	(void)unused;
	program = add(&entries, 100000, 0);
	run(&entries, 100);
	assert_int_equal(step_of(&entries, program), MS_BUDGET_ENTRIES);
	assert_int_equal(entries.turns, 0);
	program = add(&removal, 10000, 0);
	run(&removal, 1000);
	assert_int_equal(program->at_ns[MS_BUDGET_ENTRIES], 0);
	assert_in_range(cost_ppm(program, 1000), 0, BUDGET_PPM + 200);
	program = add(&neither, 10000, 0);
	run(&neither, 100);
	assert_int_equal(neither.turns + neither.changes, 0);
}

static void without_a_budget_nothing_is_done(void **unused)
{
	struct world world = world_of(true, true);

	(void)unused;
	world.governor.options.budget_ppm = 0;
	add(&world, 1000000, 1000000);
	run(&world, 100);
	assert_int_equal(world.turns + world.changes, 0);
	assert_int_equal(step_of(&world, &world.programs[0]), MS_BUDGET_ALL);
}

/* 0.24 % without stacks, 1.04 % with them. */
static void stacks_are_given_up_where_they_cost_too_much(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 0, 1000);
	const struct program *other = add(&world, 10, 10);

	(void)unused;
	program->has_stacks = world.programs[1].has_stacks = true;
	run(&world, 1000);
	assert_true(program->process.is_stackless);
	assert_false(program->process.is_over);
	assert_in_range(cost_ppm(program, 1000), 0, BUDGET_PPM);
	assert_int_equal(world.changes, 1); /* no step back and forth */
	assert_int_equal(other->stackless_ns, 0);
	/* With a tenth of that, they fit into half of the budget. */
	program->allocations = 200;
	run(&world, 100);
	assert_false(program->process.is_stackless);
	assert_int_equal(world.changes, 2);
	assert_int_equal(world.turns, 0);
}

/* Launches are what costs too much: 0.1 % is of stacks, which may stay. */
static void stacks_stay_where_they_are_not_what_costs(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 100000, 50);

	(void)unused;
	program->has_stacks = true;
	run(&world, 100);
	assert_true(program->at_ns[MS_BUDGET_OFF] > 0);
	assert_int_equal(program->stackless_ns, 0);
}

/* Neither alone takes more than the budget. */
static void stacks_and_bulk_calls_together_are_too_much(void **unused)
{
	struct world world = world_of(true, true);
	struct program *program = add(&world, 1500, 400);

	(void)unused;
	program->has_stacks = true;
	run(&world, 1000);
	assert_true(program->process.at_entries);
	assert_true(program->process.is_stackless);
	assert_in_range(cost_ppm(program, 1000), 0, BUDGET_PPM + 200);
	assert_int_equal(world.turns, 0);
}

/* An agent that was stopped for a day (SIGSTOP), and a program with thousands of threads. */
static void no_amount_overflows(void **unused)
{
	struct world world = world_of(true, true);
	struct governor_process process = { 0 };
	const struct governor_spent much = { .all_ns = UINT64_MAX / 2, .bulk_ns = UINT64_MAX / 2 },
				    nothing = { 0 }, little = { .all_ns = 1, .bulk_ns = 1 };

	(void)unused;
	assert_true(governor_note(&world.governor, &process, 86400 * SECOND_NS, &much));
	assert_int_equal(process.credit_ns, -(int64_t)(GOVERNOR_DEBT_NS / 1000000 * BUDGET_PPM));
	/* Calm for so long, it is traced as usual again. */
	assert_true(governor_note(&world.governor, &process, UINT64_MAX, &nothing));
	assert_in_range(process.credit_ns, 0, GOVERNOR_CREDIT_NS / 1000000 * BUDGET_PPM);
	assert_false(governor_note(&world.governor, &process, 0, &little));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_keep_within_the_budget),
		cmocka_unit_test(a_million_calls_a_second_cost_what_one_look_does),
		cmocka_unit_test(credit_is_not_overdrawn),
		cmocka_unit_test(bursts_within_ten_seconds_are_not_cut),
		cmocka_unit_test(who_becomes_quiet_is_traced_as_usual_again),
		cmocka_unit_test(a_load_between_two_steps_stays_at_one),
		cmocka_unit_test(a_lowered_budget_leaves_no_old_debt),
		cmocka_unit_test(allocations_are_never_given_up),
		cmocka_unit_test(others_only_wait_for_those_that_are_the_reason),
		cmocka_unit_test(what_is_not_possible_is_not_done),
		cmocka_unit_test(without_a_budget_nothing_is_done),
		cmocka_unit_test(stacks_are_given_up_where_they_cost_too_much),
		cmocka_unit_test(stacks_stay_where_they_are_not_what_costs),
		cmocka_unit_test(stacks_and_bulk_calls_together_are_too_much),
		cmocka_unit_test(no_amount_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
