// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of recordings, as the model has it: from records through a dump and back.
 */
#include "report_dump.h"

#include <stdlib.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "model/track.h"
#include "model/usage.h"
#include "output/report_json.h"
#include "store/verification.h"

#define SECOND 1000000000ull
#define BEGIN SECOND
#define MANY 20000

static struct report_dump dump;
static uint64_t now_ns;

static void begin(void)
{
	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	report_dump_segment(&dump, now_ns);
}

/* A millisecond after the one before. */
static void add(union record record)
{
	now_ns += 1000000;
	report_dump_add(&dump, record_at(now_ns, record));
}

static struct report_reader end(void)
{
	struct report_reader reader = report_dump_reader();

	report_dump_end(&dump, now_ns + 1000000);
	report_dump_read(&dump, &reader);
	return reader;
}

static void done(struct report_reader *reader)
{
	report_reader_fini(reader);
	report_dump_fini(&dump);
}

static union record alloc(const char *symbol, uint64_t addr, uint64_t size)
{
	return record_on(0, record_alloc(symbol, addr, size));
}

static const struct usage_cell *cell_of(const struct report_process *process, const char *symbol)
{
	size_t i;

	for (i = 0; i < process->cells_count; i++)
		if (!strcmp(probe_at(process->cells[i].row)->symbol, symbol))
			return &process->cells[i];
	fail_msg("nothing by %s", symbol);
	return NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Device memory from two functions: the peak is 300 + 70, then less, then other blocks. */
static void test_a_peak_is_made_of_what_was_live_then(void **state)
{
	struct report_reader reader;
	const struct report_process *process;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMalloc", 0x2000, 50));
	add(record_free_begin(0x2000));
	/* It is gone when the free begins. */
	add(alloc("cudaMallocPitch", 0x3000, 70));
	add(record_free("cuMemFree_v2", 0x2000));
	add(record_free_begin(0x1000));
	add(record_free("cuMemFree_v2", 0x1000));
	add(alloc("cudaMallocPitch", 0x4000, 200));
	reader = end();
	process = &reader.report.recordings[0]->processes[0];
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_bytes, 370);
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_ts_ns, BEGIN + 4000000);
	assert_int_equal(cell_of(process, "cudaMalloc")->peak_bytes, 300);
	assert_int_equal(cell_of(process, "cudaMalloc")->peak_count, 1);
	assert_int_equal(cell_of(process, "cudaMalloc")->live_bytes, 0);
	assert_int_equal(cell_of(process, "cudaMalloc")->allocs, 2);
	assert_int_equal(cell_of(process, "cudaMalloc")->frees, 2);
	/* 2 ms and 5 ms, to the beginning of the record that ends the free. */
	assert_int_equal(cell_of(process, "cudaMalloc")->lifetime_ns, 3000000 + 6000000);
	assert_int_equal(cell_of(process, "cudaMallocPitch")->peak_bytes, 70);
	assert_int_equal(cell_of(process, "cudaMallocPitch")->live_bytes, 270);
	assert_int_equal(reader.report.recordings[0]->devices[0].peak_bytes, 370);
	assert_int_equal(reader.report.recordings[0]->devices[0].live_bytes, 270);
	done(&reader);
}

/* If nothing came after the peak, it is what is live. */
static void test_the_peak_may_be_the_end(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMallocPitch", 0x3000, 70));
	reader = end();
	assert_int_equal(
		cell_of(&reader.report.recordings[0]->processes[0], "cudaMalloc")->peak_bytes, 300);
	assert_int_equal(
		cell_of(&reader.report.recordings[0]->processes[0], "cudaMallocPitch")->peak_bytes,
		70);
	done(&reader);
}

