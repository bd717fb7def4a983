// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that are refused memory while calls from elsewhere in the program get some: whether that is
 * how the failure ended.
 */
#include "analysed.h"

#define SESSION 1 /* stacks */
#define INPUT 2

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
	feed(run, record_stack(SESSION, 1, 1));
	feed(run, record_stack(INPUT, 2, 1));
}

/* What each request begins with is granted, what it needs after that is not. */
static void run_never_got_it(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 16 * MIB);
	}
	end_process(run, 0);
}

static void run_never_got_it_without_stacks(struct run *run)
{
	int i;

	for (i = 0; i < 5; i++) {
		fail_from(run, 0, 8 * MIB);
		get_from(run, 0, 16 * MIB);
	}
	end_process(run, 0);
}

/* The line that tries again is another one. */
static void run_retried(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 8 * MIB);
	}
	end_process(run, 0);
}

/* It was refused now and then. */
static void run_got_it_later(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 16 * MIB);
		get_from(run, SESSION, 12 * MIB);
	}
	end_process(run, 0);
}

/* So it was, but the line that got it then is another one. */
static void run_retried_later(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, INPUT, 16 * MIB);
		get_from(run, INPUT, 8 * MIB);
	}
	end_process(run, 0);
}

/* It does with less what it asked more for. */
static void run_does_with_less(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 16 * MIB);
		get_from(run, INPUT, 8 * MIB);
	}
	end_process(run, 0);
}

/* Where it was granted is not known. */
static void run_stacks_are_missing(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 5; i++) {
		fail_from(run, SESSION, 8 * MIB);
		get_from(run, 0, 16 * MIB);
	}
	end_process(run, 0);
}

static void run_once(struct run *run)
{
	begin(run);
	fail_from(run, SESSION, 8 * MIB);
	get_from(run, INPUT, 16 * MIB);
	end_process(run, 0);
}

static const struct {
	const char *name;
	void (*run)(struct run *run);
	size_t count;
	enum oom_outcome first, last;
	uint64_t refused_later;  /* of the first, */
	uint64_t refused_before; /* and the last */
	uint64_t elsewhere, elsewhere_bytes;
	uint64_t granted_bytes; /* of the first */
} programs[] = {
	/* clang-format off */
	{ "never got it", run_never_got_it, 2, OOM_HANDLED, OOM_HANDLED, 4, 1, 4, 16 * MIB, 0 },
	{ "never got it, without stacks", run_never_got_it_without_stacks, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 16 * MIB },
	{ "retried", run_retried, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 8 * MIB },
	{ "got it later", run_got_it_later, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
	{ "retried later", run_retried_later, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
	{ "does with less", run_does_with_less, 5, OOM_BACKED_OFF, OOM_BACKED_OFF, 4, 4, 1, 8 * MIB, 8 * MIB },
	{ "stacks are missing", run_stacks_are_missing, 5, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 0, 0, 16 * MIB },
	{ "once", run_once, 1, OOM_RECOVERED, OOM_RECOVERED, 0, 0, 1, 16 * MIB, 16 * MIB },
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
		programs[i].run(&run);
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
	run_never_got_it(&run);
	finish(&run);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_RECOVERED], 0);
	assert_int_equal(analysis_account(run.analysis)->oom_outcomes[OOM_HANDLED], 2);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_outcomes_are_counted),
	};

	return unit_run("analysis: what others get who is refused", tests);
}
