// SPDX-License-Identifier: BSD-2-Clause
/*
 * What --fail-on asks for, held against runs of programs: what fails, what passes, and what could
 * not be looked at.
 */
#include "gated.h"

#define NO_LAUNCHES "alloc,free,copy,memset,sync,memory,context"

/* ---- programs -------------------------------------------------------------------------------- */

static void run_leak(void)
{
	int i;

	add(record_process(MS_TYPE_ATTACH, "program", 0));
	for (i = 0; i < 200; i++) {
		take(MIB);
		work();
	}
}

static void run_host_leak(void)
{
	int i;

	for (i = 0; i < 200; i++) {
		next_addr += 64 * MIB;
		add(record_on(0, alloc("cudaMallocHost", next_addr, MIB)));
		work();
	}
}

static void run_short_leak(void)
{
	int i;

	for (i = 0; i < 40; i++) {
		take(MIB);
		work();
	}
}

/* What it has, it takes in a moment; it sleeps for far longer than leak-time then. */
static void run_burst_and_sleep(void)
{
	int i;

	for (i = 0; i < 20; i++)
		take(3 * MIB);
	now_ns += 20 * SECOND;
	exits();
}

/* As if it were loading. */
static void run_leak_without_launches(void)
{
	int i;

	for (i = 0; i < 200; i++) {
		take(MIB);
		now_ns += 99 * MILLISECOND;
	}
}

static void run_lossy(void)
{
	run_quiet();
	add(record_account(MS_OP_FREE, 100, 3));
}

static void run_failure(void)
{
	take(MIB);
	add(record_failed(2, record_without(MS_KNOWN_ADDR, alloc("cudaMalloc", 0, 999 * MIB))));
	works(20);
}

/* The same, and then it is granted. */
static void run_recovery(void)
{
	uint64_t addr = take(900 * MIB);

	add(record_failed(2, record_without(MS_KNOWN_ADDR, alloc("cudaMalloc", 0, 999 * MIB))));
	release(addr);
	take(999 * MIB);
	works(30);
	exits();
}

/* Importing takes most of the time; what follows is set up at once, and then grows. */
static void run_late_start(void)
{
	int i;

	works(300);
	take(100 * MIB);
	for (i = 0; i < 5; i++) {
		works(10);
		take(2 * MIB);
	}
	works(10);
}

/* The same without growth. */
static void run_late_start_alone(void)
{
	works(300);
	take(100 * MIB);
	works(60);
}

static void run_nothing(void)
{
	add(record_process(MS_TYPE_ATTACH, "idle", 0));
}

static void run_and_exit(void)
{
	run_quiet();
	exits();
}

static void run_and_forget(void)
{
	uint64_t addrs[20];
	int i;

	for (i = 0; i < 20; i++)
		addrs[i] = take(MIB);
	works(100);
	add(alloc("cudaMallocManaged", 0x900000000, 30 * MIB));
	works(100);
	for (i = 0; i < 20; i++)
		release(addrs[i]);
	exits();
}

static void run_attached_late(void)
{
	add(record_attach_running());
	run_and_exit();
}

/* ---- what is asked of them ------------------------------------------------------------------- */