static void test_what_is_used_is_compared_with_what_was_live_then(void **state)
{
	struct report_reader reader;
	const struct report_device *device;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMallocManaged", 0x8000, 5000));
	add(alloc("cudaMallocHost", 0x9000, 7000));
	add(record_on(0, record_from(600, record_alloc("cudaMemGetInfo", 0, 1000))));
	add(alloc("cudaMalloc", 0x2000, 50));
	reader = end();
	assert_int_equal(reader.report.recordings[0]->devices_count, 1);
	device = &reader.report.recordings[0]->devices[0];
	assert_int_equal(device->live_bytes, 350);
	assert_int_equal(device->live[MS_SPACE_DEVICE], 350);
	assert_int_equal(device->live[MS_SPACE_MANAGED], 5000);
	assert_int_equal(device->live[MS_SPACE_PINNED], 0);
	assert_non_null(device->told);
	assert_int_equal(device->told->total_bytes, 1000);
	assert_int_equal(device->told->free_bytes, 600);
	assert_int_equal(device->told->explained_bytes, 300);
	assert_false(device->was_running);
	done(&reader);
}

static void test_one_device_alone(void **state)
{
	struct report_reader reader = report_dump_reader();
	const struct report_recording *recording;

	(void)state;
	begin();
	add(record_on(0, record_alloc("cudaMalloc", 0x1000, 300)));
	add(record_on(1, record_alloc("cudaMalloc", 0x2000, 50)));
	report_dump_end(&dump, now_ns);
	reader.report.options.device = 1;
	report_dump_read(&dump, &reader);
	recording = reader.report.recordings[0];
	assert_int_equal(recording->devices_count, 1);
	assert_int_equal(recording->devices[0].live_bytes, 50);
	assert_int_equal(recording->processes[0].largest_count, 1);
	assert_int_equal(recording->processes[0].largest[0].size_bytes, 50);
	assert_int_equal(recording->processes[0].cells_count, 1);
	done(&reader);
}

static void test_growth_is_what_came_after_the_beginning(void **state)
{
	struct report_reader reader;
	int i;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 3000));
	for (i = 0; i < 100; i++)
		add(record_call("cuCtxSynchronize"));
	add(alloc("cudaMalloc", 0x20000, 50));
	add(alloc("cudaMallocHost", 0x30000, 7));
	reader = end();
	assert_int_equal(report_growth(reader.report.recordings[0],
				       &reader.report.recordings[0]->processes[0]),
			 50);
	done(&reader);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_a_pid_that_is_used_again_is_another_process(void **state)
{
	struct report_reader reader;
	const struct report_recording *recording;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_exit(0));
	add(record_of(RECORD_PID, RECORD_START_NS + 5 * MS_START_NS,
		      alloc("cudaMalloc", 0x1000, 40)));
	reader = end();
	recording = reader.report.recordings[0];
	assert_int_equal(recording->processes_count, 2);
	assert_int_equal(report_held(recording->processes[0].process, MS_SPACE_DEVICE).bytes, 300);
	assert_int_equal(report_held(recording->processes[1].process, MS_SPACE_DEVICE).bytes, 40);
	assert_int_equal(recording->devices[0].live_bytes, 40);
	assert_int_equal(recording->devices[0].peak_bytes, 300);
	assert_ptr_not_equal(recording->processes[0].series, recording->processes[1].series);
	done(&reader);
}

static uint64_t sum_of(const uint64_t *values)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < TIMELINE_BUCKETS; i++)
		total += values[i];
	return total;
}

/* Thousands of processes come and go: what is said of all of them together stays right. */
static void test_processes_that_are_not_listed_are_summed_up(void **state)
{
	const uint32_t processes = 500;
	struct report_reader reader;
	const struct report_recording *recording;
	uint64_t allocs = 0, timed = 0;
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < processes; i++) {
		uint64_t start_ns = (10 + i) * MS_START_NS;

		add(record_of(1000 + i, start_ns, alloc("cudaMalloc", 0x1000, 300)));
		add(record_of(1000 + i, start_ns, record_exit(0)));
	}
	reader = end();
	recording = reader.report.recordings[0];
	assert_true(recording->state->more_count > processes / 2);
	assert_int_equal(recording->state->more_count + recording->processes_count, processes);
	allocs = recording->state->more->spaces[MS_SPACE_DEVICE].allocs;
	timed = sum_of(recording->timeline.more->allocs);
	for (i = 0; i < recording->processes_count; i++) {
		allocs += recording->processes[i].process->spaces[MS_SPACE_DEVICE].allocs;
		timed += sum_of(recording->processes[i].series->allocs);
	}
	assert_int_equal(allocs, processes);
	assert_int_equal(timed, processes);
	/* Each was alone: at most 300 bytes, of whichever process. */
	assert_int_equal(recording->devices[0].peak_bytes, 300);
	assert_int_equal(recording->devices[0].live_bytes, 0);
	done(&reader);
}

