// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times that are clearly others where nothing else is: they are named, and are no difference.
 */
#include "diff_example.h"

#include "render/diff_html.h"
#include "render/diff_json.h"
#include "render/diff_words.h"

#define MS 1000000ull
#define PID 10

/* A program with one call of each sort. */
struct work {
	uint64_t sync_ms, copy_ms, run_ms;
	int launches;
	bool runs_on; /* it has not ended */
};

static void add_work(struct side *side, uint32_t pid, const struct work *work)
{
	int i;

	for (i = 0; i < work->launches; i++)
		add_of(side, pid, record_launch("cuLaunchKernel", 0x11));
	add_of(side, pid,
	       record_taking((uint32_t)(work->sync_ms * MS), record_call("cuCtxSynchronize")));
	add_of(side, pid,
	       record_taking((uint32_t)(work->copy_ms * MS),
			     record_copy("cuMemcpyHtoD_v2", MIB, MS_DIRECTION_HTOD)));
	side->now_ns += work->run_ms * MS;
	if (!work->runs_on)
		add_exit(side, pid, "train");
}

/* The verdict's first sentence, and what the diff says of itself. */
static void compare(struct string *said, const struct work *a, const struct work *b)
{
	struct verdict verdict;

	add_process(&diffs.a, PID, "train");
	add_process(&diffs.b, PID, "train");
	add_work(&diffs.a, PID, a);
	add_work(&diffs.b, PID, b);
	diffs_end(&diffs);
	assert_false(diff_differs(diffs.diff));
	string_clear(said);
	diff_verdict(&verdict, diffs.diff);
	string_append(said, verdict.sentences[0].bytes, verdict.sentences[0].length);
	verdict_fini(&verdict);
}

#define NOTHING "Nothing differs"
#define BUT NOTHING " but times, which are not judged: "

/* clang-format off */
static const struct {
	const char *what;
	struct work a, b;
	const char *says;
} cases[] = {
	{ "the same", { .sync_ms = 200 }, { .sync_ms = 200 }, NOTHING "." },
	{ "a little longer", { .sync_ms = 1000 }, { .sync_ms = 1900 }, NOTHING "." },
	{ "a little time", { .sync_ms = 1 }, { .sync_ms = 100 }, NOTHING "." },
	{ "long waits", { .sync_ms = 1 }, { .sync_ms = 636 },
	  BUT "synchronisations of train (10) took 636 ms in B, 1 ms in A (cuCtxSynchronize)." },
	{ "twice as long", { .sync_ms = 100 }, { .sync_ms = 200 },
	  BUT "synchronisations of train (10) took 200 ms in B, 100 ms in A (cuCtxSynchronize)." },
	{ "less long waits", { .sync_ms = 636 }, { .sync_ms = 1 },
	  BUT "synchronisations of train (10) took 1 ms in B, 636 ms in A (cuCtxSynchronize)." },
	{ "slow copies", { .copy_ms = 20 }, { .copy_ms = 300 },
	  BUT "copies of train (10) took 300 ms in B, 20 ms in A (cuMemcpyHtoD_v2)." },
	{ "a slow run", { .run_ms = 1820 }, { .run_ms = 3410 },
	  BUT "the run of train (10) took 3.41 s in B, 1.82 s in A." },
	{ "a run of some more time", { .run_ms = 2000 }, { .run_ms = 2900 }, NOTHING "." },
	{ "short runs", { .run_ms = 200 }, { .run_ms = 690 }, NOTHING "." },
	{ "both", { .sync_ms = 1, .run_ms = 1000 }, { .sync_ms = 900, .run_ms = 1900 },
	  BUT "the run of train (10) took 1.90 s in B, 1.00 s in A; synchronisations of train (10) took"
	  " 900 ms in B, 1 ms in A (cuCtxSynchronize)." },
	/* More launches, too few to be a difference. */
	{ "for more work", { .sync_ms = 200, .launches = 2 }, { .sync_ms = 500, .launches = 6 },
	  NOTHING " by more than noise; 1 row differs by less." },
	{ "for more work, and more", { .sync_ms = 200, .launches = 2 }, { .sync_ms = 1300, .launches = 6 },
	  NOTHING " by more than noise but times, which are not judged: synchronisations of train (10)"
	  " took 1.30 s in B, 200 ms in A (cuCtxSynchronize); 1 row differs by less." },
	/* How long a recording is says nothing of the program. */
	{ "a longer recording", { .sync_ms = 200, .run_ms = 1000, .runs_on = true },
	  { .sync_ms = 500, .run_ms = 3000, .runs_on = true }, NOTHING "." },
	{ "waits in recordings of one length", { .sync_ms = 200, .run_ms = 1000, .runs_on = true },
	  { .sync_ms = 500, .run_ms = 1000, .runs_on = true },
	  BUT "synchronisations of train (10) took 500 ms in B, 200 ms in A (cuCtxSynchronize)." },
};
/* clang-format on */

