// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that are refused memory while calls from elsewhere in the program get some: whether that is
 * how the failure ended.
 */
#include "analysed.h"
#include "analysis/oom_sites.h"
#include "analysis/oom_watch.h"

#define SESSION 1 /* stacks */
#define INPUT 2
#define OPTIONAL 3

static void fail_from(struct run *run, uint32_t stack, uint64_t size)
{
	feed(run, record_called_from(
			  stack,
			  record_failed(2, record_on(0, record_without(MS_KNOWN_ADDR,
								       record_alloc("cuMemAlloc_v2",
										    0, size))))));
}

static void get_from(struct run *run, uint32_t stack, uint64_t size)
{
	const uint64_t addr = run->next_addr;

	run->next_addr += size;
	feed(run,
	     record_called_from(stack, record_on(0, record_alloc("cuMemAlloc_v2", addr, size))));
	wait_for(run, 100 * MS);
	free_at(run, addr);
}

static void begin(struct run *run)
{
	feed(run, record_frame(1, "new_session", "/opt/server"));
	feed(run, record_frame(2, "read_input", "/opt/server"));
	feed(run, record_frame(3, "ask_for_more", "/opt/server"));
	feed(run, record_stack(SESSION, 1, 1));
	feed(run, record_stack(OPTIONAL, 3, 1));
	feed(run, record_stack(INPUT, 2, 1));
}

/* What a program does in each of its rounds. */
struct step {
	enum { NOTHING, REFUSED, GRANTED, WORKS } what;
	uint32_t stack;
	uint64_t mib;
};

#define STEPS 4

static void play(struct run *run, unsigned int rounds, const struct step steps_of[STEPS])
{
	unsigned int i, j;

	begin(run);
	for (i = 0; i < rounds; i++) {
		for (j = 0; j < STEPS; j++) {
			if (steps_of[j].what == REFUSED)
				fail_from(run, steps_of[j].stack, steps_of[j].mib * MIB);
			else if (steps_of[j].what == GRANTED)
				get_from(run, steps_of[j].stack, steps_of[j].mib * MIB);
			else if (steps_of[j].what == WORKS)
				steps(run, 1);
		}
	}
	end_process(run, 0);
}

/* What came after it got its memory says nothing of what was before. */
static void run_refused_again_much_later(struct run *run)
{
	int i;

	begin(run);
	fail_from(run, SESSION, 8 * MIB);
	get_from(run, INPUT, 16 * MIB);
	get_from(run, SESSION, 8 * MIB);
	for (i = 0; i < 2; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 16 * MIB);
	}
	end_process(run, 0);
}

/* Programs that ended are not remembered for it. */
static void run_others_ended(struct run *run)
{
	uint32_t i;

	begin(run);
	fail_from(run, SESSION, 8 * MIB);
	get_from(run, INPUT, 16 * MIB);
	for (i = 0; i < 2 * OOM_SITES_MAX; i++) {
		as_process(run, 5000 + i);
		feed(run, record_stack(SESSION, 1, 1));
		feed(run, record_stack(INPUT, 2, 1));
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 16 * MIB);
		end_process(run, 0);
	}
	as_process(run, RECORD_PID);
	fail_from(run, SESSION, 8 * MIB);
	get_from(run, INPUT, 16 * MIB);
	end_process(run, 0);
}

