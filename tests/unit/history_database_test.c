// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history's database: whatever happens to its writer and its file, it goes on.
 */
#include <signal.h>
#include <sys/wait.h>

#include "historied.h"
#include "base/log.h"
#include "history/faults.h"
#include "history/reader.h"

#define STEP_NS 10000000 /* in which the kernel says when a process began */

/* One interval with so many processes. */
static void make_batch(struct history_batch *batch, uint64_t interval, uint32_t processes)
{
	static struct history_process names[1000];
	static struct history_memory memory[1000];
	static struct history_device device = { .key = "GPU-1" };
	uint32_t i;

	for (i = 0; i < processes; i++) {
		names[i] = (struct history_process){ .pid = 1000 + i,
						     .start_ns = (interval / 8640 + 1) * STEP_NS,
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

#define EACH 40 /* processes */

/* SQLite writes through these: the last write that is left is half of one, and the end. */
static uint64_t writes_left;

static size_t die_soon(size_t bytes)
{
	return --writes_left ? bytes : bytes / 2;
}

static ssize_t dying_pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	const ssize_t done = pwrite(fd, bytes, die_soon(length), offset);

	if (!writes_left)
		raise(SIGKILL);
	return done;
}

static ssize_t dying_write(int fd, const void *bytes, size_t length)
{
	const ssize_t done = write(fd, bytes, die_soon(length));

	if (!writes_left)
		raise(SIGKILL);
	return done;
}

static void write_until_killed(int fd, uint64_t interval, uint64_t writes)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	struct history_database *database;

	writes_left = writes;
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)dying_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)dying_pwrite);
	vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)dying_write);
	database = history_database_open(&options);
	while (database && !put(database, interval++, EACH))
		if (write(fd, "+", 1) != 1)
			break;
	_exit(1);
}

/* Kills a writer in its n-th write. `*written` becomes the number of batches that are there. */
static void kill_in_write(uint64_t nth, uint64_t *written)
{
	int status, ends[2];
	uint64_t there;
	char byte;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child)
		write_until_killed(ends[1], *written, nth);
	assert_true(child > 0);
	close(ends[1]);
	while (read(ends[0], &byte, 1) == 1)
		++*written;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	there = ask("SELECT count(*) FROM span WHERE level = 0");
	/* One may have been written that was not said. */
	assert_in_range(there, *written, *written + 1);
	*written = there;
}

