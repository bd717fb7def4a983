// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history: what is summed up in it is what the records say, whatever happens to its writer and
 * its file.
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "agent/history_sampler.h"
#include "folder.h"
#include "history/database.h"
#include "history/reader.h"
#include "history/schema.h"
#include "pipeline.h"
#include "record_modifiers.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define WALL_S 1700006400ull /* a whole hour */
#define PATH "./" HISTORY_FILE
#define MOST (64ull << 20)

static const struct history_options options = { ".", MOST, 400 * 86400 };

/* ---- from records to rows -------------------------------------------------------------------- */

static uint64_t wall_offset(void)
{
	return WALL_S * SECOND_NS;
}

struct fixture {
	struct pipeline pipeline;
	struct history_sampler *sampler;
	struct history_database *database;
	uint64_t batches;
};

static void take(void *context, const struct string *bytes)
{
	struct fixture *fixture = context;
	struct history_batch batch;

	assert_int_equal(history_batch_parse(&batch, bytes->bytes, bytes->length), 0);
	assert_int_equal(history_database_put(fixture->database, &batch), 0);
	fixture->batches++;
}

static void begin(struct fixture *fixture)
{
	const struct history_sampler_options sampler = {
		.boot = "a boot", .wall_offset_ns = wall_offset, .take = take, .context = fixture
	};

	*fixture = (struct fixture){ .database = history_database_open(&options) };
	assert_non_null(fixture->database);
	fixture->pipeline.filter.ops = UINT32_MAX;
	assert_int_equal(state_follow_usage(&fixture->pipeline.state), 0);
	fixture->sampler = history_sampler_new(&sampler, 0);
	assert_non_null(fixture->sampler);
	pipeline_add_sink(&fixture->pipeline, history_sampler_sink(fixture->sampler));
}

static void end(struct fixture *fixture)
{
	history_sampler_free(fixture->sampler);
	history_database_close(fixture->database);
	state_fini(&fixture->pipeline.state);
}

static void feed(struct fixture *fixture, union record record)
{
	assert_int_equal(pipeline_feed(&fixture->pipeline, &record, record.event.size), 0);
	assert_int_equal(fixture->pipeline.refused, 0);
}

/* As they come: the beginning says what is freed, and the end that it was. */
static void feed_free(struct fixture *fixture, uint32_t pid, uint64_t start_ns, uint64_t ts_ns,
		      uint64_t addr)
{
	feed(fixture, record_at(ts_ns, record_of(pid, start_ns, record_free_begin(addr))));
	feed(fixture,
	     record_at(ts_ns, record_of(pid, start_ns, record_free("cuMemFree_v2", addr))));
}

static uint64_t ask(const char *sql)
{
	struct sqlite3_stmt *statement = NULL;
	struct sqlite3 *handle;
	uint64_t number;

	assert_int_equal(sqlite3_open_v2(PATH, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(handle);
	return number;
}

/* Of a column of the memory of a process (0: of all), at a level. */
static uint64_t sum(const char *column, int level, uint32_t pid)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(%s) FROM memory m JOIN process p ON p.id = m.process"
		 " WHERE level = %d AND (%u = 0 OR pid = %u)",
		 column, level, pid, pid);
	return ask(sql);
}

static uint64_t launches(int level, uint32_t pid)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(launches), 0) FROM activity a JOIN process p"
		 " ON p.id = a.process WHERE level = %d AND pid = %u",
		 level, pid);
	return ask(sql);
}

#define PROCESSES 3
#define BLOCKS 20

/* The same, counted by hand. */
struct raw {
	uint64_t allocs, alloc_bytes, frees, free_bytes, launches;
	uint64_t live, byte_ms, last_ms, most;
	uint64_t sizes[BLOCKS];
};

static void pass_time(struct raw *raw, uint64_t ms)
{
	raw->byte_ms += raw->live * (ms - raw->last_ms);
	raw->last_ms = ms;
}