static void test_one_process_alone(void **state)
{
	struct report_reader reader = report_dump_reader();

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_of(77, RECORD_START_NS, alloc("cudaMalloc", 0x1000, 40)));
	report_dump_end(&dump, now_ns);
	reader.report.options.pid = 77;
	report_dump_read(&dump, &reader);
	assert_int_equal(reader.report.recordings[0]->processes_count, 1);
	assert_int_equal(reader.report.recordings[0]->processes[0].process->pid, 77);
	done(&reader);
}

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
	add(record_free_begin(0x2000));
	add(record_free("cuMemFree_v2", 0x2000));
	add(alloc("cudaMalloc", 0x3000, 50)); /* the fifth millisecond */
	add(alloc("cudaMalloc", 0x4000, 9000));
	report_dump_end(&dump, now_ns);
	reader.from = (struct report_time){ .set = true, .relative = true, .ns = 4500000 };
	reader.until = (struct report_time){ .set = true, .relative = true, .ns = 5500000 };
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
		bool relative;
		uint64_t ns;
	} good[] = {
		{ "+10", true, 10 * SECOND },
		{ "10", true, 10 * SECOND },
		{ "1.5s", true, 1500000000 },
		{ "20ms", true, 20000000 },
		{ "+2m", true, 120 * SECOND },
		{ "1h", true, 3600 * SECOND },
		{ "1970-01-02T00:00:01Z", false, 86401 * SECOND },
		{ "1970-01-02 00:00:01.25", false, 86401250000000 },
		{ "1970-01-02T02:30:01+02:30", false, 86401 * SECOND },
		{ "1970-01-01T22:00:01-02:00", false, 86401 * SECOND },
	};
	static const char *const bad[] = { "",
					   "x",
					   "+",
					   "10x",
					   "-5",
					   "1e99",
					   "1970-01-02",
					   "1970-01-02T00:00",
					   "2h 5",
					   "1970-01-02T00:00:01+2",
					   "1969-01-01T00:00:00Z",
					   "1970-01-02T00:00:01Zoo" };
	struct report_time time;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(report_time_parse(&time, good[i].text), 0);
		assert_int_equal(time.relative, good[i].relative);
		assert_int_equal(time.ns, good[i].ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!report_time_parse(&time, bad[i]))
			fail_msg("%s was taken for a time", bad[i]);
}

static bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
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
	report_dump_init(&dump, 7, "host-a");
	dump.ops = "alloc,free,memory,context";
	now_ns = BEGIN;
	report_dump_segment(&dump, now_ns);
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
	uint64_t anchor_ns;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_flush(&dump, now_ns);
	dump.files = 2; /* this block is not in the file that is read */
	add(alloc("cudaMalloc", 0x2000, 4000));
	report_dump_flush(&dump, now_ns);
	dump.files = 1;
	add(alloc("cudaMalloc", 0x3000, 20)); /* of no use: it is after the gap, before an anchor */
	report_dump_segment(&dump, now_ns);
	anchor_ns = now_ns;
	now_ns += 50000000;
	/* Nothing more of the first one: what it holds is what the anchor says, and from then on. */
	add(record_of(77, RECORD_START_NS, alloc("cudaMalloc", 0x4000, 1)));
	reader = end();
	recording = reader.report.recordings[0];
	timeline = &recording->timeline;
	assert_int_equal(recording->coverage.account.missing_blocks, 1);
	assert_true(report_is_inexact(recording));
	assert_int_equal(recording->devices[0].live_bytes, 4321);
	level = recording->processes[0].series->levels[MS_SPACE_DEVICE];
	assert_int_equal(level->end[timeline_length(timeline) - 1], 4320);
	assert_int_equal(level->end[(anchor_ns + 10000000 - BEGIN) / timeline->width_ns], 4320);
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
	add(record_free_begin(0x1000));
	add(record_free("cuMemFree_v2", 0x1000));
	report_dump_flush(&dump, now_ns);
	dump.files = 2;
	add(alloc("cudaMalloc", 0x2000, 4000));
	report_dump_flush(&dump, now_ns);
	dump.files = 1;
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
	{
		struct dump_set set = { 0 };

		reader = report_dump_reader();
		report_dump_use(&dump, 2, &set);
		assert_int_equal(report_reader_read(&reader, &set), 0);
		dump_set_fini(&set);
	}
	device = &reader.report.recordings[0]->devices[0];
	assert_int_equal(device->live_bytes, 64 << 20);
	assert_int_equal(device->peak_bytes, 64 << 20);
	assert_true(device->peak_ts_ns > 0);
	done(&reader);
}

/* ---- files ----------------------------------------------------------------------------------- */

#define SEGMENTS 6

/* Segments in files of their own, a bundle with some of them, and a file that lacks one. */
static void make_ring(void)
{
	size_t segment, i;

	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	for (segment = 0; segment < SEGMENTS; segment++) {
		dump.files = 1 | 2u << segment | (segment >= 2 && segment < 5 ? 1u << 7 : 0) |
			     (segment != 3 ? 1u << 8 : 0);
		report_dump_segment(&dump, now_ns);
		for (i = 0; i < 40; i++) {
			add(alloc("cudaMalloc", 4096 * (1 + segment * 40 + i), 100));
			if (i % 10 == 9)
				report_dump_flush(&dump, now_ns);
		}
	}
	report_dump_end(&dump, now_ns);
}

static void read_files(const size_t *files, size_t count, struct string *json)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	char *path;
	size_t i;

	for (i = 0; i < count; i++)
		report_dump_use(&dump, files[i], &set);
	assert_int_equal(set.count, 1);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	dump_set_fini(&set);
	/* Only the names of the files differ. */
	while (reader.report.recordings[0]->coverage.files_count > 1)
		free(reader.report.recordings[0]
			     ->coverage.files[--reader.report.recordings[0]->coverage.files_count]);
	path = reader.report.recordings[0]->coverage.files[0];
	*path = '\0';
	report_json(json, &reader.report);
	report_reader_fini(&reader);
}

static void test_files_of_one_recording_are_put_together(void **state)
{
	static const size_t sets[][8] = { { 1, 2, 3, 4, 5, 6 },
					  { 6, 5, 4, 3, 2, 1 },
					  { 7, 6, 1, 2, 3, 4, 5 },
					  { 7, 1, 6, 2, 0 } };
	static const size_t counts[] = { 6, 6, 7, 5 }, whole[] = { 0 };
	struct string expected = { 0 }, actual = { 0 };
	size_t i;

	(void)state;
	make_ring();
	read_files(whole, 1, &expected);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		string_clear(&actual);
		read_files(sets[i], counts[i], &actual);
		assert_int_equal(actual.length, expected.length);
		assert_memory_equal(actual.bytes, expected.bytes, expected.length);
	}
	string_fini(&expected);
	string_fini(&actual);
	report_dump_fini(&dump);
}

