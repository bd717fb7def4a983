// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/writer.h"

static int memory_file(void)
{
	int fd = memfd_create("writer_test", MFD_CLOEXEC);

	assert_true(fd > STDERR_FILENO);
	return fd;
}

static struct stat status_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status;
}

static off_t size_of(int fd)
{
	return status_of(fd).st_size;
}

/* What is written to standard error from here to there. */
static int capture_errors(int *saved)
{
	int fd = memory_file();

	*saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	return fd;
}

static void assert_errors(int fd, int saved, const char *expected)
{
	char text[256] = "";

	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	close(fd);
	assert_string_equal(text, expected);
}

static void test_lines_appear_when_flushed(void **state)
{
	struct writer writer = { .fd = memory_file() };
	char text[16] = "";

	(void)state;
	string_append_text(&writer.text, "one");
	assert_int_equal(writer_end_line(&writer), 0);
	string_append_text(&writer.text, "two");
	assert_int_equal(writer_end_line(&writer), 0);
	assert_int_equal(size_of(writer.fd), 0);
	assert_int_equal(writer_flush(&writer), 0);
	assert_int_equal(pread(writer.fd, text, sizeof(text), 0), 8);
	assert_memory_equal(text, "one\ntwo\n", 8);
	assert_int_equal(writer_flush(&writer), 0); /* of nothing */
	assert_int_equal(size_of(writer.fd), 8);
	assert_int_equal(writer_close(&writer), 0);
}

/* What is buffered is bounded: after a batch of events nobody need have called flush. */
static void test_a_large_buffer_is_sent_by_itself(void **state)
{
	struct writer writer = { .fd = memory_file() };
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		string_append_text(&writer.text, "fifteen letters");
		assert_int_equal(writer_end_line(&writer), 0);
		assert_true(writer.text.length < 70000);
	}
	assert_int_equal(writer_flush(&writer), 0);
	assert_int_equal(size_of(writer.fd), 160000);
	assert_int_equal(writer_close(&writer), 0);
}

static void test_what_is_held_can_be_dropped(void **state)
{
	struct writer writer = { .fd = memory_file() };
	int fd = dup(writer.fd);
	size_t i;

	(void)state;
	writer_hold(&writer);
	for (i = 0; i < 10000; i++) {
		string_append_text(&writer.text, "0123456789");
		assert_int_equal(writer_end_line(&writer), 0);
	}
	assert_int_equal(size_of(fd), 0);
	assert_true(writer_drop(&writer));
	assert_int_equal(writer_close(&writer), 0);
	assert_int_equal(size_of(fd), 0);

	writer = (struct writer){ .fd = dup(fd) };
	writer_hold(&writer);
	while (!size_of(fd)) {
		string_append_format(&writer.text, "%65536s", "");
		assert_int_equal(writer_end_line(&writer), 0);
	}
	assert_true(size_of(fd) >= 64 << 20);
	assert_false(writer_drop(&writer)); /* it would be half of it */
	assert_int_equal(writer_close(&writer), 0);
	close(fd);
}

static void test_a_full_disk_is_an_error_that_sticks(void **state)
{
	struct writer writer = { .name = "/dev/full" };
	int saved, errors;

	(void)state;
	writer.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(writer.fd > STDERR_FILENO);
	string_append_text(&writer.text, "text");
	assert_int_equal(writer_end_line(&writer), 0);
	errors = capture_errors(&saved);
	assert_int_equal(writer_flush(&writer), -ENOSPC);
	assert_int_equal(writer_flush(&writer), -ENOSPC);
	assert_int_equal(writer_end_line(&writer), -ENOSPC);
	assert_int_equal(writer_close(&writer), -ENOSPC);
	assert_errors(errors, saved,
		      "memscope-bpf: error: /dev/full: cannot write: No space left on device; "
		      "the output ends here\n");
}

static void test_a_closed_pipe_is_an_error_without_a_message(void **state)
{
	struct writer writer = { .name = "pipe" };
	int ends[2], saved, errors;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	writer.fd = ends[1];
	string_append_text(&writer.text, "text");
	errors = capture_errors(&saved);
	assert_int_equal(writer_flush(&writer), -EPIPE);
	assert_int_equal(writer_close(&writer), -EPIPE);
	assert_errors(errors, saved, "");
}

static void on_alarm(int number)
{
	(void)number;
}