static void do_something(struct fixture *fixture, struct raw *raw, uint32_t pid, uint64_t ms,
			 uint64_t random)
{
	const size_t block = random / 7 % BLOCKS;
	const uint64_t addr = 0x10000 * (block + 1), size = random / 1000 % 100000 + 1;
	union record record;

	pass_time(raw, ms);
	if (random % 5 == 0) {
		record = record_launch("cuLaunchKernel", 0x77);
		raw->launches++;
	} else if (raw->sizes[block]) {
		feed_free(fixture, pid, pid * SECOND_NS, ms * MS_NS, addr);
		raw->live -= raw->sizes[block];
		raw->free_bytes += raw->sizes[block];
		raw->sizes[block] = 0;
		raw->frees++;
		return;
	} else {
		record = record_alloc("cuMemAlloc_v2", addr, size);
		raw->live += size;
		raw->alloc_bytes += size;
		raw->sizes[block] = size;
		raw->allocs++;
	}
	raw->most = raw->live > raw->most ? raw->live : raw->most;
	feed(fixture, record_at(ms * MS_NS, record_of(pid, pid * SECOND_NS, record)));
}

static void check(const struct raw raws[PROCESSES])
{
	uint32_t i;
	int level;

	for (level = 0; level < HISTORY_LEVELS; level++)
		for (i = 0; i < PROCESSES; i++) {
			const uint32_t pid = 101 + i;

			assert_int_equal(sum("allocs", level, pid), raws[i].allocs);
			assert_int_equal(sum("alloc_bytes", level, pid), raws[i].alloc_bytes);
			assert_int_equal(sum("frees", level, pid), raws[i].frees);
			assert_int_equal(sum("free_bytes", level, pid), raws[i].free_bytes);
			assert_int_equal(sum("byte_ms", level, pid), raws[i].byte_ms);
			assert_int_equal(launches(level, pid), raws[i].launches);
		}
}

/* Rollups are what the records say, to the byte and the millisecond, at every level. */
static void rollups_are_the_records(void **unused)
{
	struct raw raws[PROCESSES] = { 0 };
	uint64_t random = 42, ms = 1000, i;
	struct fixture fixture;
	char sql[128];

	(void)unused;
	begin(&fixture);
	for (i = 0; i < 6000; i++) {
		const uint32_t which = (random = unit_random(random)) % PROCESSES;

		do_something(&fixture, &raws[which], 101 + which, ms, random = unit_random(random));
		/* At times, nothing happens for minutes. */
		random = unit_random(random);
		ms += random % 50 ? random % 1500 : random % 200000;
	}
	/* The last of them ends. */
	pass_time(&raws[2], ms);
	feed(&fixture, record_at(ms * MS_NS, record_of(103, 103 * SECOND_NS, record_exit(0))));
	raws[2].live = 0;
	for (i = 0; i < PROCESSES; i++)
		pass_time(&raws[i], ms + 5000);
	history_sampler_finish(fixture.sampler, (ms + 5000) * MS_NS);
	assert_int_equal(history_sampler_missed(fixture.sampler), 0);
	assert_true(fixture.batches > 1000);
	end(&fixture);
	check(raws);
	for (i = 0; i < HISTORY_LEVELS; i++) {
		snprintf(sql, sizeof(sql), "SELECT sum(ms) FROM span WHERE level = %d", (int)i);
		assert_int_equal(ask(sql), ms + 5000);
		snprintf(sql, sizeof(sql),
			 "SELECT max(max_bytes) FROM memory JOIN process ON id = process"
			 " WHERE level = %d AND pid = 101",
			 (int)i);
		assert_int_equal(ask(sql), raws[0].most);
	}
}

static const struct history_row *find(const struct history_usage *usage, uint64_t pid)
{
	size_t i;

	for (i = 0; i < usage->rows_count; i++)
		if (usage->rows[i].pid == pid)
			return &usage->rows[i];
	fail_msg("no row of process %llu", (unsigned long long)pid);
	return NULL;
}

static struct history_usage query(uint64_t from_s, uint64_t to_s, enum history_by by)
{
	const struct history_query asked = {
		.from_s = WALL_S + from_s, .to_s = WALL_S + to_s, .by = by, .points = true
	};
	struct history_reader *reader;
	struct history_usage usage;

	assert_int_equal(history_reader_open(&reader, PATH), 0);
	assert_int_equal(history_reader_query(reader, &asked, &usage), 0);
	history_reader_close(reader);
	return usage;
}

