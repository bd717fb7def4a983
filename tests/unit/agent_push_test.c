// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pushing metrics: where to, and which batches are kept when they cannot be sent.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/push_queue.h"
#include "agent/push_target.h"

static void targets_have_a_path(void **unused)
{
	static const char *const urls[][2] = {
		{ "http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics" },
		{ "http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/metrics" },
		{ "https://[::1]", "https://[::1]/v1/metrics" },
		{ "http://collector/api/v1/otlp?tenant=a",
		  "http://collector/api/v1/otlp?tenant=a" },
		{ "http://collector/a@b", "http://collector/a@b" },
	};
	struct push_target target;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		assert_null(push_target_parse(&target, PUSH_OTLP, urls[i][0]));
		assert_string_equal(target.url, urls[i][1]);
		assert_string_equal(target.socket, "");
	}
	assert_null(push_target_parse(&target, PUSH_OTLP, "unix:/run/otel.sock"));
	assert_string_equal(target.socket, "/run/otel.sock");
	assert_string_equal(target.url, "http://localhost/v1/metrics");
}

static void what_is_no_target(void **unused)
{
	static const char *const wrong[] = {
		"",          "127.0.0.1:4318", "ftp://a",  "http://",       "http:///v1",
		"http://:1", "http://a b",     "http://?", "http://u@a",    "http://a?b",
		"http://a#", "http://a/\x7f",  "unix:",    "unix:relative", "HTTP://a",
	};
	struct push_target target;
	char text[2000] = "unix:/";
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_non_null(push_target_parse(&target, PUSH_OTLP, wrong[i]));
	memset(text + strlen(text), 'a', 200);
	assert_non_null(push_target_parse(&target, PUSH_OTLP, text));
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "http://", 7);
	assert_non_null(push_target_parse(&target, PUSH_OTLP, text));
}

static void what_is_shown_of_a_url(void **unused)
{
	static const char *const texts[][2] = {
		{ "http://127.0.0.1:4318", "http://127.0.0.1:4318" },
		{ "http://collector/", "http://collector" },
		{ "unix:/run/otel.sock", "unix:/run/otel.sock" },
		{ "off", "off" },
		{ "", "" },
		{ "https://collector/v1/secret", "https://collector/..." },
		{ "https://collector?token=secret", "https://collector/..." },
		{ "https://collector:1#secret", "https://collector:1/..." },
		{ "http://user:secret@collector:4318", "http://...@collector:4318" },
		{ "http://user:se@cret@collector/v1", "http://...@collector/..." },
		{ "http://user:se/cret@collector/v1", "http://..." },
		{ "ftp://user:secret@", "ftp://...@" },
		{ "user:secret@collector:4318/v1/secret", "...@collector:4318..." },
		{ "https:/collector/v1?key=secret", "https:/collector/v1..." },
		{ "user:se?cret@collector", "...@collector" },
		{ "comm=ml-?, user=bob", "comm=ml-?, user=bob" },
	};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct string shown = { 0 };

		push_target_append_shown(&shown, texts[i][0]);
		string_append_char(&shown, '\0');
		assert_string_equal(shown.bytes, texts[i][1]);
		string_fini(&shown);
	}
}

static int some_descriptor(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Batches of 1, 2, 3... bytes, so that they can be told apart. */
static void put(struct push_queue *queue, size_t count)
{
	size_t i;

	for (i = 1; i <= count; i++)
		push_queue_put(queue, some_descriptor(), i);
}

static void clear(struct push_queue *queue)
{
	while (push_queue_oldest(queue))
		push_queue_remove(queue);
	assert_int_equal(queue->bytes, 0);
}

static void the_oldest_make_room(void **unused)
{
	const int before = some_descriptor();
	struct push_queue queue;
	int after;

	(void)unused;
	push_queue_init(&queue);
	assert_null(push_queue_oldest(&queue));
	put(&queue, PUSH_QUEUE_BATCHES + 2);
	assert_int_equal(queue.dropped, 2);
	assert_int_equal(queue.count, PUSH_QUEUE_BATCHES);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 3);
	/* What is being sent stays the oldest. */
	queue.sending = true;
	push_queue_put(&queue, some_descriptor(), 1000);
	assert_int_equal(queue.dropped, 3);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 3);
	push_queue_remove(&queue);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 5);
	assert_false(queue.sending);
	clear(&queue);
	close(before);
	after = some_descriptor();
	assert_int_equal(after, before); /* no descriptor is left */
	close(after);
}

