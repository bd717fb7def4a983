// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/known_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/string.h"
#include "base/trusted_file.h"

#define LIST_BYTES ((size_t)KNOWN_LIBRARIES_MOST * PATH_MAX)

/*
 * The path was chosen by a process, and what is there now may be another's: whatever it is, only a
 * plain file is opened. The kernel gave the path without links.
 */
static int open_plain(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	const int found = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat status;
	char link[32];
	int fd = -ESTALE;

	if (found < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	if (!fstat(found, &status) && S_ISREG(status.st_mode)) {
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	}
	close(found);
	return fd;
}

/* NULL: there is none yet, or none that can be used, which is logged. */
static char *read_list(const char *list)
{
	char *text = NULL;

	if (!access(list, F_OK))
		trusted_file_read(list, LIST_BYTES, &text);
	return text;
}

void known_libraries_each(const char *list, int (*visit)(int fd, const char *path, void *context),
			  void *context)
{
	char *text = read_list(list), *rest = text, *path;
	size_t count = 0;
	int fd;

	while (rest && (path = strsep(&rest, "\n")) && count++ < KNOWN_LIBRARIES_MOST) {
		fd = *path == '/' ? open_plain(path) : -EINVAL;
		if (fd < 0)
			continue;
		visit(fd, path, context);
		close(fd);
	}
	free(text);
}

/* ---- adding one ------------------------------------------------------------------------------ */

static int check(const char *path, dev_t dev, ino_t inode)
{
	const int fd = *path == '/' && !strchr(path, '\n') ? open_plain(path) : -EINVAL;
	struct stat status;
	bool same;

	if (fd < 0)
		return fd;
	same = !fstat(fd, &status) && status.st_dev == dev && status.st_ino == inode;
	close(fd);
	return same ? 0 : -ESTALE;
}

/* With the new one at the end, and without the first ones if there are too many. */
static void make(struct string *out, char *text, const char *path)
{
	size_t lines = 0, skipped;
	char *rest = text, *line;

	for (line = text; line && *line; line++)
		lines += *line == '\n';
	skipped = lines < KNOWN_LIBRARIES_MOST ? 0 : lines - KNOWN_LIBRARIES_MOST + 1;
	while (rest && (line = strsep(&rest, "\n"))) {
		if (skipped)
			skipped--;
		else if (*line && strcmp(line, path) != 0)
			string_append_format(out, "%s\n", line);
	}
	string_append_format(out, "%s\n", path);
}

static int write_list(const char *list, const struct string *bytes)
{
	struct draft draft;
	struct place place;
	ssize_t written;
	int err = place_find(&place, list);

	if (err)
		return err;
	err = draft_open(&draft, &place, 0600);
	if (err) {
		place_close(&place);
		return err;
	}
	written = write(draft.fd, bytes->bytes, bytes->length);
	if (written != (ssize_t)bytes->length)
		err = written < 0 ? -errno : -ENOSPC;
	if (!err)
		err = draft_name(&draft, draft.place.name, true);
	draft_close(&draft);
	return err;
}

int known_libraries_add(const char *list, const char *path, dev_t dev, ino_t inode)
{
	struct string bytes = { 0 };
	int err = check(path, dev, inode);
	char *text;

	if (err)
		return err;
	text = read_list(list);
	make(&bytes, text, path);
	err = bytes.failed ? -ENOMEM : write_list(list, &bytes);
	free(text);
	string_fini(&bytes);
	return err;
}