/* clang-format off */
static const struct question questions[] = {
	{ "a leak", run_leak, "leak", FAILED, "leaves 200 MiB behind: 200 allocations in 20 s (leak-growth, cudaMalloc", { 0 }, NULL },
	{ "a leak of host memory", run_host_leak, "leak", FAILED,
	  "(leak-growth, cudaMallocHost, page-locked host memory; high confidence)", { 0 }, NULL },
	{ "a leak, surely", run_leak, "leak>=high", FAILED, "high confidence", { 0 }, NULL },
	{ "a leak, by its rule", run_leak, "leak-growth>=medium", FAILED, "leak-growth", { 0 }, NULL },
	{ "a leak is no failure", run_leak, "oom", PASSED, "", { 0 }, NULL },
	{ "a leak for a short time", run_short_leak, "leak", FAILED, "medium confidence", { 0 }, NULL },
	{ "a leak for a short time, surely", run_short_leak, "leak-growth>=high", UNKNOWN,
	  "leak-growth could not be looked for: calls were made for less than ten times leak-time", { 0 }, NULL },
	{ "a leak while it loads", run_leak_without_launches, "leak", PASSED, "", { 0 }, NULL },
	{ "a leak while it loads, if that counts", run_leak_without_launches, "leak-growth>=low", FAILED,
	  "low confidence", { 0 }, NULL },
	{ "a leak without launches", run_leak_without_launches, "leak", UNKNOWN,
	  "launches were not captured", { 0 }, NO_LAUNCHES },
	{ "nothing", run_quiet, "leak", PASSED, "", { 0 }, NULL },
	{ "nothing, surely", run_quiet, "leak>=high", PASSED, "", { 0 }, NULL },
	{ "a moment", run_a_moment, "leak", UNKNOWN, "calls were made for less than leak-time", { 0 }, NULL },
	{ "a burst, and a sleep", run_burst_and_sleep, "leak", UNKNOWN, "calls were made for less than leak-time (", { 0 }, NULL },
	{ "a burst, and a sleep, of what is left", run_burst_and_sleep, "leak-at-exit", UNKNOWN,
	  "calls were made for less than leak-time by each process that left memory (", { 0 }, NULL },
	{ "a moment, of bottlenecks", run_a_moment, "bottleneck>=low", UNKNOWN,
	  "sync-bound could not be looked for: less time was recorded than bound-time", { 0 }, NULL },
	{ "bottlenecks, and nobody asked for the room", run_quiet, "bottleneck", PASSED, "", { 0 }, NULL },
	{ "the room by its name", run_quiet, "memory-pressure", UNKNOWN, "no program asked", { 0 }, NULL },
	{ "GPU times by their name", run_quiet, "gpu-idle", UNKNOWN, "record with --gpu-time", { 0 }, NULL },
	{ "blocks by the rule's name", run_quiet, "fragmentation", UNKNOWN, "record PyTorch, TensorFlow or JAX with --tensors=sites", { 0 }, NULL },
	{ "and by its topic", run_quiet, "kept", PASSED, "", { 0 }, NULL },
	{ "frees were lost", run_lossy, "leak", UNKNOWN, "frees were lost", { 0 }, NULL },
	{ "what was lost", run_lossy, "loss", FAILED, "the recording lacks something", { 0 }, NULL },
	{ "so it is not exact", run_lossy, "inexact", FAILED, "the numbers are not exact", { 0 }, NULL },
	{ "frees were not captured", run_quiet, "leak", UNKNOWN, "frees were not captured", { 0 },
	  "alloc,launch,sync,memory,context" },
	{ "copies were not captured", run_quiet, "pageable-copies>=low", UNKNOWN,
	  "copies were not captured", { 0 }, "alloc,free,launch,sync,memory,context" },
	{ "nothing failed", run_quiet, "failed-calls", PASSED, "", { 0 }, NULL },
	{ "copies that fail were not captured", run_quiet, "failed-calls", UNKNOWN,
	  "copies were not captured", { 0 }, "alloc,free,launch,memset,sync,memory,context" },
	{ "launches that fail were not captured", run_quiet, "failed-calls", UNKNOWN,
	  "launches were not captured", { 0 }, "alloc,free,copy,memset,sync,memory,context" },
	{ "a failure", run_failure, "oom", FAILED, "ran out of memory when it asked for 999 MiB (oom, cudaMalloc", { 0 }, NULL },
	{ "a failure that was recovered from", run_recovery, "oom", PASSED, "", { 0 }, NULL },
	{ "the same, if that counts", run_recovery, "oom=any", FAILED, "999 MiB", { 0 }, NULL },
	{ "a failure that may not matter", run_failure, "oom=any", FAILED, "999 MiB", { 0 }, NULL },
	{ "growth after a late start", run_late_start, "growth=10M", FAILED,
	  "holds 10 MiB more device memory than after its initialisation: 100 MiB then, 110 MiB at the end"
	  " (growth; medium confidence)", { 0 }, NULL },
	{ "growth of less", run_late_start, "growth=10241K", PASSED, "", { 0 }, NULL },
	{ "no growth after a late start", run_late_start_alone, "growth=1", PASSED, "", { 0 }, NULL },
	{ "growth after a time", run_late_start, "growth=1", FAILED, "6 MiB more device memory", { .ns = 2 * SECOND + 500 * MILLISECOND }, NULL },
	{ "growth after a time that it does not run for", run_late_start, "growth=1", UNKNOWN,
	  "no process went on for long enough after its initialisation", { .ns = 60 * SECOND }, NULL },
	{ "growth after some allocations", run_late_start, "growth=1", FAILED,
	  "8 MiB more device memory than after its initialisation: 102 MiB then, 110 MiB", { .allocs = 2 }, NULL },
	{ "growth after more than there are", run_late_start, "growth=1", UNKNOWN,
	  "no process went on for long enough", { .allocs = 7 }, NULL },
	{ "growth beside one that ends at once", run_with_a_helper, "growth=64M", PASSED, "", { 0 }, NULL },
	{ "a leak beside one that ends at once", run_with_a_helper, "leak", PASSED, "", { 0 }, NULL },
	{ "nothing was called", run_nothing, "leak", UNKNOWN, "no call was recorded", { 0 }, NULL },
	{ "nothing was called, which is asked for", run_nothing, "empty", FAILED, "no call was recorded", { 0 }, NULL },
	{ "nothing was called, and nothing lost", run_nothing, "loss", PASSED, "", { 0 }, NULL },
	{ "forgotten at the end", run_and_forget, "leak-at-exit", FAILED, "leak-at-exit, cudaMallocManaged", { 0 }, NULL },
	{ "forgotten at the end is a leak", run_and_forget, "leak", FAILED, "leak-at-exit, cudaMallocManaged", { 0 }, NULL },
	{ "it goes on", run_quiet, "leak-at-exit", UNKNOWN, "no process ended by itself", { 0 }, NULL },
	{ "it goes on, of all leaks", run_quiet, "leak>=low", PASSED, "", { 0 }, NULL },
	{ "it was attached to late", run_attached_late, "leak-at-exit", UNKNOWN, "before they were attached to", { 0 }, NULL },
	{ "it was attached to late, and does not grow", run_attached_late, "leak", PASSED, "", { 0 }, NULL },
	{ "a window that nobody gave", run_quiet, "leak-window", UNKNOWN, "no window was given", { 0 }, NULL },
};
/* clang-format on */