static void large_ones_are_bounded(void **unused)
{
	struct push_queue queue;

	(void)unused;
	push_queue_init(&queue);
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES / 2);
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES / 2);
	assert_int_equal(queue.dropped, 0);
	push_queue_put(&queue, some_descriptor(), 1);
	assert_int_equal(queue.dropped, 1);
	assert_int_equal(queue.bytes, PUSH_QUEUE_BYTES / 2 + 1);
	/* There is no room beside one that is being sent. */
	queue.sending = true;
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES);
	assert_int_equal(queue.dropped, 3);
	assert_int_equal(queue.count, 1);
	queue.sending = false;
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES + 1);
	assert_int_equal(queue.count, 0);
	assert_int_equal(queue.dropped, 5);
	clear(&queue);
}

/* ---- the file in which batches wait ---------------------------------------------------------- */

static char directory[] = "/tmp/push-XXXXXX";
static size_t pauses, renames;
static bool renames_nothing;

/* In place of the C library's: so that a test need not wait. */
int nanosleep(const struct timespec *duration, struct timespec *rest)
{
	(void)duration;
	(void)rest;
	pauses++;
	return 0;
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	renames++;
	if (renames_nothing)
		return 0;
	return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
}

static void path_of(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", directory, name);
}

static int begin_directory(void **unused)
{
	(void)unused;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int end_directory(void **unused)
{
	static const char *const names[] = { "queue", "queue.damaged" };
	char path[PATH_MAX];
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		path_of(path, names[i]);
		unlink(path);
	}
	return rmdir(directory);
}

/* A batch of so many bytes, each of which is `byte`. */
static int batch_of(char byte, size_t bytes)
{
	int fd = memfd_create("batch", MFD_CLOEXEC);
	char *text = malloc(bytes);

	memset(text, byte, bytes);
	assert_int_equal(write(fd, text, bytes), bytes);
	free(text);
	return fd;
}

static void assert_batch(const struct push_queue *queue, char byte, size_t bytes)
{
	const struct push_batch *batch = push_queue_oldest(queue);
	char *text = malloc(bytes);
	size_t i;

	assert_non_null(batch);
	assert_int_equal(batch->bytes, bytes);
	assert_int_equal(pread(batch->fd, text, bytes, (off_t)batch->offset), bytes);
	for (i = 0; i < bytes; i++)
		assert_int_equal(text[i], byte);
	free(text);
}

/* The queue of a process that begins: with what the one before has left. */
static int restore(struct push_queue *queue, size_t *damaged)
{
	int fd = push_file_open(directory, "queue");

	assert_true(fd >= 0);
	push_queue_init(queue);
	assert_int_equal(push_queue_restore(queue, fd, damaged), 0);
	return fd;
}

static void what_is_in_the_file_is_sent_by_the_next(void **unused)
{
	static struct push_queue queue;
	size_t damaged, i;
	int fd = restore(&queue, &damaged);

	(void)unused;
	assert_int_equal(queue.count + damaged, 0);
	for (i = 0; i < 10; i++)
		push_queue_put(&queue, batch_of('a' + (char)i, 1000 * (i + 1)), 1000 * (i + 1));
	push_queue_remove(&queue);
	/* Its room is the first that is free, and it is the newest nevertheless. */
	push_queue_put(&queue, batch_of('z', 500), 500);
	assert_int_equal(push_queue_unsaved(&queue), 0);
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(damaged, 0);
	assert_int_equal(queue.count, 10);
	assert_int_equal(queue.bytes, 55000 - 1000 + 500);
	for (i = 1; i < 10; i++) {
		assert_batch(&queue, 'a' + (char)i, 1000 * (i + 1));
		push_queue_remove(&queue);
	}
	push_queue_put(&queue, batch_of('0', 10), 10);
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(queue.count, 2);
	assert_batch(&queue, 'z', 500);
	push_queue_remove(&queue);
	assert_batch(&queue, '0', 10);
	push_queue_remove(&queue);
	close(fd);
}

