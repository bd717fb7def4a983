// SPDX-License-Identifier: BSD-2-Clause
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel's */
#define TRIES 100    /* if names come and go meanwhile */

const char *place_error(int err)
{
	if (err == -ELOOP)
		return "a symbolic link that another user has made, or could have, is not followed;"
		       " name the place itself";
	return strerror(-err);
}

const char *place_advice(int err)
{
	return err == -ENOENT ? "; a directory that is missing is not made" :
	       err == -EISDIR ? "; add the name of a file" :
				"";
}

/* ---- whom to trust --------------------------------------------------------------------------- */

/* Root can do everything anyway. */
static bool is_ours(const struct stat *status)
{
	return status->st_uid == geteuid() || !status->st_uid;
}

/* Users besides its owner, and besides the caller's own group, which often has no other member. */
static bool others_write(const struct stat *directory)
{
	return directory->st_mode & S_IWOTH ||
	       (directory->st_mode & S_IWGRP && directory->st_gid != getegid());
}

/* If so, the mode's bits of the group are the most that anyone on the list may do (acl(5)). */
static bool has_access_list(int directory)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

/* With S_IWOTH also if a list lets others write. */
static int stat_directory(int directory, struct stat *status)
{
	if (fstat(directory, status))
		return -errno;
	if (status->st_mode & S_IWGRP && has_access_list(directory))
		status->st_mode |= S_IWOTH;
	return 0;
}

/* A user who cannot make such a link can give one that exists a second name, here. */
static bool is_trusted_link(const struct stat *directory, const struct stat *link)
{
	if (!is_ours(link) || !is_ours(directory))
		return false;
	return !others_write(directory) || (directory->st_mode & S_ISVTX && link->st_nlink == 1);
}

static bool is_trusted_file(const struct stat *directory, const struct stat *file)
{
	if (is_ours(directory) && !others_write(directory))
		return true;
	if (!is_ours(file) && file->st_uid != directory->st_uid)
		return false;
	return !S_ISREG(file->st_mode) || file->st_nlink == 1;
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
	struct place *place;
	char rest[PATH_MAX]; /* of the path, behind place->name */
	unsigned int links;  /* that were followed */
};

/* Takes the descriptor. */
static int enter(struct place *place, int directory)
{
	if (directory < 0)
		return -errno;
	if (place->directory >= 0)
		close(place->directory);
	place->directory = directory;
	return 0;
}

/* Where a path begins. */
static int begin(struct walk *walk, const char *path)
{
	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest, path, strlen(path) + 1);
	if (*path != '/' && walk->place->directory >= 0)
		return 0;
	return enter(walk->place, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The next component becomes the name; an empty one: there is none. */
static int take_name(struct walk *walk)
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	const size_t length = strcspn(from, "/");

	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(walk->place->name, from, length);
	walk->place->name[length] = '\0';
	memmove(walk->rest, from + length, strlen(from + length) + 1);
	return 0;
}

/* The path goes on with what the link says, and then with what was left. */
static int replace_link(struct walk *walk, int link)
{
	char path[PATH_MAX];
	const ssize_t length = readlinkat(link, "", path, sizeof(path));

	if (length <= 0)
		return length ? -errno : -ENOENT;
	if ((size_t)length + strlen(walk->rest) >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path + length, walk->rest, strlen(walk->rest) + 1);
	return begin(walk, path);
}

/*
 * Links of proc are the kernel's: they stand for what a process has open, and what they say is not
 * where they lead.
 */
