// SPDX-License-Identifier: BSD-2-Clause
/*
 * What --fail-on cannot know: what was left by whom it did not see, what NVML was not asked, and
 * what it says of that.
 */
#include "gated.h"

/* ---- programs -------------------------------------------------------------------------------- */

/* NVML is asked now and then, and the program is not. */
static void run_with_nvml(void)
{
	int i;

	take(64 * MIB);
	for (i = 0; i < 20; i++) {
		add(record_held("GPU-a", 70 * MIB));
		works(5);
	}
}

static void run_with_nvml_once(void)
{
	add(record_held("GPU-a", 70 * MIB));
	run_quiet();
}

static void run_growing_by_nvml(void)
{
	int i;

	take(64 * MIB);
	for (i = 0; i < 200; i++) {
		add(record_held("GPU-a", (70 + i) * MIB));
		works(1);
	}
}

static void ends(uint32_t status)
{
	add(record_exit(status));
}

#define KILLED 9 /* as wait() has it */

static void run_and_leave(void)
{
	take(MIB);
	exits();
}

static void run_late_start_of_nothing(void)
{
	works(3);
	exits();
}

static void run_and_leave_nothing(void)
{
	release(take(MIB));
	exits();
}

static void run_until_killed(void)
{
	take(MIB);
	ends(KILLED);
}

static union record of_another(union record record)
{
	return record_of(99, RECORD_START_NS + MS_START_NS, record);
}

/* A shell starts the program, calls nothing, and ends well. */
static void run_in_a_shell(void)
{
	add(of_another(record_process(MS_TYPE_ATTACH, "sh", 0)));
	run_until_killed();
	add(of_another(record_exit(0)));
}

/* What this one freed may not have been all. */
static void run_attached_late_and_free(void)
{
	add(record_attach_running());
	run_and_leave_nothing();
}

static void run_attached_late_and_launch(void)
{
	add(record_attach_running());
	works(3);
	exits();
}

static void run_attached_late_and_go_on(void)
{
	add(record_attach_running());
	release(take(MIB));
	add(of_another(alloc("cudaMalloc", 0x900000000, MIB)));
	add(of_another(record_free_begin(0x900000000)));
	add(of_another(record_free("cuMemFree_v2", 0x900000000)));
	add(of_another(record_exit(0)));
}

static void run_with_beginnings_alone(void)
{
	add(record_without(MS_KNOWN_RESULT | MS_KNOWN_ADDR, alloc("cudaMalloc", 0, MIB)));
	exits();
}

/* One that ended well, and one of which only that it ended is known. */
static void run_until_lost_sight_of(void)
{
	add(of_another(alloc("cudaMalloc", 0x900000000, 2 * MIB)));
	add(of_another(record_exit(MS_EXIT_UNKNOWN)));
	run_and_leave_nothing();
}

/* ---- what is asked of them ------------------------------------------------------------------- */