static void the_file_is_bounded(void **unused)
{
	const size_t large = PUSH_QUEUE_BYTES / 4;
	static struct push_queue queue;
	struct stat status;
	size_t damaged, i;
	int fd = restore(&queue, &damaged);

	(void)unused;
	for (i = 0; i < PUSH_QUEUE_BATCHES + 3; i++)
		push_queue_put(&queue, batch_of('a', 1), 1);
	assert_int_equal(queue.dropped, 3);
	for (i = 0; i < 30; i++)
		push_queue_put(&queue, batch_of('A' + (char)i, large - i), large - i);
	assert_int_equal(queue.count, 4);
	assert_int_equal(queue.unsaved, 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_true((uint64_t)status.st_size <= PUSH_FILE_MOST_BYTES);
	/* Whole blocks, at both ends of each batch. */
	assert_true((uint64_t)status.st_blocks * 512 <= PUSH_QUEUE_BYTES + (1 << 20));
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(queue.count, 4);
	for (i = 26; i < 30; i++) {
		assert_batch(&queue, 'A' + (char)i, large - i);
		push_queue_remove(&queue);
	}
	assert_int_equal(fstat(fd, &status), 0);
	assert_true((uint64_t)status.st_blocks * 512 <= 1 << 20);
	close(fd);
}

static void change_byte(off_t offset)
{
	char path[PATH_MAX], byte;
	int fd;

	path_of(path, "queue");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

static void a_damaged_batch_is_lost_alone(void **unused)
{
	/* Of the second one: its number, its offset, its bytes. */
	static const off_t places[] = { 4096 + 40, 4096 + 40 + 9, PUSH_FILE_BATCHES_AT + 150 };
	static struct push_queue queue;
	size_t damaged, i;
	int fd;

	(void)unused;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fd = restore(&queue, &damaged);
		assert_int_equal(queue.count + damaged, 0);
		push_queue_put(&queue, batch_of('a', 100), 100);
		push_queue_put(&queue, batch_of('b', 100), 100);
		push_queue_put(&queue, batch_of('c', 100), 100);
		close(fd);
		change_byte(places[i]);
		fd = restore(&queue, &damaged);
		assert_int_equal(damaged, 1);
		assert_int_equal(queue.count, 2);
		assert_batch(&queue, 'a', 100);
		push_queue_remove(&queue);
		assert_batch(&queue, 'c', 100);
		push_queue_remove(&queue);
		close(fd);
	}
}

static void another_file_is_set_aside(void **unused)
{
	static const char text[] = "not a queue";
	char path[PATH_MAX], read_back[sizeof(text)];
	static struct push_queue queue;
	size_t damaged;
	int fd;

	(void)unused;
	path_of(path, "queue");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(queue.count + damaged, 0);
	push_queue_put(&queue, batch_of('a', 100), 100);
	close(fd);
	path_of(path, "queue.damaged");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, read_back, sizeof(read_back)), sizeof(text));
	assert_string_equal(read_back, text);
	close(fd);
	/* One of another version, whose batches are elsewhere, perhaps. */
	change_byte(8);
	fd = restore(&queue, &damaged);
	assert_int_equal(queue.count + damaged, 0);
	close(fd);
}

/* What another process has is waited for once, and stays where it is. */
static void another_process_has_the_file(void **unused)
{
	const int owner = push_file_open(directory, "queue");
	char path[PATH_MAX];
	int fd;

	(void)unused;
	assert_true(owner >= 0);
	pauses = 0;
	assert_int_equal(push_file_open(directory, "queue"), -EWOULDBLOCK);
	assert_int_equal(pauses, 50);
	path_of(path, "queue.damaged");
	assert_int_equal(access(path, F_OK), -1);
	close(owner);
	fd = push_file_open(directory, "queue");
	assert_true(fd >= 0);
	assert_int_equal(pauses, 50);
	close(fd);
}

