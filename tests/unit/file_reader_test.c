// SPDX-License-Identifier: BSD-2-Clause
/*
 * The process that reads symbols: it says what reading them here says, cannot do anything else, and
 * may die or hang.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/sandbox.h"
#include "symbols/file_reader.h"

static int own_fd;

static int open_reader(void **state)
{
	struct file_reader *reader;

	own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (own_fd < 0 || file_reader_open(&reader, true))
		return -1;
	*state = reader;
	return 0;
}

static int close_reader(void **state)
{
	file_reader_close(*state);
	close(own_fd);
	return 0;
}

/* The only child of this process; 0: there is none. */
static pid_t child_of_own(void)
{
	FILE *file = fopen("/proc/self/task/self/children", "re");
	char path[64];
	int pid = 0;

	if (!file) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
		file = fopen(path, "re");
	}
	assert_non_null(file);
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

static int first_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
	(void)bytes;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

/* As this program's symbols have it. */
static uint64_t own_address(const void *code)
{
	uint64_t base = 0;

	dl_iterate_phdr(first_base, &base);
	return (uintptr_t)code - base;
}

/* Its code begins two lines behind the number. */
static const int marked_line = __LINE__;
__attribute__((noinline)) static int marked(int number)
{
	return number + 1;
}

static void assert_marked(struct file_reader *reader)
{
	struct source_line found[SOURCE_LINES_MOST];
	int count = -EAGAIN;

	while (count == -EAGAIN)
		count = file_reader_lines(reader, 1, own_fd, own_address((const void *)marked),
					  found, SOURCE_LINES_MOST);
	assert_int_equal(count, 1);
	/* Tests are built with line tables alone, which say nothing of functions. */
	assert_string_equal(found[0].function, "");
	assert_non_null(strstr(found[0].file, "tests/unit/file_reader_test.c"));
	assert_int_equal(found[0].line, marked_line + 2);
}

static void test_tables(void **state)
{
	struct function_table functions, expected_functions;
	struct unwind_table unwind, expected_unwind;

	assert_int_equal(file_reader_functions(*state, own_fd, false, &functions), 0);
	assert_int_equal(function_table_make(&expected_functions, own_fd, false), 0);
	assert_true(functions.count > 100);
	assert_int_equal(functions.count, expected_functions.count);
	assert_memory_equal(functions.entries, expected_functions.entries,
			    functions.count * sizeof(*functions.entries));
	assert_int_equal(file_reader_unwind(*state, own_fd, &unwind), 0);
	assert_int_equal(unwind_table_make(&expected_unwind, own_fd), 0);
	assert_int_equal(unwind.count, expected_unwind.count);
	assert_memory_equal(unwind.rows, expected_unwind.rows, unwind.count * sizeof(*unwind.rows));
	function_table_fini(&functions);
	function_table_fini(&expected_functions);
	unwind_table_fini(&unwind);
	unwind_table_fini(&expected_unwind);
}

static void test_no_file_to_read(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct function_table functions;
	struct unwind_table unwind;
	struct source_line found;

	assert_true(file_reader_functions(*state, fd, false, &functions) < 0);
	assert_int_equal(file_reader_unwind(*state, fd, &unwind), -ENOEXEC);
	assert_int_equal(unwind.count, 0);
	assert_int_equal(file_reader_lines(*state, 1, fd, 4096, &found, 1), -ENODATA);
	close(fd);
}

static void test_lines(void **state)
{
	struct source_line found;

	assert_int_equal(file_reader_prepare_lines(*state, 1, own_fd), 0);
	assert_marked(*state);
	assert_int_equal(file_reader_lines(*state, 1, own_fd, 1, &found, 1), 0);
	assert_int_equal(marked(1), 2);
}

/* Another takes its place; in the end none does. */
static void test_ends(void **state)
{
	struct file_reader *reader = *state;
	struct function_table functions;
	int i, err;

	for (i = 0; i < 16; i++) {
		assert_int_equal(file_reader_functions(reader, own_fd, false, &functions), 0);
		function_table_fini(&functions);
		kill(child_of_own(), SIGKILL);
		err = file_reader_functions(reader, own_fd, false, &functions);
		assert_int_equal(err, -EIO);
		assert_int_equal(functions.count, 0);
		assert_int_equal(child_of_own(), 0);
	}
	assert_int_equal(file_reader_functions(reader, own_fd, false, &functions), -ECONNABORTED);
	assert_int_equal(child_of_own(), 0);
}

/* A file that it dies over is not read again, another one is. */
static void test_ends_over_lines(void **state)
{
	struct file_reader *reader = *state;
	struct source_line found;
	int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err;

	assert_marked(reader);
	kill(child_of_own(), SIGSTOP);
	assert_int_equal(file_reader_lines(reader, 2, other, own_address((const void *)marked),
					   &found, 1),
			 -EAGAIN);
	/* Nobody waits once more, but what is then said is what was asked. */
	assert_int_equal(file_reader_lines(reader, 1, own_fd, 1, &found, 1), -EAGAIN);
	kill(child_of_own(), SIGCONT);
	assert_marked(reader);
	kill(child_of_own(), SIGSTOP);
	assert_int_equal(file_reader_lines(reader, 2, other, 1, &found, 1), -EAGAIN);
	kill(child_of_own(), SIGKILL);
	do
		err = file_reader_lines(reader, 1, own_fd, 1, &found, 1);
	while (err == -EAGAIN);
	assert_int_equal(err, -EIO);
	assert_int_equal(file_reader_lines(reader, 2, other, 1, &found, 1), -ENODATA);
	assert_marked(reader);
	close(other);
}

/* Files that are open can be read, others not opened; nothing is executed or connected to. */
static void test_sandbox(void **state)
{
	int status, failed = 0;
	char bytes[4];
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		failed |= sandbox_enter_reading() ? 1 : 0;
		failed |= pread(own_fd, bytes, 4, 0) != 4 || memcmp(bytes, "\177ELF", 4) ? 2 : 0;
		failed |= open("/dev/null", O_RDONLY) >= 0 ? 4 : 0;
		failed |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 8 : 0;
		failed |= fork() >= 0 ? 16 : 0;
		failed |= kill(getppid(), 0) == 0 ? 32 : 0;
		/* AddressSanitizer would do more than is allowed. */
		syscall(SYS_exit_group, failed);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tables, open_reader, close_reader),
		cmocka_unit_test_setup_teardown(test_no_file_to_read, open_reader, close_reader),
		cmocka_unit_test_setup_teardown(test_lines, open_reader, close_reader),
		cmocka_unit_test_setup_teardown(test_ends, open_reader, close_reader),
		cmocka_unit_test_setup_teardown(test_ends_over_lines, open_reader, close_reader),
		cmocka_unit_test_setup_teardown(test_sandbox, open_reader, close_reader),
	};

	return cmocka_run_group_tests_name("file_reader", tests, NULL, NULL);
}