/* clang-format off */
static const struct question questions[] = {
	{ "what nothing explains", run_quiet, "unexplained-growth", UNKNOWN,
	  "neither a program nor NVML was asked how much memory is in use", { 0 }, NULL },
	{ "what nothing explains, by NVML", run_with_nvml, "unexplained-growth", PASSED, "", { 0 }, NULL },
	{ "the same without the driver's answers", run_with_nvml, "unexplained-growth", PASSED, "", { 0 },
	  "alloc,free,copy,memset,launch,sync,context" },
	{ "what nothing explains, by one answer", run_with_nvml_once, "unexplained-growth", UNKNOWN,
	  "neither a program nor NVML", { 0 }, NULL },
	{ "growth by NVML", run_growing_by_nvml, "unexplained-growth", FAILED,
	  " more, by NVML, that nothing explains (unexplained-growth; medium confidence)", { 0 }, NULL },
	{ "the room is not NVML's to say", run_with_nvml, "memory-pressure", UNKNOWN, "no program asked", { 0 }, NULL },
	{ "peak", run_and_leave_nothing, "peak=1M", FAILED, "1 MiB were held on ", { 0 }, NULL },
	{ "less than the peak", run_and_leave_nothing, "peak=2M", PASSED, "", { 0 }, NULL },
	{ "no peak", run_late_start_of_nothing, "peak=1", PASSED, "", { 0 }, NULL },
	{ "peak beside what was there before", run_attached_late_and_free, "peak=1G", UNKNOWN,
	  "it may have been more", { 0 }, NULL },
	{ "left", run_and_leave, "left", FAILED, "held 1 MiB of device memory when it ended", { 0 }, NULL },
	{ "left less", run_and_leave, "left=2M", PASSED, "", { 0 }, NULL },
	{ "nothing left", run_and_leave_nothing, "left", PASSED, "", { 0 }, NULL },
	{ "nothing left where nothing was taken", run_late_start_of_nothing, "left", PASSED, "", { 0 }, NULL },
	{ "killed, not left", run_until_killed, "left", UNKNOWN, "no process that allocated memory ended by itself", { 0 }, NULL },
	{ "killed in a shell", run_in_a_shell, "left", UNKNOWN, "no process that allocated memory ended by itself", { 0 }, NULL },
	{ "left of what was there before", run_attached_late_and_free, "left", UNKNOWN,
	  "before they were attached to", { 0 }, NULL },
	{ "the same without allocations", run_attached_late_and_launch, "left", UNKNOWN,
	  "before they were attached to", { 0 }, NULL },
	{ "what goes on has left nothing", run_attached_late_and_go_on, "left", PASSED, "", { 0 }, NULL },
	{ "left, with ends that were not seen", run_with_beginnings_alone, "left", UNKNOWN, "only the beginnings of calls", { 0 }, NULL },
	{ "left by one that went out of sight", run_until_lost_sight_of, "left", UNKNOWN,
	  "whether a process that held so much ended by itself is not known", { 0 }, NULL },
	{ "less left by one that went out of sight", run_until_lost_sight_of, "left=3M", PASSED, "", { 0 }, NULL },
};
/* clang-format on */

static void test_questions(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		ask(&questions[i]);
}

/* ---- what is said of it ---------------------------------------------------------------------- */

static void judge_of(const char *word, void (*run)(void), const char *ops, struct string *text)
{
	const struct report_options options = { .warmup = { .ns = 60 * SECOND },
						.growth_bytes = 1 };
	struct report_reader reader;
	struct gate_result result;
	struct gate gate = { 0 };

	add_word(&gate, word);
	reader = run_program(run, ops, &options);
	result = gate_judge(&gate.list[0], &reader.report, reader.report.recordings[0]);
	string_clear(text);
	gate_append_result(text, &gate.list[0], reader.report.recordings[0], &result);
	assert_int_equal(result.outcome, GATE_UNKNOWN);
	done(&reader);
}

/* One that goes on for long, but does nothing, is not what was too short. */
static void run_with_a_parent(void)
{
	const uint64_t start_ns = RECORD_START_NS + MS_START_NS;

	add(record_of(99, start_ns, record_process(MS_TYPE_ATTACH, "parent", 0)));
	run_a_moment();
	add(record_exit(0));
	now_ns += 5 * SECOND;
	add(record_of(99, start_ns, record_exit(0)));
}

/* Figures say how much too little there was, where there was too little. */
static void test_figures_of_what_was_too_short(void **state)
{
	static const struct {
		const char *word, *end;
		void (*run)(void);
		const char *ops;
	} cases[] = {
		{ "leak-growth", "; leak-time is 1 s)", run_a_moment, NULL },
		{ "leak-growth", " ms; leak-time is 1 s)", run_with_a_parent, NULL },
		{ "sync-bound", "; bound-time is 1 s)", run_a_moment, NULL },
		{ "launch-bound", "; bound-time is 1 s)", run_a_moment, NULL },
		{ "growth=1", "; --warmup is 1m00s)", run_quiet, NULL },
		{ "launch-bound", "launches were not captured", run_quiet, "alloc,free,copy,sync" },
		{ "host-bound", "launches were not captured", run_quiet, "alloc,free,copy,sync" },
		{ "growth=1", "frees were not captured", run_quiet, "alloc,launch,sync" },
	};
	struct string text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const size_t length = strlen(cases[i].end);

		judge_of(cases[i].word, cases[i].run, cases[i].ops, &text);
		if (text.length < length ||
		    memcmp(text.bytes + text.length - length, cases[i].end, length) != 0)
			fail_msg("%.*s", (int)text.length, text.bytes);
	}
	string_fini(&text);
}