/* A bundle has what a lost file of the ring had. */
static void test_a_bundle_fills_a_gap(void **state)
{
	static const size_t files[] = { 1, 2, 4, 5, 6, 7 }, other[] = { 7, 8 }, whole[] = { 0 };
	struct string expected = { 0 }, actual = { 0 };

	(void)state;
	make_ring();
	read_files(whole, 1, &expected);
	read_files(files, 6, &actual);
	assert_int_equal(actual.length, expected.length);
	assert_memory_equal(actual.bytes, expected.bytes, expected.length);
	/* Also in the middle of a file. */
	string_clear(&actual);
	read_files(other, 2, &actual);
	assert_int_equal(actual.length, expected.length);
	assert_memory_equal(actual.bytes, expected.bytes, expected.length);
	string_fini(&expected);
	string_fini(&actual);
	report_dump_fini(&dump);
}

/* Writes to the file that is chosen, but not to those that the recording goes to. */
static void end_copy(uint32_t files)
{
	const uint32_t others = dump.files;
	struct texts end = { 0 };

	texts_put(&end, "reason", "asked-for");
	dump.files = files;
	assert_int_equal(dump_writer_end_copy(dump.writer, &end, now_ns, report_dump_write, &dump),
			 0);
	dump.files = others;
	texts_fini(&end);
}

/* File 0: all. 1, 2: bundles of all so far, at two times. 3, 4: the two behind each other. */
static void make_bundles(void)
{
	uint32_t bundle, i;

	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	dump.files = 0x1f;
	report_dump_segment(&dump, now_ns);
	for (bundle = 0; bundle < 2; bundle++) {
		for (i = 0; i < 4; i++) {
			add(alloc("cudaMalloc", 4096 * (1 + bundle * 4 + i), 100));
			report_dump_flush(&dump, now_ns);
		}
		end_copy(bundle ? 1u << 2 | 1u << 4 : 1u << 1 | 1u << 3);
		dump.files = 0x15;
	}
	add(alloc("cudaMalloc", 0x100000, 100));
	dump.files = 1;
	report_dump_end(&dump, now_ns + 1000000);
}

/* Puts one file behind another one. */
static void append_file(size_t to, size_t from)
{
	char bytes[4096];
	off_t offset = 0;
	ssize_t length;

	while ((length = pread(dump.fds[from], bytes, sizeof(bytes), offset)) > 0) {
		assert_int_equal(write(dump.fds[to], bytes, length), length);
		offset += length;
	}
}

static struct report_reader read_set(const size_t *files, size_t count)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		report_dump_use(&dump, files[i], &set);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(reader.report.count, 1);
	dump_set_fini(&set);
	return reader;
}

/* A bundle's last block has the number of what really came next, which must not get lost. */
static void test_a_bundle_is_no_end(void **state)
{
	static const struct {
		size_t files[2], count;
		uint64_t events;
		const char *reason;
	} sets[] = {
		{ { 1 }, 1, 4, "asked-for" },    { { 1, 0 }, 2, 9, "exit" },
		{ { 0, 1 }, 2, 9, "exit" },      { { 1, 2 }, 2, 8, "asked-for" },
		{ { 2, 1 }, 2, 8, "asked-for" }, { { 3 }, 1, 8, "asked-for" },
		{ { 4 }, 1, 8, "asked-for" },    { { 3, 0 }, 2, 9, "exit" },
	};
	size_t i;

	(void)state;
	make_bundles();
	append_file(3, 2);
	append_file(4, 1);
	for (i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		struct report_reader reader = read_set(sets[i].files, sets[i].count);
		const struct report_coverage *coverage = &reader.report.recordings[0]->coverage;

		assert_int_equal(coverage->account.calls, sets[i].events);
		assert_int_equal(coverage->account.missing_blocks, 0);
		assert_true(coverage->account.has_end);
		assert_string_equal(coverage->reason, sets[i].reason);
		report_reader_fini(&reader);
	}
	report_dump_fini(&dump);
}