/* Held while nothing was launched, in steps of ten seconds. */
static void what_is_idle(void **unused)
{
	struct fixture fixture;
	struct history_usage usage;
	const struct history_row *row;

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	feed(&fixture, record_at(15 * SECOND_NS, record_launch("cuLaunchKernel", 0x77)));
	feed(&fixture, record_at(26 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x2000, 500)));
	feed_free(&fixture, RECORD_PID, RECORD_START_NS, 28 * SECOND_NS, 0x1000);
	feed(&fixture,
	     record_at(32 * SECOND_NS, record_failed(MS_CUDA_OUT_OF_MEMORY,
						     record_alloc("cuMemAlloc_v2", 0, 1 << 20))));
	history_sampler_finish(fixture.sampler, 40 * SECOND_NS);
	end(&fixture);
	usage = query(0, 40, HISTORY_BY_PROCESS);
	assert_int_equal(usage.level, HISTORY_10S);
	assert_int_equal(usage.observed_ms, 40000);
	row = find(&usage, RECORD_PID);

	/* 9 s and then 16 s of 1000 bytes, 2 s of 1500 and 12 s of 500 */
	assert_true(row->byte_ms == 25000 * 1000 + 2000 * 1500 + 12000 * 500);
	assert_true(row->idle_byte_ms == row->byte_ms - 10000 * 1000);
	assert_true(row->unknown_byte_ms == 0);
	assert_int_equal(row->peak_bytes, 1500);
	assert_int_equal(row->launches, 1);
	assert_int_equal(row->points_count, 4);
	assert_int_equal(row->points[0].mean_bytes, 900);
	assert_int_equal(row->points[1].mean_bytes, 1000);
	assert_int_equal(row->points[3].start_s, WALL_S + 30);
	assert_int_equal(row->points[3].max_bytes, 500);
	assert_int_equal(usage.events_count, 1);
	assert_int_equal(usage.events[0].ts_ms, (WALL_S + 32) * 1000);
	assert_int_equal(usage.events[0].pid, RECORD_PID);
	assert_int_equal(usage.events[0].bytes, 1 << 20);
	assert_string_equal(usage.events[0].what, "cuMemAlloc_v2");
	history_usage_fini(&usage);
	/* A part of it. */
	usage = query(10, 20, HISTORY_BY_USER);
	assert_int_equal(usage.rows_count, 1);
	assert_true(usage.rows[0].byte_ms == 10000 * 1000);
	assert_true(usage.rows[0].idle_byte_ms == 0);
	assert_int_equal(usage.events_count, 0);
	history_usage_fini(&usage);
}

/* While launches are not traced, it is not known whether there were any. */
static void what_may_be_idle(void **unused)
{
	union record budget = record_event(MS_TYPE_BUDGET, sizeof(struct ms_budget));
	struct fixture fixture;
	struct history_usage usage;

	(void)unused;
	begin(&fixture);
	budget.budget.step = MS_BUDGET_OFF;
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	feed(&fixture, record_at(12 * SECOND_NS, budget));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	end(&fixture);
	usage = query(0, 20, HISTORY_BY_PROCESS);
	assert_true(find(&usage, RECORD_PID)->idle_byte_ms == 9000 * 1000);
	assert_true(find(&usage, RECORD_PID)->unknown_byte_ms == 10000 * 1000);
	history_usage_fini(&usage);
}

/* ---- what happens to the file ---------------------------------------------------------------- */

/* One interval with so many processes. */
static void make_batch(struct history_batch *batch, uint64_t interval, uint32_t processes)
{
	static struct history_process names[1000];
	static struct history_memory memory[1000];
	static struct history_device device = { .key = "GPU-1" };
	uint32_t i;

	for (i = 0; i < processes; i++) {
		names[i] = (struct history_process){ .pid = 1000 + i,
						     .start_ns = interval / 8640 + 1,
						     .name = "a process",
						     .launches = i };
		memory[i] = (struct history_memory){ .process = i,
						     .space = "device",
						     .on_device = 1,
						     .held = { 10000, 1 << 30, 2u << 30,
							       10000ull << 30 } };
	}
	device.held = (struct history_held){ 10000, 1, 2, 20000 };
	*batch = (struct history_batch){ .start_ms = (WALL_S + 10 * interval) * 1000,
					 .ms = 10000,
					 .boot = "a boot",
					 .devices = &device,
					 .processes = names,
					 .memory = memory,
					 .devices_count = 1,
					 .processes_count = processes,
					 .memory_count = processes };
}

