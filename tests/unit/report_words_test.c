// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says first, and that it says no more than it can know.
 */
#include "reported.h"

#include "ledger/limits.h"
#include "render/report_json.h"
#include "render/report_md.h"
#include "render/report_words.h"

static union record failed(uint64_t size)
{
	return record_failed(2, record_without(MS_KNOWN_ADDR, alloc("cudaMalloc", 0, size)));
}

/* All of the report is in the texts. */
struct texts_of {
	struct string md, json;
};

static struct texts_of render(const struct report_reader *reader)
{
	struct texts_of texts = { 0 };

	report_md(&texts.md, &reader->report, false, true);
	report_json(&texts.json, &reader->report);
	assert_false(texts.md.failed || texts.json.failed);
	return texts;
}

#define assert_has(string, text) \
	do { \
		if (!has(string, text)) \
			fail_msg("no \"%s\" in:\n%.*s", text, (int)(string)->length, \
				 (string)->bytes); \
	} while (0)

#define assert_has_not(string, text) \
	do { \
		if (has(string, text)) \
			fail_msg("\"%s\" in:\n%.*s", text, (int)(string)->length, \
				 (string)->bytes); \
	} while (0)

static struct texts_of end_with(struct report_reader *reader)
{
	report_dump_end(&dump, now_ns);
	report_dump_read(&dump, reader);
	return render(reader);
}

static void done_with(struct report_reader *reader, struct texts_of *texts)
{
	string_fini(&texts->md);
	string_fini(&texts->json);
	done(reader);
}

/* ---- what was looked for --------------------------------------------------------------------- */

static void test_what_cannot_be_seen_is_not_said_to_be_absent(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin_as(REPORT_DUMP_OPS, "summary", NULL);
	add(alloc("cudaMalloc", 0x1000, 300));
	now_ns += 2 * SECOND;
	add(alloc("cudaMalloc", 0x2000, 300));
	texts = end_with(&reader);
	assert_has(&texts.md, "no churn. Not looked for: leak-at-exit, unexplained-growth,"
			      " redundant-copies, memory-pressure.");
	assert_has(
		&texts.md,
		"Not looked for: leak-at-exit (no process ended by itself in that"
		" time); unexplained-growth (neither a program nor NVML was asked how much memory is in use).");
	assert_has(&texts.md, "Not looked for: memory-pressure (no program asked how much memory"
			      " is free).");
	assert_has(&texts.md, "Not looked for: redundant-copies (copies were summed up: record with"
			      " --copies=all).");
	assert_has(&texts.json, "\"not_looked_for\":[{\"rule\":\"leak-at-exit\",");
	assert_has(&texts.json, "{\"rule\":\"redundant-copies\",");
	done_with(&reader, &texts);
}

static void test_everything_was_looked_for(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin_as(REPORT_DUMP_OPS, "all", "summary"); /* but there are no launches */
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_on(0, record_from(MIB, record_alloc("cuMemGetInfo_v2", 0, MIB))));
	now_ns += 2 * SECOND;
	add(alloc("cudaMalloc", 0x2000, 300));
	add(record_exit(0));
	texts = end_with(&reader);
	assert_has_not(&texts.md, "Not looked for");
	assert_has(&texts.md, "no copy that could be avoided or made faster, no bottleneck.");
	assert_has(&texts.json, "\"not_looked_for\":[],");
	done_with(&reader, &texts);
}

static void test_launches_that_were_counted(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin_as(REPORT_DUMP_OPS, "all", "summary");
	add(record_launches("cuLaunchKernel", 0x1234, 9));
	texts = end_with(&reader);
	assert_has(&texts.md, "redundant-copies (launches were only counted: record with"
			      " --launches=all)");
	/* And there was no time for the others. */
	assert_has(&texts.md,
		   "Not looked for: sync-bound, copy-bound, alloc-bound, launch-bound, host-bound,"
		   " input-bound, cpu-contention, host-memory-pressure (less"
		   " time was recorded than bound-time); memory-pressure (no program asked");
	assert_has_not(&texts.md, "no churn, no bottleneck");
	done_with(&reader, &texts);
}

/* ---- what is exact --------------------------------------------------------------------------- */

