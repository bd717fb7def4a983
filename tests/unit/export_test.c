// SPDX-License-Identifier: BSD-2-Clause
/*
 * All formats of `export`, of records that make sense and of any, with parts of them missing, and
 * with allocations that fail: nothing crashes or leaks, and nothing is missing without an error.
 * What the formats say is looked at by the end-to-end tests, with other programs.
 */
#include "example.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "any_records.h"
#include "base/log.h"
#include "export/export.h"
#include "failing.h"
#include "report_dump.h"

#define FILES 4
#define ANY_RECORDS 4000
#define MAPPINGS 20000

static struct report_dump dump;
static enum export_metric metric;
static char path[] = "/tmp/export_test.XXXXXX";

/* Over four files, each with an anchor at its beginning. */
static void add_record(size_t i, size_t count, union record record)
{
	const size_t each = count / FILES + 1;

	if (i % each == 0) {
		dump.files = 1u << i / each;
		report_dump_segment(&dump, record.event.ts_ns);
	}
	report_dump_add(&dump, record);
}

static void make_example(void)
{
	struct example example;
	size_t i;

	example_init(&example);
	report_dump_init(&dump, 7, "host");
	for (i = 0; i < example.count; i++)
		add_record(i, example.count, example.records[i]);
	report_dump_end(&dump, example.records[i - 1].event.ts_ns);
}

static void make_any(void)
{
	size_t i;

	report_dump_init(&dump, 7, "host");
	for (i = 0; i < ANY_RECORDS; i++)
		add_record(i, ANY_RECORDS, any_record(i));
	report_dump_end(&dump, EXAMPLE_SECOND * 100);
}

static int read_files(struct report_reader *reader, uint32_t files)
{
	struct dump_set set = { 0 };
	char name[32];
	int err = 0, i;

	for (i = 0; !err && i < FILES; i++) {
		if (!(files >> i & 1))
			continue;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", dump.fds[i]);
		err = dump_set_add(&set, name);
	}
	if (!err)
		err = report_reader_read(reader, &set);
	dump_set_fini(&set);
	return err;
}

/* Into the file at `path`. Returns 0, or what went wrong. */
static int export_files(const struct exporter *exporter, uint32_t files,
			struct report_reader *reader)
{
	struct writer writer = { .fd = -1 };
	const struct export_options options = {
		.writer = &writer,
		.fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC),
		.name = path,
		.metric = metric,
	};
	struct sink *sink;
	int err = options.fd < 0 ? -errno : 0;

	*reader = report_dump_reader();
	if (!err && !exporter->to_file)
		err = writer_open(&writer, path);
	sink = err ? NULL : exporter->begin(&options);
	if (!sink) {
		close(options.fd);
		writer_close(&writer);
		return -ENOMEM;
	}
	reader->sink = sink;
	err = read_files(reader, files);
	if (!err)
		err = reader->report.count ? exporter->finish(sink, &reader->report) : -ENODATA;
	exporter->free(sink);
	close(options.fd);
	if (!exporter->to_file && writer_close(&writer) && !err)
		err = -EIO;
	return err;
}

static size_t file_size(void)
{
	FILE *file = fopen(path, "re");
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	fclose(file);
	return (size_t)size;
}

/* ---- what is live in a database is what is live ---------------------------------------------- */

static uint64_t count_rows(const char *sql)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	uint64_t count;

	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	count = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(database);
	return count;
}

static void check_live(const struct report *report)
{
	const struct state *state = report->recordings[0]->state;
	uint64_t count = 0;
	size_t i, j;

	for (i = 0; i < state->processes_count; i++)
		for (j = 0; j < LEDGERS_COUNT; j++)
			if (!state->processes[i]->exited)
				count += state->processes[i]->ledgers[j].count;
	assert_int_equal(count_rows("SELECT count(*) FROM memscope_allocations a"
				    " JOIN memscope_processes p ON p.id = a.process"
				    " WHERE a.end IS NULL AND NOT coalesce(p.exited, 0)"),
			 count);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void export_everything(void)
{
	/* All of it, and without one or two of the files. */
	static const uint32_t choices[] = { 0xf, 0xb, 0xd, 0x9, 0xe };
	const struct exporter *const *exporter;
	struct report_reader reader;
	size_t i;

	for (exporter = exporters; *exporter; exporter++) {
		for (i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
			assert_int_equal(export_files(*exporter, choices[i], &reader), 0);
			assert_true(file_size() > 0);
			if (!strcmp((*exporter)->name, "sqlite"))
				check_live(&reader.report);
			report_reader_fini(&reader);
		}
	}
	report_dump_fini(&dump);
}

static void test_example(void **state)
{
	(void)state;
	make_example();
	export_everything();
}

static void test_any_records(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 5; round += (int)unit_stride(3)) {
		make_any();
		export_everything();
	}
}

