/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory to test in, which is the working directory meanwhile.
 */
#ifndef MEMSCOPE_TESTS_FOLDER_H
#define MEMSCOPE_TESTS_FOLDER_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/memscope-test.XXXXXX";

static inline int folder_enter(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return !mkdtemp(folder) || chdir(folder);
}

static inline int folder_remove_one(const char *path, const struct stat *status, int kind,
				    struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static inline int folder_leave(void **state)
{
	(void)state;
	/* A test that fails may be another user still. */
	if (seteuid(getuid()) || setegid(getgid()))
		return -1;
	return chdir("/") || nftw(folder, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define folder_test(function) cmocka_unit_test_setup_teardown(function, folder_enter, folder_leave)

/* What a test of files of others needs. */
static inline void folder_need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("# skipped: only root can give files away\n");
	skip();
}

static inline void folder_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline void folder_assert_text(const char *path, const char *text)
{
	char found[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	assert_string_equal(found, text);
}

static inline struct stat folder_status(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status;
}

/* Files in the working directory, but for "." and "..". */
static inline size_t folder_count(void)
{
	FILE *list = popen("ls -A | wc -l", "re");
	size_t count = 0;

	assert_non_null(list);
	assert_int_equal(fscanf(list, "%zu", &count), 1);
	pclose(list);
	return count;
}

/* What is written to standard error from here to there. */
static inline int folder_hush(void)
{
	int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null, STDERR_FILENO);
	close(null);
	return saved;
}

static inline void folder_speak(int saved)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
}

#endif /* MEMSCOPE_TESTS_FOLDER_H */
