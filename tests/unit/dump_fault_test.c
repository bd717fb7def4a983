// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writing and reading that fail: each write in turn, and each read. What was complete before stays
 * complete, what comes after is written, and what is missing is counted.
 *
 * Allocations that fail are in failure_test.c.
 */
#include "any_records.h"
#include "dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "store/dump_file.h"

#define STEPS 1200
#define PER_SEGMENT 300
#define PER_BLOCK 50

/* ---- calls that fail ------------------------------------------------------------------------- */

static long until_write_fails = -1, until_read_fails = -1; /* calls; -1: none does */
static size_t most_bytes = SIZE_MAX;                       /* of one call */

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	struct iovec first = parts[0];
	int i;

	if (until_write_fails >= 0 && until_write_fails-- == 0) {
		errno = ENOSPC;
		return -1;
	}
	for (i = 1; !first.iov_len && i < count; i++)
		first = parts[i];
	if (most_bytes == SIZE_MAX)
		return syscall(SYS_writev, fd, parts, count);
	first.iov_len = first.iov_len < most_bytes ? first.iov_len : most_bytes;
	return syscall(SYS_write, fd, first.iov_base, first.iov_len);
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	if (until_read_fails >= 0 && until_read_fails-- == 0) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, buffer, length < most_bytes ? length : most_bytes, offset);
}

static void no_more_failures(void)
{
	until_write_fails = until_read_fails = -1;
	most_bytes = SIZE_MAX;
}

/* ---- a recording ----------------------------------------------------------------------------- */

struct written {
	uint64_t failed; /* calls */
	struct dump_writer_counts counts;
};

/* Goes on whatever fails, as a recording does. */
static struct written write_records(const struct dump_writer_options *options)
{
	struct pipeline live = { 0 };
	struct dump_writer *writer = dump_writer_new(options);
	struct properties end = { 0 };
	struct written written = { 0 };
	uint64_t step;

	assert_non_null(writer);
	any_state = 88172645463325252;
	for (step = 0; step < STEPS; step++) {
		union record record = any_record(step);
		uint64_t now_ns = 1000000000 + step * 1000;

		if (step % PER_SEGMENT == 0)
			written.failed +=
				dump_writer_segment(writer, &live.state, now_ns) == -ENOSPC;
		else if (step % PER_BLOCK == 0)
			written.failed += dump_writer_flush(writer, now_ns) == -ENOSPC;
		written.failed += dump_writer_add(writer, &record) == -ENOSPC;
		pipeline_feed(&live, &record, record.event.size);
	}
	written.failed += dump_writer_end(writer, &end, 2000000000) == -ENOSPC;
	written.counts = *dump_writer_counts(writer);
	dump_writer_free(writer);
	state_fini(&live.state);
	return written;
}

/* ---- blocks that cannot be handed on --------------------------------------------------------- */

struct refusing {
	struct dump dump;
	long until_refusal;
	struct block_header refused;
};

static int refuse_block(void *context, const struct block_header *header, const void *stored)
{
	struct refusing *refusing = context;

	if (refusing->until_refusal-- == 0) {
		refusing->refused = *header;
		return -ENOSPC;
	}
	return dump_write_block(&refusing->dump, header, stored);
}

/* All but that block is there, and what was in it is known to be missing. */
static void check_refused(const struct refusing *refusing, const struct written *written)
{
	struct pipeline pipeline = { 0 };
	struct replay *replay =
		dump_read(&pipeline, refusing->dump.bytes.bytes, refusing->dump.bytes.length);
	const struct recording_account *account = replay_account(replay);
	const struct block_header *refused = &refusing->refused;
	bool in_between = refused->sequence && refused->type != BLOCK_INDEX;

	assert_int_equal(written->failed, 1);
	assert_int_equal(written->counts.unwritten_blocks, 1);
	assert_int_equal(written->counts.unwritten_records,
			 refused->type == BLOCK_EVENTS ? refused->records : 0);
	assert_int_equal(account->damaged_places + account->refused + pipeline.refused, 0);
	assert_int_equal(account->events + account->unanchored + written->counts.unwritten_records,
			 STEPS);
	if (account->unanchored)
		assert_true(refused->sequence < 3);
	/*
	 * A segment whose beginning cannot be written is given up: more than one block is missing.
	 */
	if (in_between && refused->type == BLOCK_EVENTS)
		assert_int_equal(account->missing_blocks, 1);
	else if (in_between)
		assert_true(account->missing_blocks >= 1 || refused->type == BLOCK_END);
	assert_int_equal(account->has_end, refused->type != BLOCK_END);
	replay_free(replay);
	state_fini(&pipeline.state);
}

static void test_every_block_that_cannot_be_written(void **state)
{
	long nth;

	(void)state;
	for (nth = 0; nth < 1000; nth++) {
		struct refusing refusing = { .until_refusal = nth };
		const struct dump_writer_options options = { .recording = 1,
							     .write = refuse_block,
							     .describe = dump_describe,
							     .context = &refusing };
		struct written written = write_records(&options);

		if (refusing.until_refusal >= 0) {
			assert_true(nth > 20);
			string_fini(&refusing.dump.bytes);
			return;
		}
		check_refused(&refusing, &written);
		string_fini(&refusing.dump.bytes);
	}
	fail_msg("it never succeeds");
}

