// SPDX-License-Identifier: BSD-2-Clause
#include "commands/standard_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define PIECE (256u << 10)

static bool is_among(char *const *files)
{
	for (; *files; files++)
		if (!strcmp(*files, "-"))
			return true;
	return false;
}

/* Without a directory that takes it, in memory. */
static int open_unnamed(void)
{
	const char *directory = getenv("TMPDIR");
	int fd = open(directory && *directory ? directory : "/var/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("memscope-input", MFD_CLOEXEC);
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		const ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno != EINTR)
			return -errno;
		bytes += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
	return 0;
}

static int copy(int fd)
{
	char *piece = malloc(PIECE);
	ssize_t length = 1;
	int err = piece ? 0 : -ENOMEM;

	while (!err && length) {
		length = read(STDIN_FILENO, piece, PIECE);
		if (length < 0)
			err = errno == EINTR ? 0 : -errno;
		else
			err = write_all(fd, piece, (size_t)length);
	}
	free(piece);
	return err;
}

static int keep(void)
{
	int fd = open_unnamed();
	int err = fd < 0 ? -errno : copy(fd);

	if (!err && dup2(fd, STDIN_FILENO) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int standard_input_prepare(char *const *files)
{
	struct stat status;
	int err;

	if (!is_among(files))
		return 0;
	if (isatty(STDIN_FILENO)) {
		log_error("standard input is a terminal: write memscope-bpf record -o - ... |"
			  " memscope-bpf report -");
		return -EINVAL;
	}
	err = fstat(STDIN_FILENO, &status) ? -errno : 0;
	if (!err && !S_ISREG(status.st_mode))
		err = keep();
	if (err)
		log_error("standard input: cannot be kept: %s", strerror(-err));
	return err;
}
