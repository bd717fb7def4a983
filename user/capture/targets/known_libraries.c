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
#include "host/mount.h"

#define LIST_BYTES ((size_t)KNOWN_LIBRARIES_MOST * PATH_MAX)

struct entry {
	const char *path;
	bool may_block; /* to look there may wait for a server, or for a program */
	bool is_there;
	uid_t owner; /* of a file that is there */
};

/* In the order in which they were added. */
struct entries {
	struct entry items[KNOWN_LIBRARIES_MOST + 1]; /* and a new one */
	size_t count;
	char *text; /* in which the paths are */
};

/* ---- whether they are there ------------------------------------------------------------------ */

/* Whether a path is that place, or below it. */
static bool is_in(const char *path, const char *place)
{
	const size_t length = strlen(place);

	return !strncmp(path, place, length) && (!path[length] || path[length] == '/');
}

/*
 * This program must not stand still because no process answers for a path: one that leads across a
 * mount that is not the kernel's own is left alone, also if another one lies above it. What is
 * mounted at the root is what this program itself comes from.
 */
static void look_at_mounts(struct entries *entries)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	struct mount mount = { 0 };
	size_t i;

	for (i = 0; i < entries->count; i++)
		entries->items[i].may_block = !mounts;
	while (mounts && mount_read(mounts, &mount)) {
		if (!strcmp(mount.place, "/") || mount_is_local(&mount))
			continue;
		for (i = 0; i < entries->count; i++)
			entries->items[i].may_block |= is_in(entries->items[i].path, mount.place);
	}
	free(mount.line);
	if (mounts)
		fclose(mounts);
}

/*
 * The path was chosen by a process, and what is there now may be another's: whatever it is, only a
 * plain file counts. The kernel gave the path without links. Returns a place alone (O_PATH), or
 * -errno.
 */
static int find_plain(const struct entry *entry, struct stat *status)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int found = -1;

	if (*entry->path != '/')
		return -EINVAL;
	if (entry->may_block)
		return -EXDEV;
	found = syscall(SYS_openat2, AT_FDCWD, entry->path, &how, sizeof(how));
	if (found < 0)
		return -errno;
	if (!fstat(found, status) && S_ISREG(status->st_mode))
		return found;
	close(found);
	return -ESTALE;
}

static int open_plain(const struct entry *entry)
{
	struct stat status = { 0 };
	const int found = find_plain(entry, &status);
	char link[32];
	int fd;

	if (found < 0)
		return found;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	fd = fd < 0 ? -errno : fd;
	close(found);
	return fd;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* None, if there is no list yet, or none that can be used, which is logged. */
static void read_list(struct entries *entries, const char *list)
{
	char *rest, *path;

	*entries = (struct entries){ 0 };
	if (!access(list, F_OK))
		trusted_file_read(list, LIST_BYTES, &entries->text);
	rest = entries->text;
	while (rest && (path = strsep(&rest, "\n")) && entries->count < KNOWN_LIBRARIES_MOST)
		if (*path)
			entries->items[entries->count++].path = path;
	look_at_mounts(entries);
}

void known_libraries_each(const char *list, int (*visit)(int fd, const char *path, void *context),
			  void *context)
{
	struct entries entries;
	size_t i;
	int fd;

	read_list(&entries, list);
	for (i = 0; i < entries.count; i++) {
		fd = open_plain(&entries.items[i]);
		if (fd < 0)
			continue;
		visit(fd, entries.items[i].path, context);
		close(fd);
	}
	free(entries.text);
}

/* ---- adding one ------------------------------------------------------------------------------ */

static void look_for(struct entry *entry)
{
	struct stat status = { 0 };
	const int found = find_plain(entry, &status);

	entry->is_there = found >= 0;
	if (!entry->is_there)
		return;
	entry->owner = status.st_uid;
	close(found);
}

static int check(const struct entry *entry, dev_t dev, ino_t inode, uid_t *owner)
{
	struct stat status = { 0 };
	const int found = strchr(entry->path, '\n') ? -EINVAL : find_plain(entry, &status);

	if (found < 0)
		return found;
	*owner = status.st_uid;
	close(found);
	return status.st_dev == dev && status.st_ino == inode ? 0 : -ESTALE;
}

static void take_out(struct entries *entries, size_t at)
{
	entries->count--;
	memmove(&entries->items[at], &entries->items[at + 1],
		(entries->count - at) * sizeof(*entries->items));
}

/*
 * Which one is to go for another of that owner: any user can have files that processes are late in,
 * and these must take no room of other users'. So what is gone goes first (a package that is being
 * installed may bring it back, as long as there is room); then the owner's own, then other users',
 * and root's last.
 */
static size_t least_wanted(const struct entries *entries, uid_t owner)
{
	size_t i, other = entries->count;

	for (i = 0; i < entries->count; i++)
		if (!entries->items[i].is_there)
			return i;
	for (i = 0; owner && i < entries->count; i++)
		if (entries->items[i].owner == owner)
			return i;
	for (i = 0; i < entries->count && other == entries->count; i++)
		if (entries->items[i].owner)
			other = i;
	return other < entries->count ? other : 0;
}

static void make_room(struct entries *entries, uid_t owner)
{
	size_t i, owned = 0, first = 0;

	for (i = entries->count; i-- > 0;) {
		look_for(&entries->items[i]);
		if (!entries->items[i].is_there || entries->items[i].owner != owner)
			continue;
		owned++;
		first = i;
	}
	if (owner && owned >= KNOWN_LIBRARIES_MOST_OF_USER)
		take_out(entries, first);
	else if (entries->count >= KNOWN_LIBRARIES_MOST)
		take_out(entries, least_wanted(entries, owner));
}

static int write_bytes(const char *list, const struct string *bytes)
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

static int write_list(const char *list, const struct entries *entries)
{
	struct string bytes = { 0 };
	size_t i;
	int err;

	for (i = 0; i < entries->count; i++)
		string_append_format(&bytes, "%s\n", entries->items[i].path);
	err = bytes.failed ? -ENOMEM : write_bytes(list, &bytes);
	string_fini(&bytes);
	return err;
}

int known_libraries_add(const char *list, const char *path, dev_t dev, ino_t inode)
{
	struct entries entries = { .items = { { .path = path } }, .count = 1 };
	uid_t owner = 0;
	size_t i;
	int err;

	look_at_mounts(&entries);
	err = check(&entries.items[0], dev, inode, &owner);
	if (err)
		return err;
	read_list(&entries, list);
	for (i = entries.count; i-- > 0;)
		if (!strcmp(entries.items[i].path, path))
			take_out(&entries, i);
	make_room(&entries, owner);
	entries.items[entries.count++] = (struct entry){ .path = path };
	err = write_list(list, &entries);
	free(entries.text);
	return err;
}