/* At any moment: what has been written is there, and the file is whole. */
static void a_kill_loses_nothing_that_was_written(void **unused)
{
	const unsigned int stride = unit_stride(17);
	uint64_t written = 0, nth;

	(void)unused;
	history_database_close(history_database_open(&options));
	for (nth = 1; nth <= 200; nth += stride) {
		kill_in_write(nth, &written);
		assert_int_equal(ask("SELECT count(*) FROM pragma_quick_check"
				     " WHERE quick_check <> 'ok'"),
				 0);
		assert_int_equal(ask("SELECT count(*) FROM memory WHERE level = 0"),
				 EACH * written);
		assert_int_equal(ask("SELECT coalesce(sum(byte_ms), 0) FROM memory"
				     " WHERE level = 2"),
				 (10000ull << 30) * EACH * written);
	}
	assert_true(written > 0);
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

/* Whatever bytes it is made of: a query says so, or gives something. */
static void any_bytes_can_be_asked(void **unused)
{
	const struct history_query query = {
		.from_s = WALL_S, .to_s = WALL_S + 1000, .points = true, .rows_pointed = 10
	};
	struct history_database *database = history_database_open(&options);
	uint64_t random = 99, size, i, failed = 0, first_s, end_s;
	struct history_reader *reader;
	struct history_usage usage = { 0 };
	const int tries = getenv("STRESS") ? 3000 : 150;
	struct stat status;
	char was[8];
	int fd, err;

	(void)unused;
	for (i = 0; i < 30; i++)
		assert_int_equal(put(database, i, 20), 0);
	history_database_close(database);
	fd = open(PATH, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	size = (uint64_t)status.st_size;
	for (i = 0; i < (uint64_t)tries; i++) {
		const off_t at = (off_t)((random = unit_random(random)) % (size - sizeof(was)));

		random = unit_random(random);
		assert_int_equal(pread(fd, was, sizeof(was), at), sizeof(was));
		assert_int_equal(pwrite(fd, &random, 1 + random % sizeof(was), at),
				 1 + random % sizeof(was));
		err = history_reader_open(&reader, PATH);
		if (!err) {
			err = history_reader_range(reader, &first_s, &end_s);
			if (!err)
				err = history_reader_query(reader, &query, &usage);
			history_usage_fini(&usage);
			history_reader_close(reader);
		}
		failed += err != 0;
		assert_int_equal(pwrite(fd, was, sizeof(was), at), sizeof(was));
	}
	close(fd);
	assert_true(failed > 0);
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

static uint64_t journal_bytes(void)
{
	struct stat status;

	return stat(PATH "-wal", &status) ? 0 : (uint64_t)status.st_size;
}

/* As one that was stopped while it read. */
static void a_reader_that_stands_still_is_no_end(void **unused)
{
	struct history_database *database = history_database_open(&options);
	struct sqlite3_stmt *statement;
	struct sqlite3 *reader;
	uint64_t i;

	(void)unused;
	put(database, 0, 10);
	assert_int_equal(sqlite3_open_v2(PATH, &reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(reader, "SELECT * FROM process", -1, &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	for (i = 1; i < 1000 && !history_database_counts(database).failed; i++)
		put(database, i, 500);
	assert_int_equal(history_database_counts(database).failed, 1);
	assert_int_equal(history_database_counts(database).written, i - 1);
	assert_true(journal_bytes() > HISTORY_JOURNAL_MOST);
	assert_true(journal_bytes() < HISTORY_JOURNAL_MOST + (4 << 20));
	sqlite3_finalize(statement);
	sqlite3_close(reader);
	assert_int_equal(put(database, i, 10), 0);
	assert_true(journal_bytes() <= 4 << 20);
	assert_int_equal(history_database_counts(database).set_aside, 0);
	history_database_close(database);
}

static char said[1024];

static void note_message(void *context, const char *line)
{
	(void)context;
	snprintf(said, sizeof(said), "%s", line);
}

/* Whatever stands at the place of a history, it is said what it is. */
static void a_newer_one_can_go_on_later(void **unused)
{
	struct history_database *database = history_database_open(&options);
	struct sqlite3 *handle;

	(void)unused;
	put(database, 1, 3);
	history_database_close(database);
	assert_int_equal(sqlite3_open_v2(PATH, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_exec(handle, "PRAGMA user_version = 2", NULL, NULL, NULL);
	sqlite3_close(handle);
	log_divert(note_message, NULL);
	database = history_database_open(&options);
	log_divert(NULL, NULL);
	assert_non_null(
		strstr(said, "written by a newer version of memscope-bpf, which can go on"));
	assert_non_null(strstr(said, HISTORY_DAMAGED " now"));
	history_database_close(database);
	/* As the message says. */
	unlink(PATH "-wal");
	assert_int_equal(rename(HISTORY_DAMAGED, PATH), 0);
	assert_int_equal(sqlite3_open_v2(PATH, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_exec(handle, "PRAGMA user_version = 1", NULL, NULL, NULL);
	sqlite3_close(handle);
	assert_int_equal(ask("SELECT count(*) FROM process"), 3);
	assert_string_equal(history_faults_of_file("nowhere"), "not a history of this version");
	assert_string_equal(history_faults_of_file("."), "not a history of this version");
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

/* Of more than a query takes: what is left out is summed up, and few have points. */
static void a_query_is_bounded(void **unused)
{
	const struct history_query query = {
		.from_s = WALL_S, .to_s = WALL_S + 51 * 86400, .points = true, .rows_pointed = 2
	};
	struct history_database *database = history_database_open(&options);
	unsigned __int128 byte_ms = 0;
	struct history_usage usage;
	struct history_reader *reader;
	size_t i, pointed = 0;

	(void)unused;
	/* Each day, 1000 other processes. */
	for (i = 0; i < 51; i++)
		assert_int_equal(put(database, i * 8640, 1000), 0);
	history_database_close(database);
	assert_int_equal(history_reader_open(&reader, PATH), 0);
	assert_int_equal(history_reader_query(reader, &query, &usage), 0);
	history_reader_close(reader);
	assert_int_equal(usage.rows_count, 50001);
	assert_string_equal(usage.rows[0].name, HISTORY_OTHERS);
	assert_int_equal(usage.rows[0].processes, 1000);
	assert_int_equal(usage.rows[0].pid, 0);
	for (i = 0; i < usage.rows_count; i++) {
		byte_ms += usage.rows[i].byte_ms;
		pointed += usage.rows[i].points_count != 0;
	}
	assert_true(byte_ms == (unsigned __int128)51 * 1000 * 10000 << 30);
	assert_int_equal(pointed, 2);
	/* 1224 hours, in steps of two. */
	assert_int_equal(usage.step_s, 7200);
	assert_int_equal(usage.to_s - usage.from_s, 51 * 86400);
	history_usage_fini(&usage);
}

/* Several hours are one point: the mean is over all of them, and the maximum that of one. */
static void hours_are_put_together(void **unused)
{
	const struct history_query query = {
		.from_s = WALL_S, .to_s = WALL_S + 51 * 86400, .points = true, .rows_pointed = 2
	};
	struct history_database *database = history_database_open(&options);
	struct history_usage usage;
	struct history_reader *reader;
	uint64_t i;

	(void)unused;
	for (i = 0; i < 5; i++)
		assert_int_equal(put(database, i * 360, 1), 0);
	history_database_close(database);
	assert_int_equal(history_reader_open(&reader, PATH), 0);
	assert_int_equal(history_reader_query(reader, &query, &usage), 0);
	history_reader_close(reader);
	assert_int_equal(usage.rows_count, 1);
	assert_int_equal(usage.rows[0].points_count, 3);
	assert_int_equal(usage.rows[0].points[1].start_s, WALL_S + 7200);
	assert_int_equal(usage.rows[0].points[1].max_bytes, 2u << 30);
	assert_in_range(usage.rows[0].points[1].mean_bytes, (20ull << 30) / 7200 - 2,
			(20ull << 30) / 7200);
	assert_int_equal(usage.rows[0].points[2].mean_bytes, (10ull << 30) / 7200);
	history_usage_fini(&usage);
}

/* Each reason stays: one agent lost records of it, the next one came late to it. */
static void what_is_not_exact_stays_so(void **unused)
{
	static const uint64_t reasons[] = { HISTORY_MORE_OR_LESS, HISTORY_HELD_BEFORE, 0 };
	struct history_database *database = history_database_open(&options);
	struct history_process process;
	struct history_batch batch;
	size_t i;

	(void)unused;
	for (i = 0; i < 3; i++) {
		make_batch(&batch, i, 1);
		process = batch.processes[0];
		process.inexact = reasons[i];
		batch.processes = &process;
		assert_int_equal(history_database_put(database, &batch), 0);
	}
	history_database_close(database);
	assert_int_equal(ask("SELECT inexact FROM process"),
			 HISTORY_MORE_OR_LESS | HISTORY_HELD_BEFORE);
}

/* An interval that says that it took a day, after which a clock is believed. */
static void put_day(struct history_database *database, uint64_t interval)
{
	struct history_batch batch;

	make_batch(&batch, interval, 2);
	batch.ms = 86400 * 1000;
	assert_int_equal(history_database_put(database, &batch), 0);
}

/* What is written goes where a reader finds it. */
static void a_deleted_file_is_made_anew(void **unused)
{
	struct history_database *database = history_database_open(&options);

	(void)unused;
	assert_int_equal(put(database, 0, 1), 0);
	assert_int_equal(unlink(PATH), 0);
	unlink(PATH "-wal");
	unlink(PATH "-shm");
	assert_int_equal(put(database, 1, 1), 0);
	assert_int_equal(access(PATH, F_OK), 0);
	assert_int_equal(ask("SELECT count(*) FROM span WHERE level = 0"), 1);
	assert_int_equal(history_database_counts(database).written, 2);
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
	put_day(database, 410 * 8640);
	/* Of the first ten days, nothing is left. */
	assert_int_equal(ask("SELECT count(*) FROM span WHERE level = 2"), 10 * 24 + 1);
	assert_int_equal(ask("SELECT count(*) FROM process"), 22);
	history_database_close(database);
}

static const char whole_hours[] = "SELECT count(*) FROM span WHERE level = 2";

/* It is a year in the future, or at its beginning, for a while: nothing is lost. */
static void a_wrong_clock_deletes_nothing(void **unused)
{
	const struct history_options year = { ".", MOST, 300 * 86400 };
	struct history_database *database = history_database_open(&year);
	uint64_t i;

	(void)unused;
	for (i = 0; i < 10; i++)
		assert_int_equal(put(database, i * 360, 2), 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(put(database, 365 * 8640 + i * 6, 2), 0);
	assert_int_equal(ask(whole_hours), 11);
	/* Once it is right again, what it wrote is not in the way. */
	assert_int_equal(put(database, 10 * 360, 2), 0);
	assert_int_equal(ask(whole_hours), 11);
	assert_int_equal(ask("SELECT max(start) FROM span"), WALL_S + 36000);
	assert_true(ask("SELECT max(last) FROM process") <= WALL_S + 36000);
	history_database_close(database);
	/* The same if the writer begins anew in between: when it has been so for a day. */
	database = history_database_open(&year);
	assert_int_equal(put(database, 365 * 8640, 2), 0);
	history_database_close(database);
	database = history_database_open(&year);
	assert_int_equal(put(database, 11 * 360, 2), 0);
	assert_int_equal(ask(whole_hours), 13);
	put_day(database, 12 * 360);
	assert_int_equal(ask(whole_hours), 13);
	assert_int_equal(ask("SELECT max(start) FROM span"), WALL_S + 12 * 3600);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kill_loses_nothing_that_was_written),
		TEST(a_damaged_one_is_set_aside),
		TEST(any_bytes_can_be_asked),
		TEST(one_of_another_version_is_set_aside),
		TEST(no_room_is_no_end),
		TEST(a_reader_that_stands_still_is_no_end),
		TEST(a_newer_one_can_go_on_later),
		TEST(a_disk_that_fails_is_no_end),
		TEST(a_deleted_file_is_made_anew),
		TEST(what_is_old_goes),
		TEST(a_wrong_clock_deletes_nothing),
		TEST(a_query_is_bounded),
		TEST(hours_are_put_together),
		TEST(what_is_not_exact_stays_so),
		TEST(a_damaged_batch_is_refused),
	};

	return unit_run("history_database", tests);
}
