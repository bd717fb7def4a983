/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparison with files in tests/golden/. UPDATE_GOLDEN=1 writes them anew: look at the difference
 * before you commit it.
 */
#ifndef MEMSCOPE_TESTS_GOLDEN_H
#define MEMSCOPE_TESTS_GOLDEN_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define GOLDEN "tests/golden/"
#define OUTPUT_MAX (1 << 18)

struct text {
	char bytes[OUTPUT_MAX]; /* terminated */
	size_t length;
};

static inline void read_all(int fd, struct text *text)
{
	ssize_t length = pread(fd, text->bytes, OUTPUT_MAX, 0);

	assert_in_range(length, 0, OUTPUT_MAX - 1);
	text->bytes[length] = '\0';
	text->length = length;
}

static inline void read_golden(const char *path, struct text *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s: cannot open; run it in the root of the repository", path);
	read_all(fd, text);
	close(fd);
}

static inline void write_golden(const char *path, const struct text *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text->bytes, text->length), text->length);
	close(fd);
}

static inline void assert_golden(const char *path, const struct text *actual)
{
	static struct text golden;
	size_t line = 1, begin = 0, i;

	if (getenv("UPDATE_GOLDEN"))
		write_golden(path, actual);
	read_golden(path, &golden);
	for (i = 0; actual->bytes[i] == golden.bytes[i]; i++) {
		if (!actual->bytes[i])
			return;
		if (actual->bytes[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	fail_msg("%s:%zu:\n- %.*s\n+ %.*s", path, line, (int)strcspn(golden.bytes + begin, "\n"),
		 golden.bytes + begin, (int)strcspn(actual->bytes + begin, "\n"),
		 actual->bytes + begin);
}

#endif /* MEMSCOPE_TESTS_GOLDEN_H */