static int put(struct history_database *database, uint64_t interval, uint32_t processes)
{
	struct history_batch batch;

	make_batch(&batch, interval, processes);
	return history_database_put(database, &batch);
}

static void write_until_killed(int fd)
{
	struct history_database *database = history_database_open(&options);
	uint32_t i;

	for (i = 0; database && !put(database,
				     ask("SELECT count(*) FROM span"
					 " WHERE level = 0"),
				     20);
	     i++)
		if (write(fd, "+", 1) != 1)
			break;
	_exit(1);
}

/* At any moment: what has been written is there, and the file is whole. */
static void a_kill_loses_nothing_that_was_written(void **unused)
{
	const int kills = getenv("STRESS") ? 200 : 12;
	uint64_t random = 7, written = 0, there;
	int i, status, ends[2];
	ssize_t length;
	char bytes[4096];
	pid_t child;

	(void)unused;
	history_database_close(history_database_open(&options));
	for (i = 0; i < kills; i++) {
		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (!child)
			write_until_killed(ends[1]);
		assert_true(child > 0);
		close(ends[1]);
		random = unit_random(random);
		usleep(random % 40000);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		while ((length = read(ends[0], bytes, sizeof(bytes))) > 0)
			written += (uint64_t)length;
		close(ends[0]);
		there = ask("SELECT count(*) FROM span WHERE level = 0");
		/* One may have been written that was not said. */
		assert_in_range(there, written, written + 1);
		written = there;
		assert_int_equal(ask("SELECT count(*) FROM pragma_quick_check"
				     " WHERE quick_check <> 'ok'"),
				 0);
		assert_int_equal(ask("SELECT count(*) FROM memory WHERE level = 0"), 20 * there);
		assert_int_equal(ask("SELECT sum(byte_ms) FROM memory WHERE level = 2"),
				 (10000ull << 30) * 20 * there);
	}
	assert_int_not_equal(access(HISTORY_DAMAGED, F_OK), 0);
}

static void damage(off_t from, size_t length)
{
	char bytes[4096];
	int fd = open(PATH, O_WRONLY);

	memset(bytes, 0x5a, sizeof(bytes));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, length, from), length);
	close(fd);
}

static void a_damaged_one_is_set_aside(void **unused)
{
	struct history_database *database = history_database_open(&options);
	struct history_reader *reader;
	uint64_t i;

	(void)unused;
	for (i = 0; i < 10; i++)
		assert_int_equal(put(database, i, 100), 0);
	history_database_close(database);
	/* Its beginning; that of a page of a table; all of it is something else. */
	damage(0, 64);
	assert_int_equal(history_reader_open(&reader, PATH), -EILSEQ);
	database = history_database_open(&options);
	assert_int_equal(history_database_counts(database).set_aside, 1);
	assert_int_equal(access(HISTORY_DAMAGED, F_OK), 0);
	assert_int_equal(put(database, 11, 100), 0);
	history_database_close(database);
	damage(4096 * 12, 4096);
	database = history_database_open(&options);
	assert_int_equal(history_database_counts(database).set_aside, 1);
	assert_int_equal(put(database, 12, 100), 0);
	assert_int_equal(history_database_counts(database).written, 1);
	history_database_close(database);
	assert_int_equal(ask("SELECT count(*) FROM span WHERE level = 0"), 1);
}