static void test_verification_follows_the_same_rule(void **state)
{
	static const size_t sets[][2] = { { 1, 0 }, { 0, 1 }, { 2, 1 }, { 3, 3 }, { 4, 4 } };
	static const uint64_t events[] = { 9, 9, 8, 8, 8 };
	struct verification verification;
	char path[32];
	size_t i, j;

	(void)state;
	make_bundles();
	append_file(3, 2);
	append_file(4, 1);
	for (i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		assert_int_equal(verification_init(&verification), 0);
		for (j = 0; j < 2; j++) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", dump.fds[sets[i][j]]);
			assert_int_equal(verification_add(&verification, path), 0);
		}
		assert_int_equal(replay_account(verification.replay)->calls, events[i]);
		assert_int_equal(verification.gaps_count, 0);
		assert_int_equal(verification_status(&verification), VERIFICATION_WHOLE);
		verification_fini(&verification);
	}
	report_dump_fini(&dump);
	/* What comes too late is left out, which is not whole. */
	make_ring();
	assert_int_equal(verification_init(&verification), 0);
	for (i = 6; i >= 5; i--) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", dump.fds[i]);
		assert_int_equal(verification_add(&verification, path), 0);
	}
	assert_int_equal(verification_status(&verification), VERIFICATION_DAMAGED);
	verification_fini(&verification);
	report_dump_fini(&dump);
}

/* A file of the ring that goes on behind a bundle, and has no end. */
static void test_a_recording_goes_on_behind_a_bundle(void **state)
{
	static const size_t files[] = { 1, 2 };
	struct report_reader reader;

	(void)state;
	report_dump_init(&dump, 7, "host-a");
	now_ns = BEGIN;
	dump.files = 2;
	report_dump_segment(&dump, now_ns);
	end_copy(2);
	dump.files = 4;
	add(alloc("cudaMalloc", 0x1000, 100));
	report_dump_flush(&dump, now_ns);
	reader = read_set(files, 2);
	assert_int_equal(reader.report.recordings[0]->coverage.account.calls, 1);
	assert_false(reader.report.recordings[0]->coverage.account.has_end);
	assert_null(reader.report.recordings[0]->coverage.reason);
	done(&reader);
}

/* All with something alive. */
static void write_processes(struct report_dump *to, uint64_t recording, uint32_t count)
{
	uint32_t pid;

	report_dump_init(to, recording, "host");
	report_dump_segment(to, BEGIN);
	for (pid = 1; pid <= count; pid++) {
		union record record = record_of(pid, 0, alloc("cudaMalloc", 0x1000, 300));

		record.event.ts_ns = BEGIN;
		assert_int_equal(dump_writer_add(to->writer, &record), 0);
	}
	report_dump_end(to, BEGIN);
}

/* What cannot be true of one file is no reason not to report on the others. */
static void test_what_the_report_notes_down_counts_as_memory(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	static struct report_dump large;

	(void)state;
	write_processes(&large, 1, MANY);
	write_processes(&dump, 7, 500);
	/* The state alone takes less than is allowed. */
	assert_true(MANY * sizeof(struct process) < REPLAY_BYTES / 2);
	report_dump_use(&large, 0, &set);
	report_dump_use(&dump, 0, &set);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(reader.report.refused, 1);
	assert_int_equal(reader.report.count, 1);
	assert_int_equal(reader.report.recordings[0]->coverage.account.recording, 7);
	assert_true(report_recording_bytes(reader.report.recordings[0]) >
		    500 * (sizeof(struct timeline_series) + sizeof(struct track)));
	dump_set_fini(&set);
	report_dump_fini(&large);
	done(&reader);
}

/* Each finds its own, also where many have the same pid. */
static void test_every_process_has_its_own_line(void **state)
{
	struct timeline timeline = { 0 };
	struct state known = { 0 };
	struct process *process;
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		const struct ms_event event = { .pid = 1 + i % 10,
						.start_ns = (1 + i) * MS_START_NS };

		process = state_add(&known, &event);
		process->spaces[MS_SPACE_DEVICE].live_bytes = 1 + i;
	}
	timeline_begin(&timeline, BEGIN);
	timeline_state(&timeline, &known, BEGIN);
	assert_int_equal(timeline.count, 1000);
	for (i = 0; i < 1000; i++) {
		const struct timeline_series *series =
			timeline_find(&timeline, 1 + i % 10, (1 + i) * MS_START_NS);

		assert_non_null(series);
		assert_int_equal(series->levels[MS_SPACE_DEVICE]->end[0], 1 + i);
	}
	assert_null(timeline_find(&timeline, 11, MS_START_NS));
	assert_true(timeline_bytes(&timeline) > 1000 * sizeof(struct timeline_series));
	timeline_fini(&timeline);
	state_fini(&known);
}