static void test_what_is_said(void **state)
{
	struct string said = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		diffs_begin(&diffs);
		compare(&said, &cases[i].a, &cases[i].b);
		if (said.length != strlen(cases[i].says) || !has(&said, cases[i].says))
			fail_msg("%s: %.*s", cases[i].what, (int)said.length, said.bytes);
		diffs_done(&diffs);
	}
	string_fini(&said);
}

/* Calls that were lost took time, too. */
static void test_what_is_not_exact(void **state)
{
	const struct work a = { .sync_ms = 1 }, b = { .sync_ms = 636 };
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add(&diffs.a, record_account(MS_OP_SYNC, 1000, 12));
	compare(&said, &a, &b);
	assert_true(has(&said, "1 ms in A (cuCtxSynchronize; not exact)."));
	string_fini(&said);
	diffs_done(&diffs);
}

/* Who did not do the same may take another time. */
static void test_other_work(void **state)
{
	const struct work a = { .sync_ms = 1 }, b = { .sync_ms = 636 };

	(void)state;
	begin_alike();
	add_work(&diffs.a, PID, &a);
	add_alloc(&diffs.b, PID, "cudaMalloc", 64 * MIB);
	add_work(&diffs.b, PID, &b);
	diffs_end(&diffs);
	assert_true(diff_differs(diffs.diff));
	assert_false(diff_times_changed(diffs.diff));
	diffs_done(&diffs);
}

/* A slower process comes before one that is faster by more. */
static void test_the_slower_one(void **state)
{
	const struct work fast = { .sync_ms = 1 }, slow = { .sync_ms = 636 },
			  slower = { .sync_ms = 2000 };
	struct diff_time_change change;

	(void)state;
	begin_alike();
	add_process(&diffs.a, 20, "serve");
	add_process(&diffs.b, 20, "serve");
	add_work(&diffs.a, PID, &fast);
	add_work(&diffs.b, PID, &slow);
	add_work(&diffs.a, 20, &slower);
	add_work(&diffs.b, 20, &fast);
	diffs_end(&diffs);
	change = diff_time_change(diffs.diff, DIFF_TIME_SYNCS);
	assert_non_null(change.pair);
	assert_int_equal(change.pair->b.process->pid, PID);
	diffs_done(&diffs);
}

static void test_formats(void **state)
{
	const struct work a = { .sync_ms = 1 }, b = { .sync_ms = 636 };
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	compare(&said, &a, &a);
	string_clear(&said);
	diff_json(&said, diffs.diff);
	assert_true(has(&said, "\"time_changes\":[]"));
	string_clear(&said);
	diff_html(&said, diffs.diff, 10);
	assert_true(has(&said, "Nothing changed beyond noise"));
	diffs_done(&diffs);

	diffs_begin(&diffs);
	compare(&said, &a, &b);
	string_clear(&said);
	diff_json(&said, diffs.diff);
	assert_true(has(&said, "\"time_changes\":[{\"process\":0,\"of\":\"synchronisations\","
			       "\"api\":\"cuCtxSynchronize\",\"a_ns\":1000000,\"b_ns\":636000000,"
			       "\"uncertain\":false}]"));
	string_clear(&said);
	diff_html(&said, diffs.diff, 10);
	assert_true(has(&said, "Nothing but times changed beyond noise"));
	string_fini(&said);
	diffs_done(&diffs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_said), cmocka_unit_test(test_what_is_not_exact),
		cmocka_unit_test(test_other_work),   cmocka_unit_test(test_the_slower_one),
		cmocka_unit_test(test_formats),
	};

	return unit_run("diff_times", tests);
}