/* ---- files ----------------------------------------------------------------------------------- */

static char path[] = "/tmp/memscope-dump-fault-XXXXXX/x.mscope";
static char *const directory_end = path + sizeof(path) - sizeof("/x.mscope");

static int make_directory(void **state)
{
	(void)state;
	*directory_end = '\0';
	assert_non_null(mkdtemp(path));
	*directory_end = '/';
	log_set_level(LOG_ERROR);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	*directory_end = '\0';
	return rmdir(path);
}

static int to_file(void *context, const struct block_header *header, const void *stored)
{
	return dump_file_write(context, header, stored);
}

static struct written write_file(void)
{
	struct dump_file file;
	const struct dump_writer_options options = {
		.recording = 1, .write = to_file, .describe = dump_describe, .context = &file
	};
	struct written written;

	assert_int_equal(dump_file_open(&file, path, ""), 0);
	written = write_records(&options);
	assert_int_equal(dump_file_close(&file), 0);
	return written;
}

struct dump_input {
	int err;
	uint64_t blocks, bytes, damaged;
	struct recording_account account;
};

static struct dump_input read_file(void)
{
	struct pipeline pipeline = { 0 };
	struct replay *replay = replay_new(&pipeline, NULL);
	struct dump_input reading = { 0 };
	struct dump_reader *reader;
	struct dump_item item = { 0 };

	assert_non_null(replay);
	assert_int_equal(dump_reader_open(&reader, path), 0);
	do {
		reading.err = dump_reader_next(reader, &item);
		if (reading.err)
			break;
		assert_int_equal(replay_item(replay, &item), 0);
		reading.blocks += item.kind == DUMP_BLOCK;
		reading.damaged += item.kind == DUMP_DAMAGE || item.kind == DUMP_CUT_SHORT;
		reading.bytes += item.bytes;
	} while (item.kind != DUMP_END);
	if (!reading.err)
		assert_int_equal(reading.bytes, dump_reader_size(reader));
	reading.account = *replay_account(replay);
	dump_reader_close(reader);
	replay_free(replay);
	state_fini(&pipeline.state);
	return reading;
}

/* Returns whether it came to the failure. */
static bool fail_write(long nth, size_t most)
{
	struct written written;
	struct dump_input reading;
	bool failed;

	until_write_fails = nth;
	most_bytes = most;
	written = write_file();
	failed = until_write_fails < 0;
	no_more_failures();
	reading = read_file();
	assert_int_equal(unlink(path), 0);
	assert_int_equal(reading.damaged, 0);
	assert_int_equal(written.counts.unwritten_blocks, failed);
	assert_int_equal(reading.bytes, written.counts.bytes);
	assert_int_equal(reading.account.events + reading.account.unanchored +
				 written.counts.unwritten_records,
			 STEPS);
	return failed;
}

static void test_every_write_that_fails(void **state)
{
	long nth = 0;

	(void)state;
	while (fail_write(nth, SIZE_MAX))
		nth += unit_stride(5);
	assert_true(nth > 20);
	/* Some bytes of the block have got there by then. */
	nth = 0;
	while (fail_write(nth, 150))
		nth += unit_stride(7);
	assert_true(nth > 60);
}

static void test_every_read_that_fails(void **state)
{
	struct dump_input reading;
	long nth;

	(void)state;
	write_file();
	for (nth = 0;; nth++) {
		most_bytes = 1000;
		until_read_fails = nth;
		reading = read_file();
		if (until_read_fails >= 0)
			break;
		assert_int_equal(reading.err, -EIO);
		assert_int_equal(reading.damaged, 0);
	}
	no_more_failures();
	assert_int_equal(unlink(path), 0);
	assert_true(nth > 20);
	assert_int_equal(reading.err, 0);
	assert_int_equal(reading.account.events, STEPS);
}

static void test_a_file_that_becomes_shorter(void **state)
{
	struct pipeline pipeline = { 0 };
	struct dump_reader *reader;
	struct dump_item item;
	struct written written;

	(void)state;
	written = write_file();
	assert_int_equal(dump_reader_open(&reader, path), 0);
	assert_int_equal(truncate(path, 1000), 0);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
	} while (item.kind != DUMP_END);
	assert_int_equal(item.offset, 1000);
	assert_true(written.counts.bytes > 1000);
	dump_reader_close(reader);
	assert_int_equal(unlink(path), 0);
	state_fini(&pipeline.state);
}

static void test_files_that_are_not_overwritten_or_followed(void **state)
{
	struct dump_file file;

	(void)state;
	write_file();
	assert_int_equal(dump_file_open(&file, path, ""), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/tmp/memscope-dump-fault-nothing", path), 0);
	assert_int_equal(dump_file_open(&file, path, ""), -EEXIST);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_block_that_cannot_be_written),
		cmocka_unit_test(test_every_write_that_fails),
		cmocka_unit_test(test_every_read_that_fails),
		cmocka_unit_test(test_a_file_that_becomes_shorter),
		cmocka_unit_test(test_files_that_are_not_overwritten_or_followed),
	};

	return (cmocka_set_message_output(CM_OUTPUT_TAP),
		cmocka_run_group_tests_name("dumps that cannot be written or read", tests,
					    make_directory, remove_directory));
}