static void test_exact(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	texts = end_with(&reader);
	assert_has(&texts.md, "Nothing was lost: the numbers are exact.");
	assert_has(&texts.json, "\"live_is_exact\":true");
	assert_true(report_all_is_exact(&reader.report));
	assert_false(report_has_losses(reader.report.recordings[0]));
	done_with(&reader, &texts);
}

#define RECORDS 5
#define HELD_BEFORE \
	"Nothing was lost; what processes held before they were attached to is not known."
#define NOT_EXACT "Nothing was lost, but what is live and the peaks are not exact"

/* `said` and `noted` are in the report, `not_said` is not; `flags` of the first process in JSON. */
static void expect_inexact(const union record records[RECORDS], const char *said, const char *noted,
			   const char *not_said, const char *flags)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;
	size_t i;

	begin();
	for (i = 0; i < RECORDS && records[i].event.size; i++)
		add(records[i]);
	texts = end_with(&reader);
	assert_has(&texts.md, said);
	assert_has(&texts.md, noted);
	assert_has_not(&texts.md, not_said);
	assert_has(&texts.json, "\"live_is_exact\":false");
	assert_has(&texts.json, flags);
	assert_false(report_has_losses(reader.report.recordings[0]));
	assert_false(report_all_is_exact(&reader.report));
	done_with(&reader, &texts);
}

static void test_what_was_held_before_is_not_exact(void **state)
{
	const union record running = record_attach_running();
	const union record exec = record_process(MS_TYPE_EXEC, "train", 0);
	const union record made = alloc("cudaMalloc", 0x1000, 300);
	static const char now[] = "; it had CUDA loaded before it was attached to, and what it held"
				  " by then is not in these numbers";
	static const char then[] = "; it was attached to while it ran an earlier program, and what"
				   " that held by then is not in these peaks";

	(void)state;
	expect_inexact((union record[RECORDS]){ running, made }, HELD_BEFORE, now, then,
		       "\"was_running\":true,\"was_running_earlier\":false");
	/* As another program, which was watched from its beginning; or was not, either. */
	expect_inexact((union record[RECORDS]){ running, exec, made }, HELD_BEFORE, then, now,
		       "\"was_running\":false,\"was_running_earlier\":true");
	expect_inexact((union record[RECORDS]){ running, exec, running, made }, HELD_BEFORE, now,
		       then, "\"was_running\":true,\"was_running_earlier\":true");
	/* One that calls nothing. */
	expect_inexact((union record[RECORDS]){ running, exec }, HELD_BEFORE,
		       "No call recorded of: train (100), which may have held memory from before.",
		       "which may hold", "\"was_running\":false,\"was_running_earlier\":true");
}

static void test_what_is_unknown_is_not_exact(void **state)
{
	(void)state;
	expect_inexact((union record[RECORDS]){ record_without(MS_KNOWN_ADDR,
							       alloc("cudaMalloc", 0, 300)) },
		       NOT_EXACT, "* 1 allocation whose address could not be read: not counted",
		       "exact.\n\n", "\"was_running\":false,\"was_running_earlier\":false");
	expect_inexact((union record[RECORDS]){ record_free("cuMemFree_v2", 0x1000) }, NOT_EXACT,
		       "* 1 free of memory whose allocation was not seen", "exact.\n\n",
		       "\"was_running\":false,\"was_running_earlier\":false");
	expect_inexact((union record[RECORDS]){ alloc("cudaMalloc", 0x1000, 300),
						record_account(MS_ACCOUNT_ABANDONED, 3, 0) },
		       NOT_EXACT, "* 3 calls that never returned", "exact.\n\n",
		       "\"was_running\":false,\"was_running_earlier\":false");
}

static void test_lost_launches_leave_memory_exact(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_account(MS_OP_LAUNCH, 50, 10));
	texts = end_with(&reader);
	assert_has(&texts.json, "\"live_is_exact\":true");
	assert_false(report_all_is_exact(&reader.report));
	done_with(&reader, &texts);
}

#define OTHERS 80 /* that end; more than are listed */