static const struct {
	const char *name;
	void (*run)(struct run *run); /* NULL: it plays */
	unsigned int rounds;
	struct step steps[STEPS];
	size_t count;
	enum oom_outcome first, last;
	uint64_t refused_later;  /* of the first, */
	uint64_t refused_before; /* and the last */
	uint64_t elsewhere, elsewhere_bytes;
	uint64_t granted_bytes; /* of the first */
} programs[] = {
	/* clang-format off */
	{ "never got it", NULL, 5, { { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 16 } }, 2, OOM_HANDLED, OOM_HANDLED, 4, 1, 4, 16 * MIB, 0 },
	{ "never got it, without stacks", NULL, 5, { { REFUSED, 0, 8 }, { GRANTED, 0, 16 } }, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 16 * MIB },
	{ "retried", NULL, 5, { { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 8 } }, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 8 * MIB },
	{ "got it later", NULL, 5, { { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 16 }, { GRANTED, SESSION, 12 } }, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
	{ "retried later", NULL, 5, { { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 16 }, { GRANTED, INPUT, 8 } }, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
	{ "does with less", NULL, 5, { { REFUSED, SESSION, 16 }, { GRANTED, INPUT, 8 } }, 5, OOM_BACKED_OFF, OOM_BACKED_OFF, 4, 4, 1, 8 * MIB, 8 * MIB },
	{ "stacks are missing", NULL, 5, { { REFUSED, SESSION, 8 }, { GRANTED, 0, 16 } }, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 16 * MIB },
	{ "once", NULL, 1, { { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 16 } }, 1, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
	{ "refused again much later", run_refused_again_much_later, 0, { { NOTHING, 0, 0 } }, 3, OOM_RECOVERED, OOM_HANDLED, 0, 1, 1, 16 * MIB, 16 * MIB },
	{ "others are refused first", NULL, 4, { { REFUSED, OPTIONAL, 4 }, { REFUSED, SESSION, 8 }, { GRANTED, INPUT, 16 } }, 2, OOM_HANDLED, OOM_HANDLED, 3, 1, 3, 16 * MIB, 0 },
	{ "others get less", NULL, 5, { { REFUSED, SESSION, 16 }, { WORKS, 0, 0 }, { GRANTED, INPUT, 8 } }, 2, OOM_HANDLED, OOM_HANDLED, 4, 1, 4, 8 * MIB, 0 },
	{ "gets less later", NULL, 5, { { REFUSED, SESSION, 16 }, { WORKS, 0, 0 }, { GRANTED, INPUT, 8 }, { GRANTED, SESSION, 4 } }, 5, OOM_BACKED_OFF, OOM_BACKED_OFF, 0, 0, 1, 8 * MIB, 8 * MIB },
	{ "others ended", run_others_ended, 0, { { NOTHING, 0, 0 } }, 16, OOM_RECOVERED, OOM_HANDLED, 0, 1, 1, 16 * MIB, 16 * MIB },
	/* clang-format on */
};

static void test_programs(void **state)
{
	size_t i, count;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct oom_request *first, *last;
		const struct analysis_oom *ooms;
		struct run run = { 0 };

		print_message("# %s\n", programs[i].name);
		assert_true(run_begin(&run));
		if (programs[i].run)
			programs[i].run(&run);
		else
			play(&run, programs[i].rounds, programs[i].steps);
		finish(&run);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, programs[i].count);
		first = &ooms[0].request;
		last = &ooms[count - 1].request;
		assert_string_equal(oom_outcome_name(first->outcome),
				    oom_outcome_name(programs[i].first));
		assert_string_equal(oom_outcome_name(last->outcome),
				    oom_outcome_name(programs[i].last));
		assert_int_equal(first->refused_later, programs[i].refused_later);
		assert_int_equal(first->granted_bytes, programs[i].granted_bytes);
		assert_int_equal(last->refused_before, programs[i].refused_before);
		assert_int_equal(last->elsewhere, programs[i].elsewhere);
		assert_int_equal(last->elsewhere_bytes, programs[i].elsewhere_bytes);
		run_end(&run);
	}
}

/* What is revised is counted anew, too. */
static void test_outcomes_are_counted(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	play(&run, programs[0].rounds, programs[0].steps); /* it never got it */
	finish(&run);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_RECOVERED], 0);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_HANDLED], 2);
	run_end(&run);
}

/* Also those that had to make way in the list. */
static void test_what_is_not_listed_is_counted(void **state)
{
	struct run run = { 0 };
	size_t count, i;

	(void)state;
	assert_true(run_begin(&run));
	begin(&run);
	fail_from(&run, SESSION, 8 * MIB);
	get_from(&run, INPUT, 16 * MIB);
	for (i = 0; i < 20; i++) {
		fail_from(&run, INPUT, MIB);
		get_from(&run, INPUT, MIB);
	}
	fail_from(&run, SESSION, 8 * MIB);
	end_process(&run, 0);
	finish(&run);
	analysis_ooms(run.analysis, &count);
	assert_int_equal(count, 16);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_RECOVERED], 20);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_HANDLED] +
				 analysis_account(run.analysis)->oom_outcomes[OOM_GAVE_UP],
			 2);
	run_end(&run);
}

static uint64_t add_site(struct oom_sites *sites, uint32_t stack)
{
	return oom_sites_add(sites,
			     &(struct oom_refused_site){
				     .pid = 1, .stack = stack, .bytes = MIB, .failures = 1 });
}

/* Not one that came later, although another one has gone meanwhile. */
static void test_the_oldest_site_is_forgotten(void **state)
{
	struct oom_sites sites = { 0 };
	uint32_t i;

	(void)state;
	for (i = 1; i <= OOM_SITES_MAX; i++)
		assert_int_equal(add_site(&sites, i), i);
	oom_sites_grant(&sites, 1, 0, 1, 2 * MIB);
	assert_null(oom_sites_find(&sites, 1, 0, 1));
	for (; i <= OOM_SITES_MAX + 3; i++)
		assert_int_equal(add_site(&sites, i), i);
	for (i = 2; i <= OOM_SITES_MAX + 3; i++)
		assert_int_equal(!oom_sites_find(&sites, 1, 0, i), i <= 3);
	/* What is known already takes no place of another. */
	assert_int_equal(add_site(&sites, 5), 5);
	assert_int_equal(oom_sites_find(&sites, 1, 0, 5)->failures, 2);
	assert_non_null(oom_sites_find(&sites, 1, 0, 4));
}

static void test_sites_end_with_their_process(void **state)
{
	struct oom_sites sites = { 0 };

	(void)state;
	add_site(&sites, 1);
	add_site(&sites, 2);
	oom_sites_add(&sites, &(struct oom_refused_site){ .pid = 2, .stack = 1, .bytes = MIB });
	oom_sites_end_process(&sites, 1, 0);
	assert_int_equal(sites.count, 1);
	assert_non_null(oom_sites_find(&sites, 2, 0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_listed_is_counted),
		cmocka_unit_test(test_the_oldest_site_is_forgotten),
		cmocka_unit_test(test_sites_end_with_their_process),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_outcomes_are_counted),
	};

	return unit_run("analysis: what others get who is refused", tests);
}
