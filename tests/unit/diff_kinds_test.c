// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that hold one kind of memory instead of another: what counts is all that they hold on
 * devices; and gates of diffs.
 */
#include "diffs.h"

#include "render/diff_ci.h"
#include "render/diff_words.h"

#define PID 10

/* What one side allocates, in this order; "free" frees what it allocated last. */
struct block {
	const char *symbol;
	uint64_t mib;
};

#define BLOCKS 6

struct kinds {
	const char *name;
	struct block a[BLOCKS], b[BLOCKS];
	uint64_t growth_mib;
	const char *verdict; /* a part of it */
	bool whole;          /* all kinds together differ */
};

/* clang-format off */
static const struct kinds cases[] = {
	{ "another allocator", { { "cudaMalloc", 200 } }, { { "cuMemCreate", 170 }, { "cudaMalloc", 30 } }, 0,
	  "holds as much device memory as before, at the end and at most, but of other kinds: at most", false },
	{ "and back", { { "cuMemCreate", 170 }, { "cudaMalloc", 30 } }, { { "cudaMalloc", 200 } }, 0,
	  "of other kinds", false },
	{ "another allocator that needs less", { { "cudaMalloc", 200 } }, { { "cuMemCreate", 170 } }, 0,
	  "holds 30 MiB less device memory at the end: 200 MiB before, 170 MiB now", true },
	{ "another allocator that needs more", { { "cudaMalloc", 170 } }, { { "cuMemCreate", 200 } }, 30,
	  "holds 30 MiB more device memory at the end: 170 MiB before, 200 MiB now", true },
	{ "a pool instead", { { "cudaMalloc", 64 } }, { { "cudaMallocAsync", 64 } }, 0, "of other kinds", false },
	{ "one kind that grows", { { "cudaMalloc", 64 } }, { { "cudaMalloc", 96 } }, 32,
	  "holds 32 MiB more device memory at the end: 64 MiB before, 96 MiB now", false },
	{ "one kind grows beside another", { { "cudaMalloc", 64 }, { "cuMemCreate", 8 } },
	  { { "cudaMalloc", 96 }, { "cuMemCreate", 8 } }, 32,
	  "holds 32 MiB more device memory at the end: 72 MiB before, 104 MiB now", true },
	{ "a peak of two kinds, one after the other", { { "cudaMalloc", 50 }, { "cuMemCreate", 50 } },
	  { { "cudaMalloc", 50 }, { "free", 0 }, { "cuMemCreate", 50 } }, 0,
	  "holds 50 MiB less device memory at the end", true },
	{ "host memory is not a part of it", { { "cudaMalloc", 64 } },
	  { { "cudaMalloc", 64 }, { "cudaMallocHost", 32 } }, 0, "holds 32 MiB more pinned memory at the end", false },
	{ "nothing", { { "cudaMalloc", 64 }, { "cuMemCreate", 8 } }, { { "cudaMalloc", 64 }, { "cuMemCreate", 8 } }, 0,
	  "Nothing differs.", false },
};
/* clang-format on */

static void run_side(struct side *side, const struct block *blocks)
{
	uint64_t last = 0;
	size_t i;

	add_process(side, PID, "train");
	for (i = 0; i < BLOCKS && blocks[i].symbol; i++)
		if (strcmp(blocks[i].symbol, "free"))
			last = add_alloc(side, PID, blocks[i].symbol, blocks[i].mib * MIB);
		else
			add_free(side, PID, last);
}

static void append_verdict(struct string *out, const struct diff *diff)
{
	struct verdict verdict;
	size_t i;

	diff_verdict(&verdict, diff);
	for (i = 0; i < verdict.count; i++)
		string_append(out, verdict.sentences[i].bytes, verdict.sentences[i].length);
	verdict_fini(&verdict);
}

static bool says(const struct string *text, const char *part)
{
	return memmem(text->bytes, text->length, part, strlen(part));
}

static size_t count_whole(const struct diff *diff)
{
	size_t count = 0, i;

	for (i = 0; i < diff->rows_count; i++)
		count += diff->rows[i].dimension == DIFF_MEMORY;
	return count;
}

