// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of when something was, of what was not recorded, and of what was lost.
 */
#include "reported.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "render/report_json.h"
#include "render/report_words.h"

/* ---- time ------------------------------------------------------------------------------------ */

/* Long and short runs: whatever the width of the buckets, nothing is lost or counted twice. */
static void test_buckets_become_wider(void **state)
{
	static const uint64_t steps[] = { 1000, 1000000, 60 * SECOND };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct report_reader reader;
		const struct timeline *timeline;
		const struct timeline_series *series;
		uint64_t most = 0, j;

		begin();
		for (j = 0; j < 1000; j++) {
			now_ns += steps[i];
			report_dump_add(&dump, record_at(now_ns,
							 alloc("cudaMalloc", 4096 * j + 4096, 10)));
			if (j == 300)
				report_dump_add(&dump, record_at(now_ns,
								 alloc("cudaMalloc", 64, 1 << 20)));
			if (j == 300)
				report_dump_add(&dump, record_at(now_ns, record_free_begin(64)));
			if (j == 300)
				report_dump_add(&dump,
						record_at(now_ns, record_free("cuMemFree_v2", 64)));
		}
		reader = end();
		timeline = &reader.report.recordings[0]->timeline;
		series = reader.report.recordings[0]->processes[0].series;
		assert_in_range(timeline_length(timeline), 2, TIMELINE_BUCKETS);
		assert_int_equal(sum_of(series->allocs), 1001);
		assert_int_equal(sum_of(series->frees), 1);
		for (j = 0; j < timeline_length(timeline); j++)
			if (series->levels[MS_SPACE_DEVICE]->max[j] > most)
				most = series->levels[MS_SPACE_DEVICE]->max[j];
		assert_int_equal(most, 3010 + (1 << 20));
		assert_int_equal(
			series->levels[MS_SPACE_DEVICE]->end[timeline_length(timeline) - 1], 10000);
		done(&reader);
	}
}

/* A wait of a second and a half is not one of the moment when it ended. */
static void test_waiting_is_spread_over_the_time_it_took(void **state)
{
	struct report_reader reader;
	const struct timeline *timeline;
	const struct timeline_series *series;
	size_t i, busy = 0;

	(void)state;
	begin();
	add(record_taking(1500000000, record_call("cuCtxSynchronize")));
	now_ns += 1600000000;
	add(record_call("cuCtxSynchronize"));
	reader = end();
	timeline = &reader.report.recordings[0]->timeline;
	series = reader.report.recordings[0]->processes[0].series;
	assert_int_equal(sum_of(series->blocked_ns), 1500000000);
	for (i = 0; i < timeline_length(timeline); i++) {
		assert_true(series->blocked_ns[i] <= timeline->width_ns);
		busy += series->blocked_ns[i] > 0;
	}
	assert_true(busy > 50);
	done(&reader);
}

