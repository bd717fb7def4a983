// SPDX-License-Identifier: BSD-2-Clause
#include "base/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 100 /* names that are taken */

/* ---- with and without a name ----------------------------------------------------------------- */

static void own_path(const struct draft *draft, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", draft->fd);
}

/* One that could not be named later is of no use. */
static bool open_unnamed(struct draft *draft)
{
	char path[32];

	draft->fd =
		openat(draft->place.directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, draft->mode);
	if (draft->fd < 0)
		return false;
	own_path(draft, path);
	if (!access(path, F_OK))
		return true;
	close(draft->fd);
	draft->fd = -1;
	return false;
}

/* Calls `make` with one random name after the other until one is free. */
static int with_free_name(struct draft *draft, int (*make)(struct draft *draft))
{
	int tries, err = -EEXIST;

	for (tries = 0; err == -EEXIST && tries < TRIES; tries++) {
		uint32_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			number = (uint32_t)getpid() + (uint32_t)tries;
		snprintf(draft->name, sizeof(draft->name), ".memscope-%08" PRIx32, number);
		err = make(draft);
	}
	if (err)
		*draft->name = '\0';
	return err;
}

static int create(struct draft *draft)
{
	draft->fd = openat(draft->place.directory, draft->name,
			   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, draft->mode);
	return draft->fd < 0 ? -errno : 0;
}

int draft_open(struct draft *draft, const struct place *place, mode_t mode)
{
	*draft = (struct draft){ .place = *place, .fd = -1, .mode = mode };
	return open_unnamed(draft) ? 0 : with_free_name(draft, create);
}

void draft_close(struct draft *draft)
{
	if (*draft->name)
		unlinkat(draft->place.directory, draft->name, 0);
	*draft->name = '\0';
	if (draft->fd >= 0)
		close(draft->fd);
	draft->fd = -1;
	place_close(&draft->place);
}

/* ---- its name -------------------------------------------------------------------------------- */

static int link_as(const struct draft *draft, const char *name)
{
	char path[32];

	own_path(draft, path);
	return linkat(AT_FDCWD, path, draft->place.directory, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static int link_beside(struct draft *draft)
{
	return link_as(draft, draft->name);
}

/* From the name that it has. */
static int rename_to(struct draft *draft, const char *name, bool replace)
{
	const int directory = draft->place.directory;
	const unsigned int flags = replace ? 0 : RENAME_NOREPLACE;

	if (!renameat2(directory, draft->name, directory, name, flags)) {
		*draft->name = '\0';
		return 0;
	}
	/* Not every file system can. */
	if (replace || (errno != EINVAL && errno != ENOSYS))
		return -errno;
	return linkat(directory, draft->name, directory, name, 0) ? -errno : 0;
}

/* In between the file has another name. */
static int link_and_rename(struct draft *draft, const char *name)
{
	int err = with_free_name(draft, link_beside);

	if (!err)
		err = rename_to(draft, name, true);
	if (*draft->name)
		unlinkat(draft->place.directory, draft->name, 0);
	*draft->name = '\0';
	return err;
}

static bool has_name(const struct draft *draft, const char *name)
{
	struct stat own, found;

	return !fstat(draft->fd, &own) &&
	       !fstatat(draft->place.directory, name, &found, AT_SYMLINK_NOFOLLOW) &&
	       own.st_dev == found.st_dev && own.st_ino == found.st_ino;
}

/*
 * No call gives a file without a name one that is taken. A process of its own takes the two steps,
 * which a SIGKILL of this one does not stop.
 */
static int replace_name(struct draft *draft, const char *name)
{
	const pid_t child = fork();
	int status;

	if (child < 0)
		return link_and_rename(draft, name);
	if (!child) {
		setsid();
		_exit(-link_and_rename(draft, name));
	}
	/* Where SIGCHLD is ignored, it cannot say how it ended. */
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return has_name(draft, name) ? 0 : -EIO;
	return -WEXITSTATUS(status);
}

static int name_unnamed(struct draft *draft, const char *name, bool replace)
{
	int err = link_as(draft, name);

	return err == -EEXIST && replace ? replace_name(draft, name) : err;
}

int draft_name(struct draft *draft, const char *name, bool replace)
{
	sigset_t all, before;
	int err;

	/* In between, a signal would leave the other name. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	err = *draft->name ? rename_to(draft, name, replace) : name_unnamed(draft, name, replace);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