/* A newer version's, or something else. */
static void one_of_another_version_is_set_aside(void **unused)
{
	struct history_database *database = history_database_open(&options);
	struct history_reader *reader;
	struct sqlite3 *handle;

	(void)unused;
	history_database_close(database);
	assert_int_equal(sqlite3_open_v2(PATH, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_exec(handle, "PRAGMA user_version = 99", NULL, NULL, NULL);
	sqlite3_close(handle);
	assert_int_equal(history_reader_open(&reader, PATH), -EPROTO);
	database = history_database_open(&options);
	assert_int_equal(history_database_counts(database).set_aside, 1);
	history_database_close(database);
	assert_int_equal(history_reader_open(&reader, PATH), 0);
	history_reader_close(reader);
}

/* The file cannot grow beyond its bound. What is missing is counted, and then it goes on. */
static void no_room_is_no_end(void **unused)
{
	const struct history_options small = { ".", 1 << 20, 400 * 86400 };
	struct history_database *database = history_database_open(&small);
	struct history_counts counts;
	struct stat status;
	uint64_t i;

	(void)unused;
	for (i = 0; i < 200; i++)
		put(database, i, 100);
	counts = history_database_counts(database);
	assert_int_equal(counts.written + counts.failed, 200);
	assert_true(counts.written > 100);
	assert_int_equal(stat(PATH, &status), 0);
	assert_true(status.st_size <= 1 << 20);
	/* The newest are there. */
	assert_true(ask("SELECT max(start) FROM span WHERE level = 0") > WALL_S + 1900);
	history_database_close(database);
}

/* A directory that is not there, or is no longer: as a disk that fails. */
static void a_disk_that_fails_is_no_end(void **unused)
{
	const struct history_options nowhere = { "nowhere", MOST, 86400 };
	struct history_database *database = history_database_open(&nowhere);

	(void)unused;
	assert_non_null(database);
	assert_int_not_equal(put(database, 1, 1), 0);
	assert_int_not_equal(put(database, 2, 1), 0);
	assert_int_equal(history_database_counts(database).failed, 2);
	assert_int_equal(mkdir("nowhere", 0700), 0);
	assert_int_equal(put(database, 3, 1), 0);
	assert_int_equal(history_database_counts(database).written, 1);
	history_database_close(database);
}

static void what_is_old_goes(void **unused)
{
	struct history_database *database = history_database_open(&options);
	uint64_t i;

	(void)unused;
	/* An interval each ten minutes, for 20 days, and one more than a year later. */
	for (i = 0; i < 20 * 144; i++)
		assert_int_equal(put(database, i * 60, 2), 0);
	assert_in_range(ask("SELECT count(*) FROM span WHERE level = 0"), 36, 37);
	assert_in_range(ask("SELECT count(*) FROM span WHERE level = 1"), 14 * 144, 14 * 144 + 1);
	assert_int_equal(ask("SELECT count(*) FROM span WHERE level = 2"), 20 * 24);
	assert_int_equal(ask("SELECT count(*) FROM process"), 40);
	assert_int_equal(put(database, 410 * 8640, 2), 0);
	/* Of the first ten days, nothing is left. */
	assert_int_equal(ask("SELECT count(*) FROM span WHERE level = 2"), 10 * 24 + 1);
	assert_int_equal(ask("SELECT count(*) FROM process"), 22);
	history_database_close(database);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void a_damaged_batch_is_refused(void **unused)
{
	struct string bytes = { 0 };
	struct history_batch batch;
	size_t i;
	char *copy;

	(void)unused;
	make_batch(&batch, 1, 3);
	history_batch_append(&bytes, &batch);
	assert_int_equal(history_batch_parse(&batch, bytes.bytes, bytes.length), 0);
	assert_int_equal(batch.memory_count, 3);
	for (i = 0; i < bytes.length; i += 3) {
		copy = malloc(i + 1);
		memcpy(copy, bytes.bytes, i);
		assert_int_equal(history_batch_parse(&batch, copy, i), -EINVAL);
		free(copy);
	}
	/* Whatever stands there, nothing outside of it is read. */
	for (i = 0; i < bytes.length; i++) {
		const char was = bytes.bytes[i];

		bytes.bytes[i] = (char)0xff;
		history_batch_parse(&batch, bytes.bytes, bytes.length);
		bytes.bytes[i] = was;
	}
	string_fini(&bytes);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, folder_enter, folder_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rollups_are_the_records),    TEST(what_is_idle),
		TEST(what_may_be_idle),           TEST(a_kill_loses_nothing_that_was_written),
		TEST(a_damaged_one_is_set_aside), TEST(one_of_another_version_is_set_aside),
		TEST(no_room_is_no_end),          TEST(a_disk_that_fails_is_no_end),
		TEST(what_is_old_goes),           TEST(a_damaged_batch_is_refused),
	};

	return unit_run("history", tests);
}