static void test_what_was_before_only_makes_the_state(void **state)
{
	struct report_reader reader = report_dump_reader();
	const struct report_process *process;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMalloc", 0x2000, 4000));
	release(0x2000);
	add(alloc("cudaMalloc", 0x3000, 50)); /* the fifth millisecond */
	add(alloc("cudaMalloc", 0x4000, 9000));
	report_dump_end(&dump, now_ns);
	reader.from = (struct report_time){ .kind = REPORT_TIME_SINCE_BEGIN, .ns = 4500000 };
	reader.until = (struct report_time){ .kind = REPORT_TIME_SINCE_BEGIN, .ns = 5500000 };
	report_dump_read(&dump, &reader);
	process = &reader.report.recordings[0]->processes[0];
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].live_bytes, 350);
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_bytes, 350);
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].allocs, 1);
	assert_int_equal(cell_of(process, "cudaMalloc")->allocs, 1);
	assert_int_equal(cell_of(process, "cudaMalloc")->peak_bytes, 350);
	assert_int_equal(reader.report.recordings[0]->devices[0].peak_bytes, 350);
	assert_int_equal(sum_of(process->series->allocs), 1);
	done(&reader);
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		enum report_time_kind kind;
		uint64_t ns;
	} good[] = {
		{ "+10", REPORT_TIME_SINCE_BEGIN, 10 * SECOND },
		{ "10", REPORT_TIME_SINCE_BEGIN, 10 * SECOND },
		{ "1.5s", REPORT_TIME_SINCE_BEGIN, 1500000000 },
		{ "20ms", REPORT_TIME_SINCE_BEGIN, 20000000 },
		{ "+2m", REPORT_TIME_SINCE_BEGIN, 120 * SECOND },
		{ "1h", REPORT_TIME_SINCE_BEGIN, 3600 * SECOND },
		{ "1m30s", REPORT_TIME_SINCE_BEGIN, 90 * SECOND },
		{ "-10s", REPORT_TIME_BEFORE_END, 10 * SECOND },
		{ "-5", REPORT_TIME_BEFORE_END, 5 * SECOND },
		{ "15:04", REPORT_TIME_OF_DAY, (15 * 60 + 4) * 60 * SECOND },
		{ "15:04:05", REPORT_TIME_OF_DAY, ((15 * 60 + 4) * 60 + 5) * SECOND },
		{ "00:00:01.5", REPORT_TIME_OF_DAY, 1500000000 },
		{ "15:04Z", REPORT_TIME_OF_DAY, (15 * 60 + 4) * 60 * SECOND },
		{ "01:00+02:00", REPORT_TIME_OF_DAY, 23 * 3600 * SECOND },
		{ "1970-01-02T00:00:01Z", REPORT_TIME_WALL, 86401 * SECOND },
		{ "1970-01-02 00:00:01.25", REPORT_TIME_WALL, 86401250000000 },
		{ "1970-01-02T02:30:01+02:30", REPORT_TIME_WALL, 86401 * SECOND },
		{ "1970-01-01T22:00:01-02:00", REPORT_TIME_WALL, 86401 * SECOND },
		{ "1970-01-02T00:01", REPORT_TIME_WALL, 86460 * SECOND },
		{ "1970-01-02T01:01+01:00", REPORT_TIME_WALL, 86460 * SECOND },
		{ "1970-01-02T01:01:00+0100", REPORT_TIME_WALL, 86460 * SECOND },
		{ "1970-01-02T01:01+01", REPORT_TIME_WALL, 86460 * SECOND },
	};
	static const char *const bad[] = { "",
					   "x",
					   "+",
					   "10x",
					   "-",
					   "- 5",
					   "+-5",
					   "25:00",
					   "15:04:05x",
					   "15:4:",
					   "1e99",
					   "1970-01-02T",
					   "1970-01-02x",
					   "2h 5",
					   "1970-01-02T00:00:01+2",
					   "1969-01-01T00:00:00Z",
					   "1970-01-02T00:00:01Zoo" };
	struct report_time time;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(report_time_parse(&time, good[i].text), 0);
		assert_int_equal(time.kind, good[i].kind);
		assert_int_equal(time.ns, good[i].ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!report_time_parse(&time, bad[i]))
			fail_msg("%s was taken for a time", bad[i]);
}

/* The recording begins at 23:00:00 of a day and ends at 01:00:00 of the next. */
static void test_moments_of_a_recording(void **state)
{
	static const uint64_t day = 86400 * SECOND, hour = 3600 * SECOND;
	const struct report_time_frame frame = { .first_ns = 1000 * SECOND,
						 .last_ns = 1000 * SECOND + 2 * hour,
						 .wall_offset_ns =
							 10 * day - hour - 1000 * SECOND };
	static const struct {
		const char *text;
		int64_t since_begin_ns;
	} moments[] = {
		{ "5s", 5 * SECOND },
		{ "-5s", 2 * hour - 5 * SECOND },
		{ "23:30", hour / 2 },
		{ "00:30", hour + hour / 2 },
		{ "22:59:50", -10 * SECOND },           /* nearer to the beginning */
		{ "01:00:10", 2 * hour + 10 * SECOND }, /* nearer to the end */
		{ "1970-01-11T00:00", hour },
	};
	struct report_time time;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(moments) / sizeof(*moments); i++) {
		assert_int_equal(report_time_parse(&time, moments[i].text), 0);
		assert_int_equal(report_time_moment(&time, &frame),
				 frame.first_ns + (uint64_t)moments[i].since_begin_ns);
	}
	/* Before the beginning of all times. */
	assert_int_equal(report_time_parse(&time, "-10h"), 0);
	assert_int_equal(report_time_moment(&time, &frame), 1);
	time = (struct report_time){ 0 };
	assert_int_equal(report_time_moment(&time, &frame), 0);
}

