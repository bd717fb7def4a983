// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that fail, are started again and fail again: each with the crash-loops that the report
 * must find, and no others.
 */
#include "reported.h"

#include <signal.h>

#include "render/finding_words.h"
#include "render/report_words.h"

#define ILLEGAL_ADDRESS 700
#define ENDED(code) ((uint32_t)(code) << 8)

static void begin_run(uint32_t pid, const char *name)
{
	add(record_of(pid, 0, record_process(MS_TYPE_EXEC, name, 0)));
	add(record_of(pid, 0, alloc("cuMemAlloc_v2", 0x100000000, MIB)));
}

static void end_run(uint32_t pid, const char *name, uint32_t status)
{
	add(record_of(pid, 0, record_process(MS_TYPE_EXIT, name, status)));
}

static void run_once(uint32_t pid, const char *name, int32_t result, uint32_t status)
{
	begin_run(pid, name);
	if (result)
		add(record_of(pid, 0, record_failed(result, record_call("cuCtxSynchronize"))));
	end_run(pid, name, status);
}

/* ---- the programs ---------------------------------------------------------------------------- */

static void run_fails(void)
{
	uint32_t pid;

	for (pid = 100; pid < 105; pid++)
		run_once(pid, "server", ILLEGAL_ADDRESS, ENDED(1));
}

static void run_fails_in_other_ways(void)
{
	run_once(100, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(101, "server", 719, ENDED(2));
	run_once(102, "server", 1, ENDED(3));
}

static void run_is_killed(void)
{
	uint32_t pid;

	for (pid = 100; pid < 103; pid++)
		run_once(pid, "server", 0, SIGKILL);
}

static void run_fails_twice(void)
{
	run_once(100, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(101, "server", ILLEGAL_ADDRESS, ENDED(1));
}

static void run_succeeds_in_between(void)
{
	run_fails_twice();
	run_once(102, "server", 0, ENDED(0));
	run_once(103, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(104, "server", ILLEGAL_ADDRESS, ENDED(1));
}

static void run_succeeds(void)
{
	uint32_t pid;

	for (pid = 100; pid < 105; pid++)
		run_once(pid, "server", ILLEGAL_ADDRESS, ENDED(0));
}

static void run_is_stopped(void)
{
	static const uint32_t signals[] = { SIGTERM, SIGINT, SIGHUP };
	uint32_t i;

	for (i = 0; i < 9; i++)
		run_once(100 + i, "server", 0, signals[i / 3]);
}

static void run_ends_unseen(void)
{
	uint32_t pid;

	for (pid = 100; pid < 105; pid++)
		run_once(pid, "server", ILLEGAL_ADDRESS, MS_EXIT_UNKNOWN);
}

/* The ranks of a job fail together. */
static void run_fails_at_once(void)
{
	uint32_t pid;

	for (pid = 100; pid < 105; pid++)
		begin_run(pid, "rank");
	for (pid = 100; pid < 105; pid++)
		end_run(pid, "rank", ENDED(1));
}

static void run_others_fail(void)
{
	run_once(100, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(101, "client", ILLEGAL_ADDRESS, ENDED(1));
	run_once(102, "batch", ILLEGAL_ADDRESS, ENDED(1));
}

/* Beside it, another one goes its way. */
static void run_fails_beside_another(void)
{
	begin_run(50, "client");
	run_once(100, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(101, "batch", 0, ENDED(0));
	run_once(102, "server", ILLEGAL_ADDRESS, ENDED(1));
	run_once(103, "server", ILLEGAL_ADDRESS, ENDED(1));
	end_run(50, "client", ENDED(0));
}

/* What a shell that is followed runs. */
static void run_calls_nothing(void)
{
	uint32_t pid;

	for (pid = 100; pid < 105; pid++) {
		add(record_of(pid, 0, record_process(MS_TYPE_EXEC, "readlink", 0)));
		end_run(pid, "readlink", ENDED(1));
	}
}

/* Some of its runs do not get that far. */
static void run_calls_once(void)
{
	run_calls_nothing();
	run_once(105, "readlink", 0, ENDED(1));
}

/* ---- what must be found ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
	const char *found; /* NULL: nothing */
} scenarios[] = {
	{ "fails", run_fails,
	  "server (104) is the last of 5 runs that failed, one after the other, each with"
	  " CUDA_ERROR_ILLEGAL_ADDRESS (700) (crash-loop, cuCtxSynchronize; high confidence)" },
	{ "fails in other ways", run_fails_in_other_ways,
	  "server (102) is the last of 3 runs that failed, one after the other (crash-loop; medium"
	  " confidence)" },
	{ "is killed", run_is_killed,
	  "server (102) is the last of 3 runs that failed, one after the other (crash-loop; medium"
	  " confidence)" },
	{ "fails twice", run_fails_twice, NULL },
	{ "succeeds in between", run_succeeds_in_between, NULL },
	{ "succeeds", run_succeeds, NULL },
	{ "is stopped", run_is_stopped, NULL },
	{ "ends unseen", run_ends_unseen, NULL },
	{ "fails at once", run_fails_at_once, NULL },
	{ "others fail", run_others_fail, NULL },
	{ "calls nothing", run_calls_nothing, NULL },
	{ "calls once", run_calls_once,
	  "readlink (105) is the last of 6 runs that failed, one after the other (crash-loop; medium"
	  " confidence)" },
	{ "fails beside another", run_fails_beside_another,
	  "server (103) is the last of 3 runs that failed, one after the other, each with"
	  " CUDA_ERROR_ILLEGAL_ADDRESS (700) (crash-loop, cuCtxSynchronize; high confidence)" },
};

static void loops_of(const struct report_recording *recording, struct string *out)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule != FINDING_CRASH_LOOP)
			continue;
		string_append_text(out, out->length ? "\n" : "");
		finding_words_append(out, recording, finding);
	}
	string_append(out, "", 1);
}

static void test_loops(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		struct report_reader reader;
		struct string found = { 0 };

		print_message("# %s\n", scenarios[i].name);
		begin();
		scenarios[i].run();
		reader = end();
		loops_of(reader.report.recordings[0], &found);
		assert_string_equal(found.bytes, scenarios[i].found ? scenarios[i].found : "");
		string_fini(&found);
		done(&reader);
	}
}

/* It leads, before what its runs had one by one. */
static void test_a_loop_leads(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	run_fails();
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_true(has(&verdict.sentences[0], "(crash-loop, cuCtxSynchronize; high confidence)"));
	assert_true(has(&verdict.sentences[1], "What to do: Stop what starts it again"));
	verdict_fini(&verdict);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_a_loop_leads),
	};

	return unit_run("report_crashes", tests);
}
