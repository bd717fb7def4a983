// SPDX-License-Identifier: BSD-2-Clause
/*
 * What others do to a dump's file while it is written, and what is said of it before the next
 * block: what is gone, what stays, and where it goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "base/log.h"
#include "store/dump_file.h"

#define BLOCKS 5
#define RECORDS 3 /* in each, but for the first */

static char directory[] = "/tmp/memscope-dump-file-XXXXXX";
static char path[64], other[64];
static struct dump_file file;
static struct block_coder *coder;

static void write_block(enum block_type type, uint64_t recording)
{
	struct block_header header = { .type = type,
				       .recording = recording,
				       .sequence = file.has.blocks,
				       .records = type == BLOCK_EVENTS ? RECORDS : 0 };
	const size_t bytes = 20;
	const void *stored = block_encode(coder, &header, "twenty bytes of text", &bytes, 1);

	assert_int_equal(dump_file_write(&file, &header, stored), 0);
}

static void write_blocks(uint64_t recording)
{
	write_block(BLOCK_SEGMENT, recording);
	while (file.has.blocks < BLOCKS)
		write_block(BLOCK_EVENTS, recording);
}

#define BLOCK_BYTES (sizeof(struct block_header) + 20)

static int begin(void **state)
{
	(void)state;
	assert_int_equal(dump_file_open(&file, path, ""), 0);
	write_blocks(7);
	return 0;
}

static int end(void **state)
{
	(void)state;
	dump_file_close(&file);
	unlink(path);
	unlink(other);
	return 0;
}

static void put(const char *to, const void *bytes, size_t length)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static uint64_t size_of(const char *of)
{
	struct stat status;

	assert_int_equal(stat(of, &status), 0);
	return status.st_size;
}

/* The file has so many whole blocks, all others are gone, and it can be written to. */
static void assert_cut(uint64_t blocks)
{
	struct dump_extent lost = { 0 };
	const uint64_t records = blocks ? (blocks - 1) * RECORDS : 0;

	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_CUT);
	assert_int_equal(lost.blocks, BLOCKS - blocks);
	assert_int_equal(lost.records, (BLOCKS - 1) * RECORDS - records);
	assert_int_equal(lost.bytes, (BLOCKS - blocks) * BLOCK_BYTES);
	assert_int_equal(file.has.blocks, blocks);
	assert_int_equal(file.has.records, records);
	assert_int_equal(size_of(path), blocks * BLOCK_BYTES);
	write_block(BLOCK_SEGMENT, 7);
	assert_int_equal(size_of(path), (blocks + 1) * BLOCK_BYTES);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
}

static void assert_there(void)
{
	struct dump_extent lost = { 0 };

	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
	assert_int_equal(lost.bytes, 0);
	assert_int_equal(size_of(path), BLOCKS * BLOCK_BYTES);
	assert_int_equal(file.has.blocks, BLOCKS);
	write_block(BLOCK_EVENTS, 7);
	assert_int_equal(size_of(path), (BLOCKS + 1) * BLOCK_BYTES);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
}

static void test_nothing(void **state)
{
	(void)state;
	assert_there();
}

static void test_truncated_to_any_size(void **state)
{
	size_t bytes;

	for (bytes = 0; bytes < BLOCKS * BLOCK_BYTES; bytes++) {
		assert_int_equal(truncate(path, (off_t)bytes), 0);
		assert_cut(bytes / BLOCK_BYTES);
		end(state);
		begin(state);
	}
}

/* As a block leaves it that was written between the truncation and the look at the file. */
static void test_a_hole_where_the_beginning_was(void **state)
{
	(void)state;
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(truncate(path, BLOCKS * BLOCK_BYTES), 0);
	assert_cut(0);
}

static void test_written_over(void **state)
{
	struct dump_file before;
	char bytes[2 * BLOCKS * BLOCK_BYTES];

	memset(bytes, 'M', sizeof(bytes));
	put(path, bytes, sizeof(bytes));
	assert_cut(0);
	/* By another recording. */
	end(state);
	begin(state);
	before = file;
	assert_int_equal(dump_file_open(&file, other, ""), 0);
	write_blocks(8);
	assert_int_equal(pread(file.fd, bytes, BLOCKS * BLOCK_BYTES, 0), BLOCKS * BLOCK_BYTES);
	dump_file_close(&file);
	file = before;
	put(path, bytes, BLOCKS * BLOCK_BYTES);
	assert_cut(0);
}

/* It would be in the way of what comes next. */
static void test_what_is_written_behind_it_goes(void **state)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	(void)state;
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	assert_there();
}

static void test_removed(void **state)
{
	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_there();
}

static void assert_lost(void)
{
	struct dump_extent lost = { 0 };

	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
	assert_true(file.is_lost);
	write_block(BLOCK_EVENTS, 7);
	/* Not at every block. */
	assert_true(file.retry_ns > 0);
	file.retry_ns = 0;
}