static void test_questions(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		ask(&questions[i]);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void test_words_that_are_none(void **state)
{
	static const struct {
		const char *word, *why;
	} cases[] = {
		{ "fire",
		  "\"fire\" is not one of growth=SIZE, leak, oom, oom=any, loss, inexact," },
		{ "", "\"\" is not one of" },
		{ "leak>=sure", "\"sure\" is not low, medium or high" },
		{ "leak>=", "\"\" is not low, medium or high" },
		{ "leak=1", "leak has no size" },
		{ "leak-growt", "there is no condition \"leak-growt\"; did you mean leak-growth?" },
		{ "leaks", "did you mean leak (a finding that it leaks, which takes leak-time)?" },
		{ "left=1M",
		  "what is left is looked for in one recording" }, /* of a report alone */
		{ "growth", "write growth=10M" },
		{ "peak>1G", "report --fail-on peak=1G B" }, /* of a report alone */
		{ "slow=10%",
		  "\"slow=10%\" is none: times are not judged, as they depend on the machine and"
		  " its other work; see the table of rates and times in what diff writes" },
		{ "time", "times are not judged" },
		{ "timer", "\"timer\" is not one of" },
		{ "all", "write leak,oom,loss" },
		{ "al", "\"al\" is not one of" },
		{ "growth>=low", "write growth=10M" },
		{ "growth=0", "growth by 0 is none" },
		{ "growth=x", "\"x\" is not a size" },
		{ "growth=10%",
		  "\"10%\" is a percentage, and growth takes bytes; write growth=64M" },
		{ "unknown=fail", " is not one of " },
		{ "new", "\"new\" is not one of" }, /* of a diff alone */
		{ "loss>=high", " is not one of " },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gate gate = { 0 };
		struct string why = { 0 };

		assert_int_not_equal(gate_add(&gate, cases[i].word, GATED_KINDS, &why), 0);
		if (!has(&why, cases[i].why))
			fail_msg("%s: %.*s", cases[i].word, (int)why.length, why.bytes);
		assert_int_equal(gate.count, 0);
		string_fini(&why);
	}
}

static void test_every_rule_and_topic_is_a_word(void **state)
{
	enum finding_topic topic;
	enum finding_rule rule;

	(void)state;
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		struct gate gate = { 0 };

		if (rule == FINDING_GROWTH)
			continue;
		add_word(&gate, finding_rule_name(rule));
		assert_true(gate.list[0].rules >> rule & 1);
	}
	for (topic = 0; topic < FINDING_TOPICS_COUNT; topic++) {
		struct gate gate = { 0 };
		char word[40];

		snprintf(word, sizeof(word), "%s>=low", finding_topic_name(topic));
		add_word(&gate, word);
		assert_true(gate.list[0].rules);
		assert_int_equal(gate.list[0].least, FINDING_LOW);
	}
}

