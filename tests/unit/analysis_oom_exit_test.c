// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether a process that went on after memory had run out, and then ended, ended of it.
 */
#include "analysed.h"

#define SIGKILLED 9
#define EXITED_WITH_1 256

/* A trainer saves what it has, which allocates next to nothing, and gives up. */
static void save_for(struct run *run, int seconds)
{
	const uint64_t addr = alloc_new(run, MIB);

	launch(run);
	fail_alloc(run, GIB);
	while (seconds--) {
		copy_up(run, addr, 0x7f0000000000, MIB, US);
		alloc_new(run, 4 * KIB);
		wait_for(run, SECOND);
	}
}

static void run_saves_and_fails(struct run *run)
{
	save_for(run, 40);
	end_process(run, EXITED_WITH_1);
}

static void run_saves_and_is_killed(struct run *run)
{
	save_for(run, 40);
	end_process(run, SIGKILLED);
}

static void run_saves_and_ends(struct run *run)
{
	save_for(run, 40);
	end_process(run, 0);
}

static void run_saves_and_ends_anyhow(struct run *run)
{
	save_for(run, 40);
	end_process(run, MS_EXIT_UNKNOWN);
}

static void run_saves_still(struct run *run)
{
	save_for(run, 40);
}

static void run_fails_later(struct run *run)
{
	save_for(run, 61);
	end_process(run, EXITED_WITH_1);
}

/* A server, of which one request failed. */
static void run_serves_and_is_killed(struct run *run)
{
	int i;

	fail_alloc(run, GIB);
	for (i = 0; i < 1000; i++) {
		free_at(run, alloc_new(run, MIB));
		wait_for(run, 10 * MS);
	}
	end_process(run, SIGKILLED);
}

/* It may have been denied, and live on: the recording does not say. */
static void run_is_seen_no_more(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, 80 * MS);
	end_process(run, MS_EXIT_UNKNOWN);
}

/* It had given up before. */
static void run_waits_and_is_seen_no_more(struct run *run)
{
	fail_alloc(run, GIB);
	wait_for(run, 40 * SECOND);
	end_process(run, MS_EXIT_UNKNOWN);
}

/* The last of several is what counts. */
static void run_fails_again_and_ends(struct run *run)
{
	save_for(run, 40);
	fail_alloc(run, GIB);
	wait_for(run, SECOND);
	end_process(run, EXITED_WITH_1);
}

static const struct {
	const char *name;
	void (*run)(struct run *run);
	size_t count;
	enum oom_outcome outcomes[2];
} programs[] = {
	{ "saves, and fails", run_saves_and_fails, 1, { OOM_FATAL } },
	{ "saves, and is killed", run_saves_and_is_killed, 1, { OOM_FATAL } },
	{ "saves, and ends well", run_saves_and_ends, 1, { OOM_HANDLED } },
	{ "saves, and ends in some way", run_saves_and_ends_anyhow, 1, { OOM_HANDLED } },
	{ "saves still", run_saves_still, 1, { OOM_HANDLED } },
	{ "fails a minute later", run_fails_later, 1, { OOM_HANDLED } },
	{ "serves, and is killed", run_serves_and_is_killed, 1, { OOM_HANDLED } },
	{ "is seen no more", run_is_seen_no_more, 1, { OOM_OPEN } },
	{ "waits, and is seen no more", run_waits_and_is_seen_no_more, 1, { OOM_GAVE_UP } },
	{ "fails twice", run_fails_again_and_ends, 2, { OOM_HANDLED, OOM_FATAL } },
};

static void test_how_it_ended(void **state)
{
	size_t i, j, count;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };

		print_message("# %s\n", programs[i].name);
		assert_true(run_begin(&run));
		programs[i].run(&run);
		finish(&run);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, programs[i].count);
		for (j = 0; j < count; j++)
			assert_string_equal(oom_outcome_name(ooms[j].request.outcome),
					    oom_outcome_name(programs[i].outcomes[j]));
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_it_ended),
	};

	return unit_run("analysis: whether a process ended of a failed call", tests);
}