/*
 * Memory whose handles are given back while it is mapped, as it is used: an end is found without a
 * look at all that is live, or else this takes minutes.
 */
static void test_many_mappings(void **state)
{
	const uint64_t size = 2 << 20, base = 1ull << 40, node = 1ull << 50;
	uint64_t now_ns = EXAMPLE_SECOND, i;
	struct report_reader reader;

	(void)state;
	report_dump_init(&dump, 7, "host");
	report_dump_segment(&dump, now_ns);
	report_dump_add(&dump, record_at(now_ns++, record_node(0x77, node, 4096)));
	report_dump_add(&dump, record_at(now_ns++, record_node(0x77, node, 0)));
	report_dump_add(&dump, record_at(now_ns++, record_node(0x77, node + 4096, 512)));
	report_dump_add(&dump, record_at(now_ns++,
					 record_memory("cuGraphInstantiateWithFlags", 0x88, 0x77)));
	for (i = 1; i <= MAPPINGS; i++) {
		report_dump_add(&dump, record_at(now_ns++, record_alloc("cuMemCreate", i, size)));
		report_dump_add(&dump, record_at(now_ns++, record_map(base + i * size, size, i)));
		report_dump_add(&dump, record_at(now_ns++, record_free("cuMemRelease", i)));
	}
	for (i = 1; i <= MAPPINGS; i++) {
		report_dump_add(&dump, record_at(now_ns++, record_launch("cuGraphLaunch", 0x88)));
		report_dump_add(&dump,
				record_at(now_ns++, record_free("cuMemFree_v2", node + 4096)));
		report_dump_add(&dump, record_at(now_ns++, record_unmap(base + i * size, size)));
	}
	report_dump_end(&dump, now_ns);

	assert_int_equal(export_files(&export_sqlite, 1, &reader), 0);
	check_live(&reader.report);
	assert_int_equal(count_rows("SELECT count(*) FROM memscope_allocations"), 3 * MAPPINGS);
	assert_int_equal(count_rows("SELECT count(*) FROM memscope_allocations p"
				    " JOIN memscope_allocations m ON m.id = p.id + 1"
				    " WHERE m.address = (1 << 40) + (p.address << 21)"
				    " AND p.end - p.start = 60002 AND m.end = p.end"
				    " AND p.ended_by = 'free' AND m.ended_by = 'free'"),
			 MAPPINGS);
	assert_int_equal(count_rows("SELECT count(*) FROM memscope_allocations"
				    " WHERE address = (1 << 50) + 4096 AND end - start = 1"),
			 MAPPINGS);
	report_reader_fini(&reader);
	assert_int_equal(export_files(&export_memory_viz, 1, &reader), 0);
	assert_true(file_size() > 0);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* ---- two recordings of one host, one after the other, in which a PID is used again ----------- */

static void add_recording(struct report_dump *to, uint64_t number, uint64_t second, uint64_t size)
{
	const uint64_t now_ns = second * EXAMPLE_SECOND;

	report_dump_init(to, number, "a");
	report_dump_segment(to, now_ns);
	report_dump_add(to, record_at(now_ns, record_process(MS_TYPE_ATTACH, "train", 0)));
	report_dump_add(to, record_at(now_ns + 1,
				      record_on(0, record_alloc("cuMemAlloc_v2", 4096, size))));
	report_dump_end(to, now_ns + 2);
}

static void make_two(struct report_dump *other)
{
	add_recording(&dump, 7, 1, 1000);
	add_recording(other, 8, 100, 300);
	assert_int_equal(dup2(other->fds[0], dump.fds[1]), dump.fds[1]);
}

static void test_one_pid_twice(void **state)
{
	static const char *const views[] = { "memscope_peak", "memscope_live", "memscope_by_api" };
	struct report_reader reader;
	struct report_dump other;
	char sql[512];
	size_t i;

	(void)state;
	make_two(&other);
	assert_int_equal(export_files(&export_sqlite, 3, &reader), 0);
	for (i = 0; i < sizeof(views) / sizeof(*views); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(DISTINCT process_id || ' ' || recording) FROM %s"
			 " WHERE pid = 100 AND host = 'a'",
			 views[i]);
		assert_int_equal(count_rows(sql), 2);
	}
	/* As docs/exports.md has it. */
	assert_int_equal(
		count_rows("SELECT sum(a.bytes) FROM memscope_allocations a JOIN memscope_peak k"
			   " ON k.process_id = a.process AND k.space = 'device'"
			   " WHERE k.pid = 100 AND a.start <= k.peak_start"
			   " AND (a.end IS NULL OR a.end > k.peak_start)"),
		1300);
	report_reader_fini(&reader);
	report_dump_fini(&other);
	report_dump_fini(&dump);
}