static void test_there_is_an_end_to_conditions(void **state)
{
	struct gate gate = { 0 };
	struct string why = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < GATE_CONDITIONS; i++)
		add_word(&gate, "leak");
	assert_int_not_equal(gate_add(&gate, "leak", GATED_KINDS, &why), 0);
	string_fini(&why);
}

static void test_the_smallest_growth_is_looked_for(void **state)
{
	struct gate gate = { 0 };

	(void)state;
	add_word(&gate, "growth=1G");
	add_word(&gate, "growth=64K");
	add_word(&gate, "growth=1M");
	add_word(&gate, "unknown=pass");
	assert_int_equal(gate_growth_bytes(&gate), 64 << 10);
	assert_int_equal(gate.count, 3);
	assert_true(gate.unknown_passes);
}

/* ---- suppressions ---------------------------------------------------------------------------- */

struct lines {
	const char *text;
	size_t suppressed; /* of the findings of run_leak() and run_failure() */
	const char *why;   /* it is refused; NULL: it is not */
};

static void refuse(const struct lines *lines)
{
	struct suppressions suppressions = { 0 };
	struct string why = { 0 };

	assert_int_equal(suppressions_parse(&suppressions, lines->text, strlen(lines->text), &why),
			 -EINVAL);
	if (!has(&why, lines->why))
		fail_msg("%.*s", (int)why.length, why.bytes);
	suppressions_fini(&suppressions);
	string_fini(&why);
}

static void suppress(const struct lines *lines)
{
	struct suppressions suppressions = { 0 };
	const struct report_options options = { .suppressions = &suppressions };
	const struct report_recording *recording;
	struct report_reader reader;
	struct gate gate = { 0 };
	struct string why = { 0 };
	uint64_t used = 0;
	size_t i;

	assert_int_equal(suppressions_parse(&suppressions, lines->text, strlen(lines->text), &why),
			 0);
	reader = run_program(run_leak, NULL, &options);
	recording = reader.report.recordings[0];
	for (i = 0; i < suppressions.count; i++)
		used += suppressions.list[i].used;
	if (recording->suppressed != lines->suppressed || used != lines->suppressed)
		fail_msg("\"%s\": %zu", lines->text, recording->suppressed);
	assert_int_equal(recording->findings_count, 1 - lines->suppressed);
	add_word(&gate, "leak");
	assert_int_equal(gate_judge(&gate.list[0], &reader.report, recording).outcome,
			 lines->suppressed ? GATE_PASSED : GATE_FAILED);
	done(&reader);
	suppressions_fini(&suppressions);
	string_fini(&why);
}