static void test_from_the_end(void **state)
{
	struct report_reader reader = report_dump_reader();

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMalloc", 0x2000, 50)); /* the last millisecond */
	report_dump_end(&dump, now_ns);
	reader.from = (struct report_time){ .kind = REPORT_TIME_BEFORE_END, .ns = 500000 };
	report_dump_read(&dump, &reader);
	assert_int_equal(
		reader.report.recordings[0]->processes[0].process->spaces[MS_SPACE_DEVICE].allocs,
		1);
	done(&reader);
}

/* It held nothing then, whatever it had left behind. */
static void test_who_had_ended_is_not_there(void **state)
{
	struct report_reader reader;
	uint64_t from_ns;

	(void)state;
	for (from_ns = 500000; from_ns <= 2500000; from_ns += 2000000) {
		reader = report_dump_reader();
		begin();
		add(alloc("cudaMalloc", 0x1000, 300));
		add(record_exit(9));
		report_dump_flush(&dump, now_ns += 1000000);
		report_dump_end(&dump, now_ns += 1000000);
		reader.from = (struct report_time){ .kind = REPORT_TIME_BEFORE_END, .ns = from_ns };
		report_dump_read(&dump, &reader);
		assert_int_equal(reader.report.recordings[0]->processes_count,
				 from_ns == 500000 ? 0 : 1);
		done(&reader);
	}
}

/* The same wherever it is shown, and whatever zone the reader is in. */
static void test_the_wall_clock_is_that_of_utc(void **state)
{
	char text[CLOCK_TEXT_BYTES];

	(void)state;
	setenv("TZ", "Asia/Tokyo", 1);
	tzset();
	assert_string_equal(clock_utc_text(text, 1763737445 * SECOND + 123999999),
			    "2025-11-21T15:04:05.123Z");
	unsetenv("TZ");
	tzset();
}

static void test_what_was_not_captured_is_not_known(void **state)
{
	struct report_reader reader;
	const struct report_recording *recording;
	struct string json = { 0 };

	(void)state;
	begin_as("alloc,free,memory,context", NULL, NULL);
	add(alloc("cudaMalloc", 0x1000, 300));
	reader = end();
	recording = reader.report.recordings[0];
	assert_int_equal(recording->coverage.captured_ops, 1u << MS_OP_ALLOC | 1u << MS_OP_FREE |
								   1u << MS_OP_MEMORY |
								   1u << MS_OP_CONTEXT);
	report_json(&json, &reader.report);
	assert_true(has(&json, "\"launches\":null"));
	assert_true(has(&json, "\"copies\":null"));
	assert_true(has(&json, "\"not_captured\":[\"copy\",\"memset\",\"launch\",\"sync\"]"));
	string_fini(&json);
	done(&reader);
}

/* Launches of graphs are, whatever was asked for. Older versions left them out with others. */
static void test_launches_of_graphs_are_known(void **state)
{
	static const struct {
		const char *ops, *graph_launches;
		int launched;
		const char *json, *not_captured;
	} cases[] = {
		{ REPORT_DUMP_OPS, "all", 1, "\"graph_launches\":1", "" },
		{ REPORT_DUMP_OPS, NULL, 1, "\"graph_launches\":1", "" },
		{ "alloc,copy,memset,sync,memory,context", "all", 1, "\"graph_launches\":1",
		  "free, launch (except graphs)" },
		{ "alloc,copy,memset,sync,memory,context", "all", 0, "\"graph_launches\":0",
		  "free, launch (except graphs)" },
		{ "alloc,copy,memset,sync,memory,context", NULL, 0, "\"graph_launches\":null",
		  "free, launch" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct string json = { 0 }, words = { 0 };
		struct report_reader reader;

		report_dump_init(&dump, 7, "host-a");
		dump.ops = cases[i].ops;
		dump.graph_launches = cases[i].graph_launches;
		now_ns = BEGIN;
		report_dump_segment(&dump, now_ns);
		add(alloc("cudaMalloc", 0x1000, 300));
		if (cases[i].launched)
			add(record_launch("cuGraphLaunch", 0x88));
		reader = end();
		report_json(&json, &reader.report);
		report_append_not_captured(&words, reader.report.recordings[0], "");
		string_append_char(&words, '\0');
		assert_true(has(&json, cases[i].json));
		assert_string_equal(words.bytes, cases[i].not_captured);
		string_fini(&json);
		string_fini(&words);
		done(&reader);
	}
}

/* Sums do not have streams: whether the host waited says the function. */
static void test_only_what_is_waited_for_has_a_speed(void **state)
{
	static const struct {
		const char *symbol;
		uint64_t timed_bytes;
	} cases[] = { { "cuMemcpyHtoD_v2", 1000 }, { "cuMemcpyHtoDAsync_v2", 0 } };
	size_t i, j;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct timeline_copies *copies;
		struct report_reader reader;
		uint64_t timed = 0;

		begin();
		add(record_summed(4, record_taking(10000, record_copy(cases[i].symbol, 1000,
								      MS_DIRECTION_HTOD))));
		reader = end();
		copies =
			reader.report.recordings[0]->processes[0].series->copies[MS_DIRECTION_HTOD];
		assert_non_null(copies);
		for (j = 0; j < TIMELINE_BUCKETS; j++)
			timed += copies->timed_bytes[j];
		assert_int_equal(timed, cases[i].timed_bytes);
		done(&reader);
	}
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void test_losses_are_counted_where_they_were(void **state)
{
	struct report_reader reader;
	const struct report_recording *recording;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_account(MS_OP_LAUNCH, 10, 4));
	report_dump_flush(&dump, now_ns);
	now_ns += 100000000;
	add(alloc("cudaMalloc", 0x2000, 300));
	reader = end();
	recording = reader.report.recordings[0];
	assert_int_equal(report_lost(&recording->coverage), 4);
	assert_false(report_is_inexact(recording));
	assert_int_equal(sum_of(recording->timeline.lost), 4);
	assert_int_equal(recording->timeline.lost[0] + recording->timeline.lost[1] +
				 recording->timeline.lost[2],
			 4);
	done(&reader);
}