/* Interrupts every write that has to wait: it returns early, with a part or with nothing. */
static void interrupt_again_and_again(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void test_a_slow_reader_gets_everything(void **state)
{
	struct writer writer = { .name = "pipe" };
	static char received[400000];
	int ends[2], status;
	size_t length = 0;
	ssize_t step;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	writer.fd = ends[1];
	while (writer.text.length < sizeof(received) - 100000)
		string_append_u64(&writer.text, 1000000000 + writer.text.length);
	child = fork();
	if (!child) {
		interrupt_again_and_again();
		_exit(writer_flush(&writer) ? 1 : 0);
	}
	close(ends[1]);
	do {
		step = read(ends[0], received + length,
			    length + 20000 < sizeof(received) ? 20000 : sizeof(received) - length);
		assert_true(step >= 0);
		length += step;
		usleep(3000);
	} while (step > 0);
	assert_int_equal(length, writer.text.length);
	assert_memory_equal(received, writer.text.bytes, length);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
	string_fini(&writer.text);
}

static void test_missing_memory_is_an_error(void **state)
{
	struct writer writer = { .fd = memory_file() };

	(void)state;
	string_append_text(&writer.text, "half a li");
	writer.text.failed = true;
	assert_int_equal(writer_end_line(&writer), -ENOMEM);
	assert_int_equal(writer_close(&writer), -ENOMEM);
}

static void test_a_file_is_created_and_truncated(void **state)
{
	char directory[] = "/tmp/writer_test.XXXXXX", path[64];
	struct writer writer;
	int round;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/out", directory);
	for (round = 0; round < 2; round++) {
		assert_int_equal(writer_open(&writer, path), 0);
		assert_string_equal(writer.name, path);
		assert_int_equal(status_of(writer.fd).st_mode & 0777, 0600);
		assert_false(writer.terminal);
		assert_false(writer.colour);
		string_append_text(&writer.text, round ? "b" : "first");
		assert_int_equal(writer_flush(&writer), 0);
		assert_int_equal(size_of(writer.fd), round ? 1 : 5);
		assert_int_equal(writer_close(&writer), 0);
	}
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static void test_a_file_that_cannot_be_created(void **state)
{
	struct writer writer;
	int saved, errors = capture_errors(&saved);

	(void)state;
	assert_int_equal(writer_open(&writer, "/proc/none/out"), -ENOENT);
	assert_errors(errors, saved,
		      "memscope-bpf: error: /proc/none/out: cannot create: "
		      "No such file or directory; a directory that is missing is not made\n");
}

static void test_standard_output_stays_open(void **state)
{
	struct writer writer;

	(void)state;
	writer_init_stdout(&writer);
	assert_int_equal(writer.fd, STDOUT_FILENO);
	assert_string_equal(writer.name, "standard output");
	assert_int_equal(writer_close(&writer), 0);
	assert_int_equal(writer.fd, -1);
	assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
}

static void test_colour_only_on_a_terminal_that_wants_it(void **state)
{
	static const struct {
		const char *term, *no_colour;
		bool colour;
	} cases[] = {
		{ "xterm", NULL, true }, { "xterm", "", true }, { "xterm", "1", false },
		{ "dumb", NULL, false }, { NULL, NULL, false }, { "dumb", "1", false },
	};
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct writer writer;
	size_t i;

	(void)state;
	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsetenv("TERM");
		unsetenv("NO_COLOR");
		if (cases[i].term)
			setenv("TERM", cases[i].term, 1);
		if (cases[i].no_colour)
			setenv("NO_COLOR", cases[i].no_colour, 1);
		assert_int_equal(writer_open(&writer, ptsname(terminal)), 0);
		assert_true(writer.terminal);
		assert_int_equal(writer.colour, cases[i].colour);
		assert_int_equal(writer_close(&writer), 0);
	}
	close(terminal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_appear_when_flushed),
		cmocka_unit_test(test_a_large_buffer_is_sent_by_itself),
		cmocka_unit_test(test_what_is_held_can_be_dropped),
		cmocka_unit_test(test_a_full_disk_is_an_error_that_sticks),
		cmocka_unit_test(test_a_closed_pipe_is_an_error_without_a_message),
		cmocka_unit_test(test_a_slow_reader_gets_everything),
		cmocka_unit_test(test_missing_memory_is_an_error),
		cmocka_unit_test(test_a_file_is_created_and_truncated),
		cmocka_unit_test(test_a_file_that_cannot_be_created),
		cmocka_unit_test(test_standard_output_stays_open),
		cmocka_unit_test(test_colour_only_on_a_terminal_that_wants_it),
	};

	return unit_run("writer", tests);
}
