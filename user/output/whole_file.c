// SPDX-License-Identifier: BSD-2-Clause
#include "output/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static int complain(const char *path, int err)
{
	log_error("%s: cannot create: %s%s", path, strerror(-err),
		  err == -EBUSY ? " (a mount cannot be replaced: mount its directory)" : "");
	return err;
}

/* By name it may be a plain file, but it is an open one that is meant, at its place and mode. */
static bool names_descriptor(const char *path)
{
	return !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

/* Beside the file, however long its name is. */
static char *name_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) + 1 : 0;
	char *part;

	return asprintf(&part, "%.*s.memscope-XXXXXX", directory, path) < 0 ? NULL : part;
}

/* Of the file that it replaces. Not to be allowed to give it away is no reason not to write it. */
static int take_over(int fd, const struct stat *old)
{
	if (old->st_uid != geteuid() || old->st_gid != getegid())
		(void)!fchown(fd, old->st_uid, old->st_gid);
	return fchmod(fd, old->st_mode & 0777) ? -errno : 0;
}

static int create_part(struct whole_file *file, const struct stat *old)
{
	int fd = mkostemp(file->part, O_CLOEXEC), err = 0;

	if (fd < 0) {
		err = -errno;
		free(file->part);
		file->part = NULL;
		return err;
	}
	if (old)
		err = take_over(fd, old);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* A file that something is mounted on, as containers have it, cannot be replaced. */
static bool is_mount(const char *path)
{
	struct statx stat;

	return !statx(AT_FDCWD, path, 0, 0, &stat) &&
	       stat.stx_attributes & stat.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
}

static int begin(struct whole_file *file, const char *path)
{
	struct stat old;
	bool exists = !stat(path, &old);

	if ((exists && !S_ISREG(old.st_mode)) || names_descriptor(path))
		return 0;
	if (exists && access(path, W_OK))
		return -errno;
	if (exists && is_mount(path))
		return -EBUSY;
	/* A link stays one: what it points to is replaced. */
	if (!exists && !lstat(path, &old))
		return 0;
	if (exists) {
		char *target = realpath(path, NULL);

		if (!target)
			return -errno;
		free(file->path);
		file->path = target;
	}
	file->part = name_part(file->path);
	return file->part ? create_part(file, exists ? &old : NULL) : -ENOMEM;
}

int whole_file_begin(struct whole_file *file, const char *path)
{
	int err;

	*file = (struct whole_file){ .path = strdup(path) };
	err = file->path ? begin(file, path) : -ENOMEM;
	if (!err)
		return 0;
	whole_file_end(file, false);
	return complain(path, err);
}

const char *whole_file_part(const struct whole_file *file)
{
	return file->part ? file->part : file->path;
}

int whole_file_end(struct whole_file *file, bool whole)
{
	int err = 0;

	if (file->part && whole && rename(file->part, file->path))
		err = complain(file->path, -errno);
	if (file->part && (!whole || err))
		unlink(file->part);
	free(file->path);
	free(file->part);
	*file = (struct whole_file){ 0 };
	return err;
}