static void test_removed_and_its_name_taken(void **state)
{
	struct dump_extent lost = { 0 };

	(void)state;
	assert_int_equal(unlink(path), 0);
	put(path, "precious", 8);
	assert_lost();
	assert_int_equal(size_of(path), 8);
	/* One that is empty and that others may read is theirs, too. */
	put(path, "", 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_lost();
	assert_int_equal(size_of(path), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_lost();
	assert_int_not_equal(access(other, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	put(path, "", 0);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
	assert_false(file.is_lost);
	assert_int_equal(size_of(path), (BLOCKS + 3) * BLOCK_BYTES);
}

static void test_renamed(void **state)
{
	struct dump_extent lost = { 0 };

	(void)state;
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_ELSEWHERE);
	/* What was to come next can still be put there. */
	write_block(BLOCK_EVENTS, 7);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_ELSEWHERE);
	assert_int_equal(dump_file_move(&file), 0);
	assert_int_equal(file.has.bytes, 0);
	write_block(BLOCK_SEGMENT, 7);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
	assert_int_equal(size_of(other), (BLOCKS + 1) * BLOCK_BYTES);
	assert_int_equal(size_of(path), BLOCK_BYTES);
}

static void test_renamed_and_its_name_taken(void **state)
{
	struct dump_extent lost = { 0 };

	(void)state;
	assert_int_equal(rename(path, other), 0);
	put(path, "precious", 8);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_ELSEWHERE);
	assert_int_equal(dump_file_move(&file), -EEXIST);
	write_block(BLOCK_EVENTS, 7);
	assert_int_equal(size_of(other), (BLOCKS + 1) * BLOCK_BYTES);
	assert_int_equal(size_of(path), 8);
	/* Back again. */
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(dump_file_check(&file, &lost), DUMP_FILE_THERE);
	assert_false(file.is_elsewhere);
	assert_int_equal(size_of(path), (BLOCKS + 1) * BLOCK_BYTES);
}

static void test_a_stream_that_is_a_file(void **state)
{
	const int kept = dup(STDOUT_FILENO);
	struct dump_extent lost = { 0 };
	uint64_t size;
	int state_then, state_later;

	end(state);
	fflush(stdout);
	put(path, "", 0);
	assert_int_equal(dup2(open(path, O_WRONLY), STDOUT_FILENO), STDOUT_FILENO);
	assert_int_equal(dump_file_open_stdout(&file), 0);
	write_blocks(7);
	assert_int_equal(truncate(path, 10), 0);
	state_then = dump_file_check(&file, &lost);
	write_block(BLOCK_SEGMENT, 7);
	state_later = dump_file_check(&file, &(struct dump_extent){ 0 });
	size = size_of(path);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	assert_int_equal(state_then, DUMP_FILE_CUT);
	assert_int_equal(lost.blocks, BLOCKS);
	assert_int_equal(lost.records, (BLOCKS - 1) * RECORDS);
	assert_int_equal(state_later, DUMP_FILE_THERE);
	assert_int_equal(size, 10 + BLOCK_BYTES);
}

static int make_directory(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.mscope", directory);
	snprintf(other, sizeof(other), "%s/b.mscope", directory);
	log_set_level(LOG_ERROR);
	coder = block_coder_new();
	return !coder;
}

static int remove_directory(void **state)
{
	(void)state;
	block_coder_free(coder);
	return rmdir(directory);
}

/* As another process sees it, while this one has that lock. */
static bool is_written_with(short lock)
{
	struct flock all = { .l_type = lock, .l_whence = SEEK_SET };
	const int fd = open(path, O_RDWR);
	int status;
	pid_t pid;

	assert_int_equal(fcntl(fd, F_SETLK, &all), 0);
	pid = fork();
	if (!pid)
		_exit(dump_file_is_written(path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	return WEXITSTATUS(status);
}

/* Anyone may lock what they read. */
static void test_a_reader_with_a_lock_does_not_write(void **state)
{
	(void)state;
	assert_true(is_written_with(F_WRLCK));
	assert_false(is_written_with(F_RDLCK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_truncated_to_any_size, begin, end),
		cmocka_unit_test_setup_teardown(test_a_hole_where_the_beginning_was, begin, end),
		cmocka_unit_test_setup_teardown(test_written_over, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_written_behind_it_goes, begin, end),
		cmocka_unit_test_setup_teardown(test_removed, begin, end),
		cmocka_unit_test_setup_teardown(test_removed_and_its_name_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_renamed, begin, end),
		cmocka_unit_test_setup_teardown(test_renamed_and_its_name_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_a_stream_that_is_a_file, begin, end),
		cmocka_unit_test_setup_teardown(test_a_reader_with_a_lock_does_not_write, begin,
						end),
	};

	return (cmocka_set_message_output(CM_OUTPUT_TAP),
		cmocka_run_group_tests_name("a dump's file", tests, make_directory,
					    remove_directory));
}