/* As if another program put it there again each time. */
static void what_is_always_something_else_is_given_up(void **unused)
{
	char path[PATH_MAX];
	int fd;

	(void)unused;
	path_of(path, "queue");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "other", 5), 5);
	close(fd);
	pauses = renames = 0;
	renames_nothing = true;
	assert_int_equal(push_file_open(directory, "queue"), -ESTALE);
	renames_nothing = false;
	assert_int_equal(renames, 3);
	assert_int_equal(pauses, 0);
}

/* The file has room for more than the queue: of these, the newest stay. */
static void the_oldest_of_what_is_kept_are_dropped(void **unused)
{
	const size_t large = PUSH_QUEUE_BYTES / 4;
	static struct push_queue queue;
	static struct push_file file;
	size_t damaged, i;
	int fd = push_file_open(directory, "queue"), batch;

	(void)unused;
	assert_int_equal(push_file_read(&file, fd, &damaged), 0);
	for (i = 0; i < 6; i++) {
		batch = batch_of('a' + (char)i, i ? large : 100);
		assert_true(push_file_put(&file, i + 1, batch, i ? large : 100) >= 0);
		close(batch);
	}
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(damaged, 0);
	assert_int_equal(queue.dropped, 2);
	assert_int_equal(queue.count, 4);
	assert_int_equal(queue.bytes, 4 * large);
	assert_int_equal(queue.number, 6);
	close(fd);
	fd = restore(&queue, &damaged);
	assert_int_equal(damaged, 0);
	assert_int_equal(queue.dropped, 0);
	for (i = 2; i < 6; i++) {
		assert_batch(&queue, 'a' + (char)i, large);
		push_queue_remove(&queue);
	}
	close(fd);
}

static void what_the_disk_does_not_take_stays_in_memory(void **unused)
{
	const struct rlimit none = { PUSH_FILE_BATCHES_AT + 1000, RLIM_INFINITY };
	static struct push_queue queue;
	struct rlimit before;
	size_t damaged;
	int fd = restore(&queue, &damaged);
	const int small = batch_of('a', 900), large = batch_of('b', 900);

	(void)unused;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &none);
	push_queue_put(&queue, small, 900);
	push_queue_put(&queue, large, 900);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(queue.unsaved, 1);
	assert_int_equal(queue.unsaved_error, EFBIG);
	assert_int_equal(push_queue_unsaved(&queue), 1);
	assert_batch(&queue, 'a', 900);
	push_queue_remove(&queue);
	assert_batch(&queue, 'b', 900);
	push_queue_remove(&queue);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_have_a_path),
		cmocka_unit_test(what_is_no_target),
		cmocka_unit_test(what_is_shown_of_a_url),
		cmocka_unit_test(the_oldest_make_room),
		cmocka_unit_test(large_ones_are_bounded),
		cmocka_unit_test_setup_teardown(what_is_in_the_file_is_sent_by_the_next,
						begin_directory, end_directory),
		cmocka_unit_test_setup_teardown(the_file_is_bounded, begin_directory,
						end_directory),
		cmocka_unit_test_setup_teardown(a_damaged_batch_is_lost_alone, begin_directory,
						end_directory),
		cmocka_unit_test_setup_teardown(another_file_is_set_aside, begin_directory,
						end_directory),
		cmocka_unit_test_setup_teardown(another_process_has_the_file, begin_directory,
						end_directory),
		cmocka_unit_test_setup_teardown(what_is_always_something_else_is_given_up,
						begin_directory, end_directory),
		cmocka_unit_test_setup_teardown(the_oldest_of_what_is_kept_are_dropped,
						begin_directory, end_directory),
		cmocka_unit_test_setup_teardown(what_the_disk_does_not_take_stays_in_memory,
						begin_directory, end_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