/* After a gap, levels are those of the next anchor, and the report says so. */
static void test_a_gap_is_told(void **state)
{
	struct report_reader reader;
	const struct report_recording *recording;
	const struct timeline *timeline;
	const struct timeline_level *level;
	uint64_t checkpoint_ns;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add_elsewhere(alloc("cudaMalloc", 0x2000, 4000));
	add(alloc("cudaMalloc", 0x3000, 20)); /* of no use: it is after the gap, before an anchor */
	report_dump_segment(&dump, now_ns);
	checkpoint_ns = now_ns;
	now_ns += 50000000;
	/*
	 * Nothing more of the first one: what it holds is what the anchor says, and from then on.
	 */
	add(record_of(77, RECORD_START_NS, alloc("cudaMalloc", 0x4000, 1)));
	reader = end();
	recording = reader.report.recordings[0];
	timeline = &recording->timeline;
	assert_int_equal(recording->coverage.account.missing_blocks, 1);
	assert_true(report_is_inexact(recording));
	assert_int_equal(recording->devices[0].live_bytes, 4321);
	level = recording->processes[0].series->levels[MS_SPACE_DEVICE];
	assert_int_equal(level->end[timeline_length(timeline) - 1], 4320);
	assert_int_equal(level->end[(checkpoint_ns + 10000000 - BEGIN) / timeline->width_ns], 4320);
	assert_int_equal(level->end[0], 0);
	done(&reader);
}

/* What was held at most before it is not forgotten. */
static void test_a_peak_outlives_a_gap(void **state)
{
	struct report_reader reader;
	const struct report_device *device;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 9000));
	release(0x1000);
	add_elsewhere(alloc("cudaMalloc", 0x2000, 4000));
	report_dump_segment(&dump, now_ns);
	add(alloc("cudaMalloc", 0x3000, 20));
	reader = end();
	device = &reader.report.recordings[0]->devices[0];
	assert_int_equal(device->live_bytes, 4020);
	assert_int_equal(device->peak_bytes, 9000);
	assert_int_equal(device->peak_ts_ns, BEGIN + 1000000);
	done(&reader);
}