static void test_suppressions(void **state)
{
	static const struct lines cases[] = {
		{ "", 0, NULL },
		{ "\n\n# nothing\n   # nothing\n", 0, NULL },
		{ "leak-growth", 1, NULL },
		{ "leak-growth * cudaMalloc # known", 1, NULL },
		{ "leak-growth\tprogra?\tcuda*\r\n", 1, NULL },
		{ "leak", 1, NULL },
		{ "*", 1, NULL },
		{ "oom\nleak-* prog*\n", 1, NULL },
		{ "leak-growth other\n", 0, NULL },
		{ "leak-growth * cuMem*\n", 0, NULL },
		{ "oom", 0, NULL },
		{ "leek-growth", 0, "line 1: there is no rule \"leek-growth\"" },
		{ "oom\n\nleak a b c d\n", 0,
		  "line 3: it takes a rule, a process, a function and a frame, not also \"d\"" },
		{ "oom\nleak \1\n", 0, "line 2: it is not text" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (cases[i].why)
			refuse(&cases[i]);
		else
			suppress(&cases[i]);
}

/* The number of a failure is the report's, and what looks for it counts no match. */
static void test_the_number_of_a_failure(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct suppressions suppressions = { 0 };
	struct string why = { 0 };
	uint64_t failed_ns;

	(void)state;
	assert_int_equal(suppressions_parse(&suppressions, "oom * cudaMalloc", 16, &why), 0);
	begin();
	add(record_failed(2, record_without(MS_KNOWN_ADDR, alloc("cudaMalloc", 0, MIB))));
	now_ns += 60 * SECOND;
	add(record_failed(2, record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, MIB))));
	failed_ns = now_ns;
	work();
	report_dump_end(&dump, now_ns);
	reader.until = (struct report_time){ .kind = REPORT_TIME_OOM, .number = 1 };
	reader.report.options.suppressions = &suppressions;
	report_dump_read(&dump, &reader);
	assert_int_equal(reader.report.recordings[0]->coverage.until_ns, failed_ns);
	assert_int_equal(suppressions.list[0].used, 1);
	done(&reader);
	suppressions_fini(&suppressions);
	string_fini(&why);
}

/* A failure that is known is not described, either. */
static void test_a_suppressed_failure(void **state)
{
	struct suppressions suppressions = { 0 };
	const struct report_options options = { .suppressions = &suppressions };
	struct report_reader reader;
	struct string why = { 0 };

	(void)state;
	assert_int_equal(suppressions_parse(&suppressions, "oom", 3, &why), 0);
	reader = run_program(run_failure, NULL, &options);
	assert_int_equal(reader.report.recordings[0]->ooms_count, 0);
	assert_int_equal(reader.report.recordings[0]->suppressed, 1);
	done(&reader);
	suppressions_fini(&suppressions);
	string_fini(&why);
}

/* ---- what was left, beside "nothing was found" ----------------------------------------------- */

static void run_leak_without_launches_to_the_end(void)
{
	run_leak_without_launches();
	exits();
}

static void assert_unfreed(void (*run)(void), const char *ops, const char *word, const char *wanted)
{
	const struct report_options options = { 0 };
	struct report_reader reader;
	struct gate gate = { 0 };
	struct string text = { 0 };

	add_word(&gate, word);
	reader = run_program(run, ops, &options);
	gate_append_unfreed(&text, &gate, &reader.report);
	string_append_char(&text, '\0');
	assert_string_equal(text.bytes, wanted);
	string_fini(&text);
	done(&reader);
}

#define UNFREED(size, sure) \
	"; " size " had not been freed when processes ended, which no rule that was asked for" \
	" calls a leak" sure ": report --fail-on left=SIZE fails for that"

/* A rule that has too little confidence does call it a leak. */
static void test_what_was_not_freed(void **state)
{
	void (*const leak)(void) = run_leak_without_launches_to_the_end;

	(void)state;
	assert_unfreed(run_and_exit, NULL, "leak", UNFREED("64 MiB", ""));
	assert_unfreed(run_and_exit, NULL, "oom", "");
	assert_unfreed(run_and_exit, NULL, "growth=1", "");
	assert_unfreed(leak, NO_LAUNCHES, "leak-growth",
		       UNFREED("200 MiB", " with enough confidence"));
	assert_unfreed(leak, NO_LAUNCHES, "leak", UNFREED("200 MiB", " with enough confidence"));
	/* What is doubtful there is no leak that was asked for. */
	assert_unfreed(leak, NO_LAUNCHES, "unexplained-growth", UNFREED("200 MiB", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_words_that_are_none),
		cmocka_unit_test(test_every_rule_and_topic_is_a_word),
		cmocka_unit_test(test_there_is_an_end_to_conditions),
		cmocka_unit_test(test_the_smallest_growth_is_looked_for),
		cmocka_unit_test(test_suppressions),
		cmocka_unit_test(test_the_number_of_a_failure),
		cmocka_unit_test(test_a_suppressed_failure),
		cmocka_unit_test(test_what_was_not_freed),
	};

	return unit_run("gate", tests);
}