static bool has_line(const char *wanted)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	bool found = false;

	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, wanted, strlen(wanted));
	fclose(file);
	return found;
}

/* What is counted is the sum; what was never there at the same time is not. */
static void test_gauges_one_after_the_other(void **state)
{
	struct report_reader reader;
	struct report_dump other;

	(void)state;
	make_two(&other);
	assert_int_equal(export_files(&export_openmetrics, 3, &reader), 0);
	assert_true(has_line("memscope_allocated_bytes_total{hostname=\"a\",comm=\"train\","
			     "kind=\"device\"} 1300 "));
	assert_true(
		has_line("memscope_process_gpu_memory_live_bytes{hostname=\"a\","
			 "comm=\"train\",gpu=\"0\",kind=\"device\",api=\"cuMemAlloc_v2\"} 300 "));
	assert_true(has_line("memscope_process_gpu_memory_peak_bytes{hostname=\"a\","
			     "comm=\"train\",kind=\"device\"} 300 "));
	assert_true(has_line("memscope_gpu_memory_explained_bytes{hostname=\"a\",gpu=\"0\"} 300 "));
	report_reader_fini(&reader);
	report_dump_fini(&other);
	report_dump_fini(&dump);
}

/* Said at 10 s and at 20 s, by a clock that is 1000 s and 250 ns behind the wall's. */
static void test_when_a_device_was_told(void **state)
{
	struct report_reader reader;

	(void)state;
	report_dump_init(&dump, 7, "a");
	dump.wall_offset_ns = 1000 * EXAMPLE_SECOND + 250;
	report_dump_segment(&dump, EXAMPLE_SECOND);
	report_dump_add(&dump,
			record_at(EXAMPLE_SECOND + 1, record_process(MS_TYPE_ATTACH, "train", 0)));
	report_dump_add(&dump, record_at(10 * EXAMPLE_SECOND, record_device_memory("GPU-a", 500)));
	report_dump_add(&dump,
			record_at(20 * EXAMPLE_SECOND,
				  record_on(0, record_from(1000, record_alloc("cuMemGetInfo_v2", 0,
									      8000)))));
	report_dump_end(&dump, 30 * EXAMPLE_SECOND);
	assert_int_equal(export_files(&export_openmetrics, 1, &reader), 0);
	assert_true(has_line("memscope_gpu_nvml_used_bytes{hostname=\"a\",UUID=\"GPU-a\"} 500 "));
	assert_true(has_line(
		"memscope_gpu_nvml_timestamp_seconds{hostname=\"a\",UUID=\"GPU-a\"} 1010.000000250 "));
	assert_true(has_line(
		"memscope_gpu_memory_used_timestamp_seconds{hostname=\"a\",gpu=\"0\"} 1020.000000250 "));
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* Whose process it is, called as DCGM's exporter calls it where that has it, too. */
static void test_labels_of_a_process(void **state)
{
	struct report_reader reader;

	(void)state;
	report_dump_init(&dump, 7, "a");
	report_dump_segment(&dump, EXAMPLE_SECOND);
	report_dump_add(&dump, record_at(EXAMPLE_SECOND,
					 record_identity("script\0/jobs/1/tr\"ain.py\0"
							 "user\0bob\0container\0c1\0pod\0p\"1\0"
							 "namespace\0ml\0SLURM_JOB_ID\0"
							 "42")));
	report_dump_add(&dump,
			record_at(EXAMPLE_SECOND + 1, record_process(MS_TYPE_ATTACH, "train", 0)));
	report_dump_add(&dump,
			record_at(EXAMPLE_SECOND + 2, record_alloc("cuMemAlloc_v2", 4096, 300)));
	report_dump_end(&dump, EXAMPLE_SECOND + 3);
	assert_int_equal(export_files(&export_openmetrics, 1, &reader), 0);
	assert_true(has_line(
		"memscope_allocated_bytes_total{hostname=\"a\",comm=\"train\","
		"script=\"tr\\\"ain.py\",user=\"bob\",container=\"c1\",pod=\"p\\\"1\",namespace=\"ml\","
		"hpc_job=\"42\",kind=\"device\"} 300 "));
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* ---- call stacks ----------------------------------------------------------------------------- */

#define OUTER "train (100);main;fill\\x3b"
#define LEAF ";device 0;device;cuMemAlloc_v2"

/* At the peak there are blocks of both stacks and one of none, 1,700 bytes; in the end, two. */
static void make_stacks(void)
{
	const union record records[] = {
		record_process(MS_TYPE_ATTACH, "train", 0),
		record_frame(1, "take", "/lib/liba.so"),
		record_frame(2, "fill;", "/lib/liba.so"),
		record_frame(3, "main", "/bin/train"),
		record_frame(4, "", "/bin/train"),
		record_stack(1, 1, 3),
		record_stack(2, 4, 1),
		record_called_from(1, record_on(0, record_alloc("cuMemAlloc_v2", 4096, 1000))),
		record_called_from(2, record_on(0, record_alloc("cuMemAlloc_v2", 8192, 500))),
		/* Of a stack that is not in the recording. */
		record_called_from(9, record_on(0, record_alloc("cuMemAlloc_v2", 12288, 200))),
		record_free_begin(4096),
		record_free("cuMemFree_v2", 4096),
		record_called_from(1, record_on(0, record_alloc("cuMemAlloc_v2", 4096, 30))),
		record_free_begin(8192),
		record_free("cuMemFree_v2", 8192),
	};
	size_t i;

	report_dump_init(&dump, 7, "a");
	report_dump_segment(&dump, EXAMPLE_SECOND);
	for (i = 0; i < sizeof(records) / sizeof(*records); i++)
		report_dump_add(&dump, record_at(EXAMPLE_SECOND + i, records[i]));
	report_dump_end(&dump, EXAMPLE_SECOND + i);
}

static void check_folded(enum export_metric what, const char *expected)
{
	struct report_reader reader;
	char text[1024] = "";
	FILE *file;

	metric = what;
	assert_int_equal(export_files(&export_folded, 1, &reader), 0);
	metric = EXPORT_INUSE;
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
	report_reader_fini(&reader);
}

static void test_stacks_lie_behind_the_process(void **state)
{
	(void)state;
	make_stacks();
	check_folded(EXPORT_INUSE, OUTER ";take" LEAF " 30\n"
					 "train (100)" LEAF " 200\n");
	check_folded(EXPORT_ALLOC,
		     "train (100);train+0x1004" LEAF " 500\n" OUTER ";take" LEAF " 1030\n"
		     "train (100)" LEAF " 200\n");
	check_folded(EXPORT_PEAK,
		     "train (100);train+0x1004" LEAF " 500\n" OUTER ";take" LEAF " 1000\n"
		     "train (100)" LEAF " 200\n");
	report_dump_fini(&dump);
}

static size_t count_of(const char *bytes, size_t length, const char *what, size_t what_length)
{
	size_t count = 0, i;

	for (i = 0; i + what_length <= length; i++)
		count += !memcmp(bytes + i, what, what_length);
	return count;
}

/* What a program that decodes it makes of it, tests/e2e/stacks.bats looks at. */
static void test_stacks_in_a_profile(void **state)
{
	struct report_reader reader;
	char bytes[8192];
	gzFile file;
	int length;

	(void)state;
	make_stacks();
	assert_int_equal(export_files(&export_pprof, 1, &reader), 0);
	file = gzopen(path, "re");
	assert_non_null(file);
	length = gzread(file, bytes, sizeof(bytes));
	gzclose(file);
	assert_in_range(length, 1, sizeof(bytes) - 1);
	assert_int_equal(count_of(bytes, length, "/lib/liba.so", 12), 1);
	assert_int_equal(count_of(bytes, length, "/bin/train", 10), 1);
	assert_int_equal(count_of(bytes, length, "c0ffee", 6), 1);
	assert_int_equal(count_of(bytes, length, "fill;", 5), 1);
	report_reader_fini(&reader);
	report_dump_fini(&dump);
}

/* Every allocation fails once. */
static void test_every_allocation(void **state)
{
	const struct exporter *const *exporter;
	struct report_reader reader;

	(void)state;
	make_example();
	log_set_level(LOG_ERROR);
	for (exporter = exporters; *exporter; exporter++) {
		const long step = unit_stride((*exporter)->to_file ? 101 : 13);
		size_t whole;
		bool happened = true;
		long nth;

		assert_int_equal(export_files(*exporter, 0xf, &reader), 0);
		report_reader_fini(&reader);
		whole = file_size();
		for (nth = 0; happened; nth += step) {
			int err;

			until_failure = nth;
			err = export_files(*exporter, 0xf, &reader);
			happened = stop_failing();
			/* A report can say that it lacks something. */
			if (!err && !(*exporter)->to_file &&
			    !reader.report.recordings[0]->incomplete && !reader.report.refused)
				if (file_size() != whole)
					fail_msg("%s, allocation %ld: %zu bytes of %zu",
						 (*exporter)->name, nth, file_size(), whole);
			report_reader_fini(&reader);
		}
	}
	report_dump_fini(&dump);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_any_records),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_one_pid_twice),
		cmocka_unit_test(test_gauges_one_after_the_other),
		cmocka_unit_test(test_when_a_device_was_told),
		cmocka_unit_test(test_labels_of_a_process),
		cmocka_unit_test(test_stacks_lie_behind_the_process),
		cmocka_unit_test(test_stacks_in_a_profile),
		cmocka_unit_test(test_every_allocation),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = unit_run("export", tests);
	unlink(path);
	return failed;
}