/* As a flight recorder leaves it: what is live is known from the anchor alone. */
static void test_what_an_anchor_holds_is_a_peak(void **state)
{
	static const size_t files[] = { 2 };
	struct report_reader reader;
	const struct report_device *device;

	(void)state;
	begin();
	dump.files = 2;
	report_dump_segment(&dump, now_ns);
	add(alloc("cudaMalloc", 0x1000, 64 << 20));
	report_dump_flush(&dump, now_ns);
	dump.files = 4;
	report_dump_segment(&dump, now_ns);
	add(record_call("cuCtxSynchronize"));
	report_dump_end(&dump, now_ns);
	reader = read_files(files, 1);
	device = &reader.report.recordings[0]->devices[0];
	assert_int_equal(device->live_bytes, 64 << 20);
	assert_int_equal(device->peak_bytes, 64 << 20);
	assert_true(device->peak_ts_ns > 0);
	done(&reader);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* In thread and process `pid`, that long after the beginning. */
static void mark_at(uint64_t after_ms, uint32_t pid, enum ms_marker_action action, uint64_t sp)
{
	union record record = record_marker(action, "train");

	now_ns = BEGIN + after_ms * MILLISECOND;
	record.marker.sp = sp;
	if (sp)
		record.marker.source = MS_MARKER_BY_FUNCTION;
	report_dump_add(&dump, record_at(now_ns, record_of(pid, 0, record)));
}

/*
 * Returns when `--to mark:train`, or `--from`, of the report of `pid` (0: of all) is, in
 * milliseconds; -1: there is none.
 */
static int64_t ends_at(uint32_t pid, bool takes_last)
{
	const struct report_time time = { .kind = REPORT_TIME_MARK,
					  .mark = "train",
					  .takes_last = takes_last };
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	int64_t at_ms = -1;
	int err;

	report_dump_end(&dump, now_ns + 50 * MILLISECOND);
	if (pid)
		reader.report.options.pids[reader.report.options.pids_count++] = pid;
	*(takes_last ? &reader.until : &reader.from) = time;
	report_dump_use(&dump, 0, &set);
	err = report_reader_read(&reader, &set);
	dump_set_fini(&set);
	if (!err)
		at_ms = (int64_t)((takes_last ? &reader.until : &reader.from)->ns - BEGIN) /
			(int64_t)MILLISECOND;
	else
		assert_int_equal(err, -ESRCH);
	done(&reader);
	return at_ms;
}

static void test_an_exec_ends_what_is_marked(void **state)
{
	(void)state;
	begin();
	mark_at(10, 1, MS_MARKER_PUSH, 0);
	now_ns = BEGIN + 20 * MILLISECOND;
	report_dump_add(&dump,
			record_at(now_ns, record_of(1, 0, record_process(MS_TYPE_EXEC, "x", 0))));
	assert_int_equal(ends_at(0, true), 20);
}

static void test_marks_are_those_of_who_is_reported(void **state)
{
	size_t i;

	(void)state;
	for (i = 1; i <= 2; i++) {
		begin();
		mark_at(10, 1, MS_MARKER_INSTANT, 0);
		mark_at(20, 2, MS_MARKER_INSTANT, 0);
		assert_int_equal(ends_at((uint32_t)i, true), 10 * i);
	}
	begin();
	mark_at(10, 1, MS_MARKER_INSTANT, 0);
	assert_int_equal(ends_at(2, true), -1);
}

/* It began, but has no end. */
static void test_what_was_left_can_be_a_beginning(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		union record other = record_marker(MS_MARKER_PUSH, "other");

		begin();
		mark_at(10, 1, MS_MARKER_PUSH, 1000);
		other.marker.sp = 2000;
		other.marker.source = MS_MARKER_BY_FUNCTION;
		now_ns = BEGIN + 20 * MILLISECOND;
		report_dump_add(&dump, record_at(now_ns, record_of(1, 0, other)));
		assert_int_equal(ends_at(0, i), i ? -1 : 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_become_wider),
		cmocka_unit_test(test_waiting_is_spread_over_the_time_it_took),
		cmocka_unit_test(test_what_was_before_only_makes_the_state),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_moments_of_a_recording),
		cmocka_unit_test(test_from_the_end),
		cmocka_unit_test(test_who_had_ended_is_not_there),
		cmocka_unit_test(test_the_wall_clock_is_that_of_utc),
		cmocka_unit_test(test_what_was_not_captured_is_not_known),
		cmocka_unit_test(test_launches_of_graphs_are_known),
		cmocka_unit_test(test_only_what_is_waited_for_has_a_speed),
		cmocka_unit_test(test_losses_are_counted_where_they_were),
		cmocka_unit_test(test_a_gap_is_told),
		cmocka_unit_test(test_a_peak_outlives_a_gap),
		cmocka_unit_test(test_what_an_anchor_holds_is_a_peak),
		cmocka_unit_test(test_an_exec_ends_what_is_marked),
		cmocka_unit_test(test_marks_are_those_of_who_is_reported),
		cmocka_unit_test(test_what_was_left_can_be_a_beginning),
	};

	return unit_run("report: time and losses", tests);
}