static void compare_kinds(const struct kinds *kinds)
{
	struct string text = { 0 };
	struct diffs diffs;

	print_message("# %s\n", kinds->name);
	diffs_begin(&diffs);
	run_side(&diffs.a, kinds->a);
	run_side(&diffs.b, kinds->b);
	diffs_end(&diffs);
	assert_int_equal(diff_growth(diffs.diff).bytes, kinds->growth_mib * MIB);
	append_verdict(&text, diffs.diff);
	if (!says(&text, kinds->verdict))
		fail_msg("%s: %.*s", kinds->name, (int)text.length, text.bytes);
	assert_int_equal(count_whole(diffs.diff), kinds->whole);
	string_fini(&text);
	diffs_done(&diffs);
}

static void test_kinds(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		compare_kinds(&cases[i]);
}

/* What was held of both at the same time is not the sum of both peaks. */
static void test_a_peak_is_of_one_moment(void **state)
{
	static const struct block both[BLOCKS] = { { "cudaMalloc", 50 },
						   { "free", 0 },
						   { "cuMemCreate", 60 } };
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_side(&diffs.a, both);
	run_side(&diffs.b, both);
	diffs_end(&diffs);
	assert_int_equal(diff_peak_on_devices(&diffs.diff->pairs[0].a), 60 * MIB);
	assert_int_equal(diff_growth(diffs.diff).bytes, 0);
	diffs_done(&diffs);
}

/* ---- gates ----------------------------------------------------------------------------------- */

struct question {
	const char *condition;
	enum gate_outcome outcome;
	const char *text;
};

/* B allocates more, fails, and was recorded for a moment. */
static void test_gates(void **state)
{
	static const struct question questions[] = {
		{ "growth=16M", GATE_FAILED, "holds 16 MiB more device memory at the end" },
		{ "growth=17M", GATE_PASSED, "" },
		{ "oom", GATE_FAILED,
		  "oom in train (10) by cudaMalloc (8 MiB), which was not there" },
		{ "oom>=high", GATE_PASSED, "" },
		{ "leak", GATE_UNKNOWN,
		  "leak-growth could not be looked for in B: calls were made for less than leak-time" },
		{ "storm>=low", GATE_PASSED, "" },
		{ "new", GATE_FAILED, "not there before" },
		{ "any", GATE_FAILED, "more than noise" },
		{ "loss", GATE_PASSED, "" },
		{ "inexact", GATE_PASSED, "" },
	};
	struct string why = { 0 }, junit = { 0 }, github = { 0 };
	struct gate gate = { 0 };
	struct diffs diffs;
	size_t i;

	(void)state;
	diffs_begin(&diffs);
	run_side(&diffs.a, (const struct block[BLOCKS]){ { "cudaMalloc", 64 } });
	run_side(&diffs.b, (const struct block[BLOCKS]){ { "cudaMalloc", 80 } });
	add_of(&diffs.b, PID,
	       record_failed(2,
			     record_on(0, record_without(MS_KNOWN_ADDR,
							 record_alloc("cudaMalloc", 0, 8 * MIB)))));
	diffs_end(&diffs);
	for (i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		struct gate_result result;

		assert_int_equal(gate_add(&gate, questions[i].condition, ~0u, &why), 0);
		result = diff_judge(&gate.list[i], diffs.diff);
		string_clear(&why);
		diff_append_result(&why, &gate.list[i], diffs.diff, &result);
		if (result.outcome != questions[i].outcome || !says(&why, questions[i].text))
			fail_msg("%s: %d: %.*s", questions[i].condition, result.outcome,
				 (int)why.length, why.length ? why.bytes : "");
	}
	diff_junit(&junit, diffs.diff, &gate);
	assert_true(says(&junit, "tests=\"10\" failures=\"4\" errors=\"1\" skipped=\"0\""));
	diff_github(&github, diffs.diff, &gate);
	assert_true(
		says(&github, "::error title=memscope-bpf diff%3A growth=16M::train (10) holds"));
	string_fini(&junit);
	string_fini(&github);
	string_fini(&why);
	diffs_done(&diffs);
}

