// SPDX-License-Identifier: BSD-2-Clause
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static int complain(const char *path, int err)
{
	log_error("%s: cannot create: %s%s", path, place_error(err),
		  err == -EBUSY ? " (a mount cannot be replaced: mount its directory)" :
				  place_advice(err));
	return err;
}

/* A file that something is mounted on, as containers have it, cannot be replaced. */
static bool is_mount(const struct place *place)
{
	struct statx stat;

	return !statx(place->directory, place->name, AT_SYMLINK_NOFOLLOW, 0, &stat) &&
	       stat.stx_attributes & stat.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
}

/*
 * The new file has the mode of the one that it replaces if that is the caller's own: another user
 * would choose who may read it. One with two names may be planted. A group that cannot be kept gets
 * no rights.
 */
static int keep_mode(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;
	struct stat now;

	if (old->st_uid != geteuid() || old->st_nlink != 1)
		return 0;
	if (fstat(fd, &now))
		return -errno;
	if (now.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid))
		mode &= ~(mode_t)S_IRWXG;
	return fchmod(fd, mode) ? -errno : 0;
}

static int begin_part(struct whole_file *file, const struct place *place, const struct stat *old)
{
	/* No other user can open it before it has the mode of the old one. */
	int err = draft_open(&file->part, place, old ? 0600 : 0666);

	file->is_part = !err;
	return err || !old ? err : keep_mode(file->part.fd, old);
}

/* Takes the place unless it fails or is to be written to as it is. */
static int begin(struct whole_file *file, const struct place *place)
{
	struct stat old;
	int err = place->is_descriptor ? 0 : place_stat(place, &old);

	if (err == -ENOENT)
		return begin_part(file, place, NULL);
	if (err || place->is_descriptor)
		return err;
	if (S_ISDIR(old.st_mode))
		return -EISDIR;
	if (!S_ISREG(old.st_mode))
		return S_ISLNK(old.st_mode) ? -ELOOP : 0;
	if (faccessat(place->directory, place->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
		return -errno;
	return is_mount(place) ? -EBUSY : begin_part(file, place, &old);
}

int whole_file_begin(struct whole_file *file, const char *path)
{
	struct place place;
	int err;

	*file = (struct whole_file){ .path = strdup(path) };
	err = file->path ? place_find(&place, path) : -ENOMEM;
	if (!err) {
		err = begin(file, &place);
		if (!file->is_part)
			place_close(&place);
	}
	if (!err)
		return 0;
	whole_file_end(file, false);
	return complain(path, err);
}

int whole_file_end(struct whole_file *file, bool whole)
{
	int err = 0;

	if (file->is_part && whole)
		err = draft_name(&file->part, file->part.place.name, true);
	if (err)
		complain(file->path, err);
	if (file->is_part)
		draft_close(&file->part);
	free(file->path);
	*file = (struct whole_file){ 0 };
	return err;
}