static void assert_checked(const struct report_options *selected, uint64_t unknown,
			   const char *wanted)
{
	struct report_options options = *selected;
	struct report_reader reader;
	struct gate gate = { 0 };
	struct string text = { 0 };

	add_word(&gate, "leak");
	add_word(&gate, "oom");
	add_word(&gate, "loss");
	reader = run_program(run_with_a_helper, NULL, &options);
	gate_append_checked(&text, &gate, unknown, &reader.report);
	if (!has(&text, wanted))
		fail_msg("%.*s", (int)text.length, text.bytes);
	string_fini(&text);
	done(&reader);
}

/* No other process is in NVML's number. */
static void test_what_to_do_about_growth_by_nvml(void **state)
{
	const struct report_options options = { 0 };
	struct report_reader reader = run_program(run_growing_by_nvml, NULL, &options);
	const struct report_recording *recording = reader.report.recordings[0];
	const char *text = report_suggestion(recording, FINDING_UNEXPLAINED_GROWTH, 0);

	(void)state;
	assert_non_null(strstr(text, "a library's workspaces."));
	assert_null(strstr(text, "-a"));
	assert_null(report_suggestion(recording, FINDING_UNEXPLAINED_GROWTH, 1));
	done(&reader);
}

/* Calls are those of the processes that were asked for. */
static void test_what_was_checked(void **state)
{
	const struct report_options all = { 0 }, helper = { .pids = { 99 }, .pids_count = 1 };

	(void)state;
	assert_checked(&all, 0, "checked leak, oom, loss in 602 calls of 2 processes, ");
	assert_checked(&helper, 0, "checked leak, oom, loss in 1 call of 1 process, ");
	assert_checked(&all, 1, "checked oom, loss in ");
	assert_checked(&all, 2, "checked leak, loss in ");
	assert_checked(&all, 7, "no condition could be checked in 602 calls of 2 processes, ");
}

/* ---- peaks ----------------------------------------------------------------------------------- */

/* Three megabytes are held together, one of them by another process. */
static void run_two_at_a_time(void)
{
	add(of_another(record_process(MS_TYPE_ATTACH, "helper", 0)));
	add(of_another(alloc("cudaMalloc", 0x900000000, MIB)));
	take(2 * MIB);
	exits();
	add(of_another(record_exit(0)));
}

static void run_nothing(void)
{
}

/* Two megabytes at a time, one of them by another kind of call. */
static void run_two_kinds(void)
{
	take(MIB);
	add(alloc("cudaMallocAsync", 0x900000000, MIB));
	exits();
}

/* What is managed may be on the host. */
static void run_managed_beside_it(void)
{
	take(MIB);
	add(alloc("cudaMallocManaged", 0x900000000, MIB));
	exits();
}

static void run_two_where_one_was_running(void)
{
	add(of_another(record_process(MS_TYPE_ATTACH, "helper", MS_ATTACH_RUNNING)));
	add(of_another(alloc("cudaMalloc", 0x900000000, MIB)));
	take(2 * MIB);
	exits();
}

struct peak_question {
	const char *name;
	void (*run)(void);
	uint32_t pids[2]; /* 0: none */
	const char *condition;
	enum gate_outcome outcome;
	const char *text;
	uint64_t missed, untraced;
	int32_t device; /* asked for, + 1; 0: all */
	const char *ops;
};

#define NOT_RECORDED \
	"peak of that size could not be looked for: processes that use the GPU were not"