/* Children that were forked in B, and whether they used CUDA. */
static void test_what_is_not_known_is_not_exact(void **state)
{
	struct string why = { 0 };
	struct gate gate = { 0 };
	struct gate_result result;
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_side(&diffs.a, (const struct block[BLOCKS]){ { "cudaMalloc", 64 } });
	run_side(&diffs.b, (const struct block[BLOCKS]){ { "cudaMalloc", 64 } });
	diffs.b.dump.forks = "10 2 11 12";
	diffs_end(&diffs);
	assert_int_equal(gate_add(&gate, "inexact", ~0u, &why), 0);
	result = diff_judge(&gate.list[0], diffs.diff);
	diff_append_result(&why, &gate.list[0], diffs.diff, &result);
	assert_int_equal(result.outcome, GATE_FAILED);
	assert_true(says(&why, "whether they used CUDA is not known (record -f includes"
			       " children)"));
	string_fini(&why);
	diffs_done(&diffs);
}

/* As without -f, if the program does it all in a child. */
static void assert_growth_is_unknown(bool a_has_calls, const char *text)
{
	struct string why = { 0 };
	struct gate gate = { 0 };
	struct gate_result result;
	struct diffs diffs;

	diffs_begin(&diffs);
	add_process(&diffs.a, PID, "train");
	add_process(&diffs.b, PID, "train");
	if (a_has_calls)
		add_alloc(&diffs.a, PID, "cudaMalloc", MIB);
	diffs_end(&diffs);
	assert_int_equal(gate_add(&gate, "growth=16M", ~0u, &why), 0);
	result = diff_judge(&gate.list[0], diffs.diff);
	assert_int_equal(result.outcome, GATE_UNKNOWN);
	diff_append_result(&why, &gate.list[0], diffs.diff, &result);
	assert_true(says(&why, text));
	string_fini(&why);
	diffs_done(&diffs);
}

static void test_nothing_grows_where_nothing_was_recorded(void **state)
{
	(void)state;
	assert_growth_is_unknown(true, "growth could not be looked for: no call was recorded in B");
	assert_growth_is_unknown(false,
				 "growth could not be looked for: no call was recorded in A");
}

/* So many blocks, each after so many launches. */
static void run_leak(struct side *side, uint64_t bytes, int count, int launches)
{
	int i, j;

	add_process(side, PID, "train");
	for (i = 0; i < count; i++) {
		add_alloc(side, PID, "cudaMalloc", bytes);
		for (j = 0; j < launches; j++)
			add_of(side, PID, record_on(0, record_launch("cuLaunchKernel", 0x1234)));
		side->now_ns += 100000000 / (uint64_t)(launches + 1);
	}
}

static void assert_leak(const struct diffs *diffs, const char *word, enum gate_outcome outcome,
			const char *text)
{
	struct string why = { 0 };
	struct gate gate = { 0 };
	struct gate_result result;

	assert_int_equal(gate_add(&gate, word, ~0u, &why), 0);
	result = diff_judge(&gate.list[0], diffs->diff);
	assert_int_equal(result.outcome, outcome);
	if (outcome == GATE_FAILED)
		diff_append_result(&why, &gate.list[0], diffs->diff, &result);
	else
		diff_append_in_both(&why, &gate.list[0], diffs->diff);
	if (text)
		assert_true(says(&why, text));
	else
		assert_int_equal(why.length, 0);
	string_fini(&why);
}

/* A leak that was there before is not new, but it may be a larger one. */
static void test_a_leak_that_grew(void **state)
{
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_leak(&diffs.a, 2 * MIB, 200, 0);
	run_leak(&diffs.b, 3 * MIB, 200, 0);
	diffs_end(&diffs);
	assert_leak(&diffs, "oom", GATE_PASSED, NULL);
	assert_leak(
		&diffs, "leak>=low", GATE_PASSED,
		"and B not twice as much (for the same time and launches), so it is not counted: 400 MiB in A, 600 MiB in B;"
		" write growth=10M ");
	assert_leak(&diffs, "leak>=low", GATE_PASSED, "report --fail-on leak>=low for B alone");
	assert_false(diff_leaks_more(diffs.diff));
	diffs_done(&diffs);
}