/* Of a process that is asked for, what others held does not matter, listed or not. */
static void test_others_do_not_make_it_inexact(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < OTHERS; i++) {
		add(record_of(1000 + i, 0, record_attach_running()));
		add(record_of(1000 + i, 0, record_exit(0)));
	}
	add(alloc("cudaMalloc", 0x1000, 300));
	reader.report.options.pids[reader.report.options.pids_count++] = RECORD_PID;
	texts = end_with(&reader);
	assert_non_null(reader.report.recordings[0]->state->more);
	assert_has(&texts.md, "Nothing was lost: the numbers are exact.");
	assert_true(report_all_is_exact(&reader.report));
	done_with(&reader, &texts);
}

/* An interpreter's name says little, wherever a process is named. */
static void test_processes_are_called_by_what_they_interpret(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(record_identity("exe\0/usr/bin/python3.11\0script\0/a/train.py\0user\0bob"));
	add(record_process(MS_TYPE_ATTACH, "python3", 0));
	add(record_of(200, RECORD_START_NS, record_process(MS_TYPE_ATTACH, "other", 0)));
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_failed(MS_CUDA_OUT_OF_MEMORY, alloc("cudaMalloc", 0, MIB)));
	now_ns += 2 * SECOND;
	add(record_exit(0));
	reader.report.options.selection.user = "bob";
	texts = end_with(&reader);
	assert_has(&texts.md, "in python3 train.py (100) failed");
	assert_has(&texts.md,
		   "| Only | 1 of 2 processes: user bob; left out: 1 of which that is not"
		   " known (other (200)) |");
	assert_has(&texts.md, "/usr/bin/python3.11 /a/train.py, user bob");
	assert_has_not(&texts.md, "python3 (100)");
	assert_has(&texts.json, "\"comm\":\"python3\",\"name\":\"python3 train.py\"");
	assert_has(&texts.json, "\"user\":\"bob\",\"cgroup\":null");
	done_with(&reader, &texts);
}

/* Of two processes, one was running already: what is known of the other is no worse for it. */
static void test_one_of_several_is_inexact(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(record_of(1000, 0, record_process(MS_TYPE_ATTACH, "server", MS_ATTACH_RUNNING)));
	add(record_of(1000, 0, alloc("cudaMalloc", 0x2000, 300)));
	add(alloc("cudaMalloc", 0x1000, 300));
	texts = end_with(&reader);
	assert_has(&texts.md,
		   "Nothing was lost; what server (1000) held before it was attached to is"
		   " not known; the numbers of the other process are exact.");
	done_with(&reader, &texts);
}

/* It is not lost: nobody could have recorded it. */
static void test_missed_processes(void **state)
{
	static const struct {
		uint64_t missed, untraced;
		bool was_running;
		const char *said, *unknown;
	} cases[] = {
		{ 2, 0, false,
		  "Nothing was lost; calls may be missing, as at least 2 processes could not be"
		  " attached to in time.",
		  "* calls of at least 2 processes: they ended, or" },
		{ 1, 0, true,
		  "Nothing was lost; what processes held before they were attached to is not"
		  " known; calls may be missing, as at least 1 process could not be",
		  "* calls of at least 1 process: it ended, or executed" },
		{ 0, 2, false,
		  "Nothing was lost; at least 2 descendants of the recorded processes used CUDA and"
		  " were not recorded.",
		  "* what at least 2 descendants of the recorded processes held: they used" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report_reader reader = report_dump_reader();
		struct texts_of texts;

		begin();
		dump.missed = cases[i].missed;
		dump.untraced = cases[i].untraced;
		if (cases[i].was_running)
			add(record_attach_running());
		add(alloc("cudaMalloc", 0x1000, 300));
		texts = end_with(&reader);
		assert_has(&texts.md, cases[i].said);
		assert_has(&texts.md, cases[i].unknown);
		assert_has_not(&texts.md, "The recording lacks something");
		assert_false(report_all_is_exact(&reader.report));
		assert_false(report_has_losses(reader.report.recordings[0]));
		done_with(&reader, &texts);
	}
}

static void test_missed_processes_beside_losses(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	dump.missed = 2;
	dump.untraced = 1;
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_account(MS_OP_COPY, 50, 10));
	texts = end_with(&reader);
	assert_has(&texts.md, "at least 2 processes could not be attached to in time, at least 1"
			      " descendant of the recorded processes used CUDA and was not"
			      " recorded, but no allocation or free is known to be missing.");
	assert_has(&texts.json, "\"missed_processes\":2,\"untraced_descendants\":1");
	assert_false(report_is_inexact(reader.report.recordings[0]));
	assert_false(report_all_is_exact(&reader.report));
	done_with(&reader, &texts);
}