static void test_recordings_are_kept_apart(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	static struct report_dump other;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_end(&dump, now_ns);
	report_dump_init(&other, 8, "host-b");
	report_dump_segment(&other, now_ns);
	/* The same pid and time: it is on another machine. */
	report_dump_add(&other, record_at(now_ns, alloc("cudaMalloc", 0x1000, 5)));
	report_dump_end(&other, now_ns);
	report_dump_use(&dump, 0, &set);
	report_dump_use(&other, 0, &set);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(reader.report.count, 2);
	assert_string_equal(reader.report.recordings[0]->coverage.host, "host-a");
	assert_string_equal(reader.report.recordings[1]->coverage.host, "host-b");
	assert_int_equal(reader.report.recordings[0]->devices[0].live_bytes, 300);
	assert_int_equal(reader.report.recordings[1]->devices[0].live_bytes, 5);
	dump_set_fini(&set);
	report_dump_fini(&other);
	done(&reader);
}

/* One file behind the other, as `cat` would do it. */
static void test_a_file_may_have_two_recordings(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	static struct report_dump other;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_end(&dump, now_ns);
	report_dump_init(&other, 8, "host-b");
	close(other.fds[0]);
	other.fds[0] = dup(dump.fds[0]);
	report_dump_segment(&other, now_ns);
	report_dump_add(&other, record_at(now_ns, alloc("cudaMalloc", 0x1000, 5)));
	report_dump_end(&other, now_ns);
	report_dump_use(&dump, 0, &set);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(reader.report.count, 2);
	assert_int_equal(reader.report.recordings[0]->devices[0].live_bytes, 300);
	assert_int_equal(reader.report.recordings[1]->devices[0].live_bytes, 5);
	dump_set_fini(&set);
	report_dump_fini(&other);
	done(&reader);
}

#define RECORDINGS 1500

static int count_item(void *context, const struct dump_item *item)
{
	++*(uint64_t *)context;
	return item->kind == DUMP_BLOCK ? 0 : -EINVAL;
}

/* One behind the other, a block each: none is looked at more often than twice. */
static void test_a_file_may_have_many_recordings(void **state)
{
	struct dump_set set = { 0 };
	struct block_coder *coder = block_coder_new();
	uint64_t taken = 0;
	size_t i;

	(void)state;
	report_dump_init(&dump, 7, "host-a");
	for (i = 0; i < RECORDINGS; i++) {
		struct block_header header = { .type = BLOCK_EVENTS, .recording = 1 + i };
		const size_t bytes = 4;
		const void *stored = block_encode(coder, &header, "text", &bytes, 1);

		assert_int_equal(report_dump_write(&dump, &header, stored), 0);
	}
	report_dump_use(&dump, 0, &set);
	assert_int_equal(set.count, 1);
	for (i = 0; i < set.count; i++) {
		const struct dump_set_file file = set.recordings[i].files[0];

		assert_int_equal(set.recordings[i].recording, 1 + i);
		assert_int_equal(dump_set_read(&set, i, count_item, &taken), 0);
		assert_int_equal(set.recordings[i].count, 1);
		/* The others' blocks are nowhere in the part that is read. */
		assert_int_equal(file.end - file.begin, i ? sizeof(struct block_header) + 4 : 0);
	}
	assert_int_equal(set.count, 1 + DUMP_SET_OTHERS);
	assert_int_equal(taken, 1 + DUMP_SET_OTHERS);
	dump_set_fini(&set);
	block_coder_free(coder);
	report_dump_fini(&dump);
}