static void test_a_leak_that_is_worse(void **state)
{
	struct verdict verdict;
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_leak(&diffs.a, MIB, 200, 0);
	run_leak(&diffs.b, 2 * MIB, 200, 0);
	diffs_end(&diffs);
	assert_leak(
		&diffs, "leak>=low", GATE_FAILED,
		"leak-growth in train (10) by cudaMalloc (400 MiB), 200 MiB before: at least twice"
		" as much for its time and work");
	assert_leak(&diffs, "leak-growth>=low", GATE_FAILED, "200 MiB before");
	assert_leak(&diffs, "oom", GATE_PASSED, NULL);
	assert_true(diff_leaks_more(diffs.diff));
	diff_verdict(&verdict, diffs.diff);
	assert_true(
		says(&verdict.sentences[0],
		     "Worse: leak-growth in train (10) by cudaMalloc (400 MiB), 200 MiB before."));
	verdict_fini(&verdict);
	diffs_done(&diffs);
}

/* The other way round, it is better. */
static void test_a_leak_that_is_less(void **state)
{
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_leak(&diffs.a, 5 * MIB, 200, 0);
	run_leak(&diffs.b, MIB, 200, 0);
	diffs_end(&diffs);
	assert_leak(&diffs, "leak>=low", GATE_PASSED, "1000 MiB in A, 200 MiB in B");
	assert_false(diff_leaks_more(diffs.diff));
	diffs_done(&diffs);
}

/* As much in as long, or for as many launches, is the same leak. */
static void test_a_leak_in_a_longer_run(void **state)
{
	struct diffs diffs;

	(void)state;
	diffs_begin(&diffs);
	run_leak(&diffs.a, MIB, 200, 0);
	run_leak(&diffs.b, MIB, 800, 0);
	diffs_end(&diffs);
	assert_leak(&diffs, "leak>=low", GATE_PASSED, "200 MiB in A, 800 MiB in B");
	diffs_done(&diffs);
	diffs_begin(&diffs);
	run_leak(&diffs.a, MIB, 200, 1);
	run_leak(&diffs.b, 4 * MIB, 200, 4);
	diffs_end(&diffs);
	assert_leak(&diffs, "leak>=low", GATE_PASSED, "200 MiB in A, 800 MiB in B");
	diffs_done(&diffs);
	/* Those of a warm-up say nothing of how much it works. */
	diffs_begin(&diffs);
	add_process(&diffs.a, PID, "train");
	add_of(&diffs.a, PID, record_on(0, record_launch("cuLaunchKernel", 0x1234)));
	run_leak(&diffs.a, MIB, 200, 0);
	run_leak(&diffs.b, 20 * MIB, 200, 30);
	diffs_end(&diffs);
	assert_leak(&diffs, "leak>=low", GATE_FAILED, "200 MiB before");
	diffs_done(&diffs);
}

/* What was wrong in A alone is no regression. */
static void test_what_is_gone_fails_no_gate(void **state)
{
	struct diff_finding finding = { .beyond = true, .presence = DIFF_GONE };
	const struct diff diff = { .findings = &finding, .findings_count = 1 };
	struct gate gate = { 0 };
	struct string why = { 0 };

	(void)state;
	assert_int_equal(gate_add(&gate, "any", ~0u, &why), 0);
	assert_true(diff_differs(&diff));
	assert_int_equal(diff_judge(&gate.list[0], &diff).outcome, GATE_PASSED);
	finding.presence = DIFF_NEW;
	assert_int_equal(diff_judge(&gate.list[0], &diff).outcome, GATE_FAILED);
	string_fini(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_gone_fails_no_gate),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_a_peak_is_of_one_moment),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_what_is_not_known_is_not_exact),
		cmocka_unit_test(test_nothing_grows_where_nothing_was_recorded),
		cmocka_unit_test(test_a_leak_that_grew),
		cmocka_unit_test(test_a_leak_that_is_worse),
		cmocka_unit_test(test_a_leak_that_is_less),
		cmocka_unit_test(test_a_leak_in_a_longer_run),
	};

	return unit_run("kinds of memory in diffs", tests);
}