static const struct peak_question peaks[] = {
	{ .name = "all",
	  .run = run_two_at_a_time,
	  .condition = "peak=3M",
	  .outcome = FAILED,
	  .text = "3 MiB were held on " },
	{ .name = "one of two",
	  .run = run_two_at_a_time,
	  .pids = { 99 },
	  .condition = "peak=1M",
	  .outcome = FAILED,
	  .text = "helper (99) held 1 MiB of device memory at " },
	{ .name = "less than that",
	  .run = run_two_at_a_time,
	  .pids = { 99 },
	  .condition = "peak=2M",
	  .outcome = PASSED },
	{ .name = "both, each by itself",
	  .run = run_two_at_a_time,
	  .pids = { 99, RECORD_PID },
	  .condition = "peak=3M",
	  .outcome = PASSED },
	{ .name = "both",
	  .run = run_two_at_a_time,
	  .pids = { 99, RECORD_PID },
	  .condition = "peak=1M",
	  .outcome = FAILED,
	  .text = ", and 1 more held so much" },
	{ .name = "the higher one",
	  .run = run_two_at_a_time,
	  .pids = { 99, RECORD_PID },
	  .condition = "peak=1M",
	  .outcome = FAILED,
	  .text = " held 2 MiB of " },
	{ .name = "kinds together",
	  .run = run_two_kinds,
	  .pids = { RECORD_PID },
	  .condition = "peak=2M",
	  .outcome = FAILED,
	  .text = " held 2 MiB of " },
	{ .name = "managed memory is none of it",
	  .run = run_managed_beside_it,
	  .pids = { RECORD_PID },
	  .condition = "peak=2M",
	  .outcome = PASSED },
	{ .name = "another was running",
	  .run = run_two_where_one_was_running,
	  .pids = { RECORD_PID },
	  .condition = "peak=3M",
	  .outcome = PASSED },
	{ .name = "it was running",
	  .run = run_two_where_one_was_running,
	  .pids = { 99 },
	  .condition = "peak=3M",
	  .outcome = UNKNOWN,
	  .text = "it may have been more" },
	{ .name = "one of two on another device",
	  .run = run_two_at_a_time,
	  .pids = { 99 },
	  .condition = "peak=1M",
	  .outcome = UNKNOWN,
	  .text = "that --device names",
	  .device = 8 },
	{ .name = "less, wherever",
	  .run = run_two_at_a_time,
	  .pids = { 99 },
	  .condition = "peak=2M",
	  .outcome = PASSED,
	  .device = 8 },
	{ .name = "nothing was recorded",
	  .run = run_nothing,
	  .condition = "peak=1",
	  .outcome = UNKNOWN,
	  .text = "no call was recorded" },
	{ .name = "no allocations",
	  .run = run_and_leave_nothing,
	  .condition = "peak=1G",
	  .outcome = UNKNOWN,
	  .text = "allocations were not captured",
	  .ops = "launch,sync" },
	{ .name = "missed",
	  .run = run_two_at_a_time,
	  .condition = "peak=4M",
	  .outcome = UNKNOWN,
	  .text = NOT_RECORDED,
	  .missed = 1 },
	{ .name = "untraced",
	  .run = run_two_at_a_time,
	  .condition = "peak=4M",
	  .outcome = UNKNOWN,
	  .text = NOT_RECORDED,
	  .untraced = 1 },
	{ .name = "missed beside it",
	  .run = run_two_at_a_time,
	  .pids = { 99 },
	  .condition = "peak=2M",
	  .outcome = PASSED,
	  .missed = 1 },
	{ .name = "missed, and one of them is not there",
	  .run = run_two_at_a_time,
	  .pids = { 99, 98 },
	  .condition = "peak=2M",
	  .outcome = UNKNOWN,
	  .text = NOT_RECORDED,
	  .missed = 1 },
};

static void ask_peak(const struct peak_question *question)
{
	struct report_options options = { 0 };
	struct report_recording *recording;
	struct report_reader reader;
	struct gate_result result;
	struct string text = { 0 };
	struct gate gate = { 0 };

	for (; options.pids_count < 2 && question->pids[options.pids_count]; options.pids_count++)
		options.pids[options.pids_count] = question->pids[options.pids_count];
	add_word(&gate, question->condition);
	reader = run_program(question->run, question->ops, &options);
	recording = reader.report.recordings[0];
	recording->coverage.missed_processes = question->missed;
	recording->coverage.untraced = question->untraced;
	recording->options.device = question->device - 1;
	result = gate_judge(&gate.list[0], &reader.report, recording);
	gate_append_result(&text, &gate.list[0], recording, &result);
	if (result.outcome != question->outcome || (question->text && !has(&text, question->text)))
		fail_msg("%s: outcome %d: %.*s", question->name, result.outcome, (int)text.length,
			 text.length ? text.bytes : "");
	string_fini(&text);
	done(&reader);
}

/* Of chosen processes, the peak is judged of each by itself. */
static void test_peaks(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(peaks) / sizeof(*peaks); i++)
		ask_peak(&peaks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_peaks),
		cmocka_unit_test(test_figures_of_what_was_too_short),
		cmocka_unit_test(test_what_was_checked),
		cmocka_unit_test(test_what_to_do_about_growth_by_nvml),
	};

	return unit_run("gate: what is not known", tests);
}