static void test_what_is_no_dump_is_refused(void **state)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };

	(void)state;
	begin();
	assert_int_equal(write(dump.fds[3], "MSCPhello", 9), 9);
	report_dump_use(&dump, 3, &set); /* garbage */
	report_dump_use(&dump, 4, &set); /* empty */
	assert_int_equal(set.refused, 2);
	assert_int_equal(set.count, 0);
	add(alloc("cudaMalloc", 0x1000, 300));
	report_dump_end(&dump, now_ns);
	report_dump_use(&dump, 0, &set);
	assert_int_equal(report_reader_read(&reader, &set), 0);
	assert_int_equal(reader.report.count, 1);
	assert_int_equal(reader.report.refused, 2);
	dump_set_fini(&set);
	done(&reader);
}

/* Whole, but of a version that is not known: as a newer program would write it. */
static void test_a_newer_version_is_refused(void **state)
{
	struct block_header header = { .magic = "MSCP",
				       .major = BLOCK_MAJOR + 1,
				       .type = BLOCK_SEGMENT,
				       .raw_bytes = 4,
				       .stored_bytes = 4,
				       .recording = 9 };
	struct dump_set set = { 0 };
	XXH3_state_t checksum;

	(void)state;
	begin();
	XXH3_64bits_reset(&checksum);
	XXH3_64bits_update(&checksum, &header, offsetof(struct block_header, checksum));
	XXH3_64bits_update(&checksum, "a\0b", 4);
	header.checksum = XXH3_64bits_digest(&checksum);
	assert_int_equal(write(dump.fds[3], &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(dump.fds[3], "a\0b", 4), 4);
	report_dump_use(&dump, 3, &set);
	assert_int_equal(set.refused, 1);
	assert_int_equal(set.count, 0);
	dump_set_fini(&set);
	report_dump_fini(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_peak_is_made_of_what_was_live_then),
		cmocka_unit_test(test_the_peak_may_be_the_end),
		cmocka_unit_test(test_what_is_used_is_compared_with_what_was_live_then),
		cmocka_unit_test(test_one_device_alone),
		cmocka_unit_test(test_growth_is_what_came_after_the_beginning),
		cmocka_unit_test(test_a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(test_processes_that_are_not_listed_are_summed_up),
		cmocka_unit_test(test_one_process_alone),
		cmocka_unit_test(test_buckets_become_wider),
		cmocka_unit_test(test_waiting_is_spread_over_the_time_it_took),
		cmocka_unit_test(test_what_was_before_only_makes_the_state),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_the_wall_clock_is_that_of_utc),
		cmocka_unit_test(test_what_was_not_captured_is_not_known),
		cmocka_unit_test(test_a_peak_outlives_a_gap),
		cmocka_unit_test(test_what_an_anchor_holds_is_a_peak),
		cmocka_unit_test(test_only_what_is_waited_for_has_a_speed),
		cmocka_unit_test(test_losses_are_counted_where_they_were),
		cmocka_unit_test(test_a_gap_is_told),
		cmocka_unit_test(test_files_of_one_recording_are_put_together),
		cmocka_unit_test(test_a_bundle_fills_a_gap),
		cmocka_unit_test(test_a_bundle_is_no_end),
		cmocka_unit_test(test_verification_follows_the_same_rule),
		cmocka_unit_test(test_a_recording_goes_on_behind_a_bundle),
		cmocka_unit_test(test_every_process_has_its_own_line),
		cmocka_unit_test(test_what_the_report_notes_down_counts_as_memory),
		cmocka_unit_test(test_recordings_are_kept_apart),
		cmocka_unit_test(test_a_file_may_have_two_recordings),
		cmocka_unit_test(test_a_file_may_have_many_recordings),
		cmocka_unit_test(test_what_is_no_dump_is_refused),
		cmocka_unit_test(test_a_newer_version_is_refused),
	};

	return unit_run("report", tests);
}