static void test_stacks_beyond_those_that_are_kept(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;
	uint32_t i;

	(void)state;
	begin();
	for (i = 1; i <= LIMIT_STACKS + 2; i++)
		add(record_stack(i, 1, 1));
	texts = end_with(&reader);
	assert_has(&texts.md, "* 2 call stacks, or functions in them, beyond those that are kept");
	assert_has(&texts.json, "\"other_stacks\":2");
	done_with(&reader, &texts);
}

static void test_what_was_not_written_is_lost(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	dump.unwritten = 17;
	texts = end_with(&reader);
	assert_has(&texts.md, "* 17 records could not be written when it was recorded");
	assert_has(&texts.md, "The recording lacks something");
	assert_has(&texts.json, "\"unwritten_records\":17");
	assert_true(report_has_losses(reader.report.recordings[0]));
	done_with(&reader, &texts);
}

static void test_without_an_end_something_is_lost(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_flush(&dump, now_ns);
	report_dump_read(&dump, &reader);
	texts = render(&reader);
	assert_true(report_has_losses(reader.report.recordings[0]));
	/* Only the end would say how many. */
	assert_has(&texts.json, "\"missed_processes\":null");
	done_with(&reader, &texts);
}

/* Whom it was attached to, and what they held then, was still to be written. */
static void test_a_recording_that_breaks_off_before_its_first_event(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	report_dump_read(&dump, &reader);
	texts = render(&reader);
	assert_has(&texts.md, "and what is live and the peaks are not exact.");
	assert_has_not(&texts.md, "no allocation or free is known to be missing");
	assert_has(&texts.md, "* what processes held: the recording breaks off before it");
	assert_has(&texts.json, "\"live_is_exact\":false");
	report_reader_fini(&reader);
	string_fini(&texts.md);
	string_fini(&texts.json);
	/* One that was attached to held nothing before. */
	reader = report_dump_reader();
	add(record_process(MS_TYPE_ATTACH, "train", 0));
	report_dump_flush(&dump, now_ns);
	report_dump_read(&dump, &reader);
	texts = render(&reader);
	assert_has(&texts.json, "\"live_is_exact\":true");
	done_with(&reader, &texts);
}

/* It was ended, so that there was nothing to attach to. */
static void test_a_recording_of_nothing(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	texts = end_with(&reader);
	assert_has(&texts.md, "Nothing was lost: the numbers are exact.");
	assert_has(&texts.json, "\"live_is_exact\":true");
	done_with(&reader, &texts);
}

/* ---- who ------------------------------------------------------------------------------------- */

static void test_kinds_are_those_of_all_processes(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	/* They see the same devices, so that by 0 they mean the same. */
	add(record_visible(77, 0));
	add(record_of(200, RECORD_START_NS, record_visible(77, 0)));
	add(record_of(201, RECORD_START_NS, record_visible(77, 0)));
	add(alloc("cudaMalloc", 0x1000, 5 * MIB));
	add(record_of(200, RECORD_START_NS,
		      record_on(0, record_alloc("cudaMallocPitch", 0x1000, 3 * MIB))));
	add(record_of(201, RECORD_START_NS,
		      record_on(0, record_alloc("cudaMallocPitch", 0x1000, 3 * MIB))));
	add(failed(90 * MIB));
	texts = end_with(&reader);
	assert_has(&texts.md, "held 5 MiB; most of what all recorded processes held came from"
			      " cudaMallocPitch");
	done_with(&reader, &texts);
}

static void test_one_process_has_its_own_peak(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 5 * MIB));
	add(record_of(200, RECORD_START_NS, alloc("cudaMalloc", 0x1000, 3 * MIB)));
	reader.report.options.pids[reader.report.options.pids_count++] = 200;
	texts = end_with(&reader);
	assert_has(&texts.md, "process (200) held at most 3 MiB of device memory at ");
	assert_has_not(&texts.md, "Most was held on device 0: 8 MiB");
	done_with(&reader, &texts);
}