static int follow_descriptor(struct walk *walk)
{
	struct place *place = walk->place;

	if (!*walk->rest) {
		place->is_descriptor = true;
		return 0;
	}
	return enter(place,
		     openat(place->directory, place->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* A link that is open as `fd`. */
static int follow(struct walk *walk, int fd, const struct stat *link)
{
	struct stat directory;
	struct statfs system;
	int err = stat_directory(walk->place->directory, &directory);

	if (!err && fstatfs(fd, &system))
		err = -errno;
	if (err)
		return err;
	if (++walk->links > LINKS_MAX)
		return -EMLINK;
	if (system.f_type == PROC_SUPER_MAGIC)
		return follow_descriptor(walk);
	return is_trusted_link(&directory, link) ? replace_link(walk, fd) : -ELOOP;
}

/* Returns 1 if the name is that of a link, which has been followed, 0 if not, or -errno. */
static int follow_name(struct walk *walk)
{
	int fd = openat(walk->place->directory, walk->place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &status) ? -errno : 0;
	if (!err && S_ISLNK(status.st_mode))
		err = follow(walk, fd, &status) ?: 1;
	close(fd);
	return err;
}

/* Into the directory of that name. With O_DIRECTORY, what is mounted on demand is mounted. */
static int step(struct walk *walk)
{
	struct place *place = walk->place;
	int fd = openat(place->directory, place->name,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int followed;

	if (fd >= 0 || errno != ENOTDIR)
		return enter(place, fd);
	followed = follow_name(walk);
	return followed ? (followed < 0 ? followed : 0) : -ENOTDIR;
}

/* With the last component as the name. Sets *there unless it is a link that leads on. */
static int arrive(struct walk *walk, bool follow_last, bool *there)
{
	const char *name = walk->place->name;
	int followed;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	followed = follow_last ? follow_name(walk) : 0;
	*there = followed <= 0 || walk->place->is_descriptor;
	return followed < 0 && followed != -ENOENT ? followed : 0;
}

static int find(struct place *place, const char *path, bool follow_last)
{
	struct walk walk = { .place = place };
	bool there = false;
	int err;

	*place = (struct place){ .directory = -1 };
	err = begin(&walk, path);
	while (!err && !there) {
		err = take_name(&walk);
		if (!err)
			err = *walk.rest ? step(&walk) : arrive(&walk, follow_last, &there);
	}
	if (err)
		place_close(place);
	return err;
}

int place_find(struct place *place, const char *path)
{
	return find(place, path, true);
}

int place_find_name(struct place *place, const char *path)
{
	return find(place, path, false);
}

void place_close(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	place->directory = -1;
}

int place_stat(const struct place *place, struct stat *status)
{
	return fstatat(place->directory, place->name, status, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/* ---- files and directories ------------------------------------------------------------------- */

/* What is open as `fd`, O_PATH, is this very file, whatever has its name by now. */
static int open_again(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_trusted(const struct place *place, int fd, int flags)
{
	struct stat directory, file;
	int err = stat_directory(place->directory, &directory);

	if (!err && fstat(fd, &file))
		err = -errno;
	if (err)
		return err;
	if (S_ISLNK(file.st_mode))
		return -EAGAIN;
	if (S_ISDIR(file.st_mode))
		return -EISDIR;
	return is_trusted_file(&directory, &file) ? open_again(fd, flags) : -EEXIST;
}

static int create(const struct place *place)
{
	int fd = openat(place->directory, place->name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

	return fd < 0 ? -errno : fd;
}

/* -EAGAIN: there is something else by that name than when it was looked for. */
static int open_or_create(const struct place *place, int flags)
{
	int fd, opened;

	if (place->is_descriptor) {
		fd = openat(place->directory, place->name, flags | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? -errno : fd;
	}
	fd = openat(place->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fd < 0) {
		opened = create(place);
		return opened == -EEXIST ? -EAGAIN : opened;
	}
	opened = open_trusted(place, fd, flags);
	close(fd);
	return opened;
}

static int open_path(const char *path, int flags)
{
	struct place place;
	int tries, fd = -EAGAIN;

	for (tries = 0; fd == -EAGAIN && tries < TRIES; tries++) {
		fd = place_find(&place, path);
		if (!fd)
			fd = open_or_create(&place, flags);
		place_close(&place);
	}
	return fd;
}

int place_open(const char *path)
{
	return open_path(path, O_WRONLY);
}

int place_open_both(const char *path)
{
	return open_path(path, O_RDWR);
}

int place_create(const char *path)
{
	struct place place;
	int fd = place_find_name(&place, path);

	if (!fd)
		fd = create(&place);
	place_close(&place);
	return fd;
}

int place_read(const char *path)
{
	struct place place;
	struct stat status;
	int err = place_find_name(&place, path), fd = -1;

	if (err)
		return err;
	fd = openat(place.directory, place.name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status))
		err = -errno;
	else if (!S_ISREG(status.st_mode))
		err = -EINVAL;
	if (err && fd >= 0)
		close(fd);
	place_close(&place);
	return err ? err : fd;
}

int place_make_directory(const char *path)
{
	struct place place;
	int err = place_find_name(&place, path);

	if (!err && mkdirat(place.directory, place.name, 0700))
		err = -errno;
	place_close(&place);
	return err;
}

static int remove_name(const char *path, int flags)
{
	struct place place;
	int err = place_find_name(&place, path);

	if (!err && unlinkat(place.directory, place.name, flags))
		err = -errno;
	place_close(&place);
	return err;
}

int place_remove(const char *path)
{
	return remove_name(path, 0);
}

int place_remove_directory(const char *path)
{
	return remove_name(path, AT_REMOVEDIR);
}