/* ---- several recordings ---------------------------------------------------------------------- */

static struct report_dump second;

static void leave(struct report_dump *to, uint64_t size)
{
	int i;

	report_dump_add(to, record_at(BEGIN, record_call("cuCtxSynchronize")));
	for (i = 0; i < 4; i++)
		report_dump_add(to, record_at(BEGIN + (500 + i) * MILLISECOND,
					      alloc("cudaMalloc", 0x100000000 * (i + 1), size)));
}

/* The graver one is in the second file; one of the two has no end. */
static void test_the_gravest_is_not_just_the_first(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		reader.window[i] = (struct report_time){ .kind = REPORT_TIME_SINCE_BEGIN,
							 .ns = (i ? 600 + i : 1) * MILLISECOND };
	begin();
	leave(&dump, 16 * MIB);
	report_dump_end(&dump, BEGIN + SECOND);
	report_dump_init(&second, 8, "host-b");
	report_dump_segment(&second, BEGIN);
	leave(&second, 512 * MIB);
	report_dump_flush(&second, BEGIN + SECOND);
	read_both(&second, &reader);
	texts = render(&reader);
	assert_has(&texts.md, "process (100) leaves 2 GiB behind");
	assert_has(&texts.md, " on host-b; 1 more finding below.");
	assert_has(&texts.md, "1 of 2 recordings was not ended properly");
	report_dump_fini(&second);
	done_with(&reader, &texts);
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void test_rates_are_for_people(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct texts_of texts;
	uint64_t random = 1;
	int i;

	(void)state;
	begin();
	for (i = 1; i < 200000; i++) {
		/* A clock that never wavers would make a recording that nobody believes. */
		now_ns += 3000 + (random = unit_random(random)) % 4096;
		report_dump_add(&dump, record_at(now_ns, alloc("cudaMalloc", 0x1000 * i, 1)));
	}
	texts = end_with(&reader);
	assert_has_not(&texts.md, "e+0");
	done_with(&reader, &texts);
}

/* A call's time is when it began, a block's when it was written. */
static void test_nothing_is_before_the_beginning(void **state)
{
	struct report_reader reader = report_dump_reader();

	(void)state;
	begin();
	report_dump_add(&dump, record_at(BEGIN - MILLISECOND, alloc("cudaMalloc", 0x1000, 300)));
	report_dump_end(&dump, BEGIN + SECOND);
	report_dump_read(&dump, &reader);
	assert_int_equal(report_begin_ns(reader.report.recordings[0]), BEGIN - MILLISECOND);
	assert_true(reader.report.recordings[0]->devices[0].peak_ts_ns >=
		    report_begin_ns(reader.report.recordings[0]));
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_seen_is_not_said_to_be_absent),
		cmocka_unit_test(test_everything_was_looked_for),
		cmocka_unit_test(test_launches_that_were_counted),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_what_was_held_before_is_not_exact),
		cmocka_unit_test(test_lost_launches_leave_memory_exact),
		cmocka_unit_test(test_others_do_not_make_it_inexact),
		cmocka_unit_test(test_what_is_unknown_is_not_exact),
		cmocka_unit_test(test_one_of_several_is_inexact),
		cmocka_unit_test(test_processes_are_called_by_what_they_interpret),
		cmocka_unit_test(test_missed_processes),
		cmocka_unit_test(test_missed_processes_beside_losses),
		cmocka_unit_test(test_stacks_beyond_those_that_are_kept),
		cmocka_unit_test(test_what_was_not_written_is_lost),
		cmocka_unit_test(test_without_an_end_something_is_lost),
		cmocka_unit_test(test_a_recording_that_breaks_off_before_its_first_event),
		cmocka_unit_test(test_a_recording_of_nothing),
		cmocka_unit_test(test_kinds_are_those_of_all_processes),
		cmocka_unit_test(test_one_process_has_its_own_peak),
		cmocka_unit_test(test_the_gravest_is_not_just_the_first),
		cmocka_unit_test(test_rates_are_for_people),
		cmocka_unit_test(test_nothing_is_before_the_beginning),
	};

	return unit_run("report_words", tests);
}
