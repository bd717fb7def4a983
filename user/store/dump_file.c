// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/place.h"

#define COPY_BYTES (256 << 10)
#define RETRY_NS 1000000000 /* what is copied may be large, and the disk full */

/*
 * Others see by the lock that it is being written. It is this process's alone, also if helpers that
 * have inherited the descriptor outlive it. A file system without locks does without.
 */
static int create(const char *path)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = place_create(path);

	if (fd >= 0)
		fcntl(fd, F_SETLK, &all);
	return fd;
}

bool dump_file_is_written(const char *path)
{
	/* A write lock alone is in its way: a read lock is what anyone may take who may read it. */
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = place_read(path);
	bool locked = fd >= 0 && !fcntl(fd, F_GETLK, &all) && all.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* What was written is readable: should the file be removed, it is all that there is of it. */
int dump_file_create(struct dump_file *file, const char *path)
{
	int err;

	*file = (struct dump_file){ .fd = -1, .path = strdup(path) };
	if (!file->path)
		return -ENOMEM;
	file->fd = create(path);
	if (file->fd >= 0)
		return 0;
	err = file->fd;
	free(file->path);
	*file = (struct dump_file){ .fd = -1 };
	return err;
}

bool dump_file_is_irregular(const char *path)
{
	struct place place;
	struct stat status;
	bool irregular;

	if (place_find(&place, path))
		return false;
	irregular =
		place.is_descriptor || (!place_stat(&place, &status) && !S_ISREG(status.st_mode) &&
					!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode));
	place_close(&place);
	return irregular;
}

int dump_file_open(struct dump_file *file, const char *path, const char *advice)
{
	int err = dump_file_create(file, path);
	struct stat status;

	if (err == -EEXIST && !stat(path, &status) && S_ISDIR(status.st_mode))
		err = -EISDIR;
	if (err == -EEXIST && dump_file_is_irregular(path))
		log_error("%s: a recording needs a regular file; choose another name", path);
	else if (err)
		log_error("%s: cannot create: %s%s", path, place_error(err),
			  err == -EEXIST ? advice : place_advice(err));
	return err;
}

int dump_file_open_stdout(struct dump_file *file)
{
	*file = (struct dump_file){ .fd = STDOUT_FILENO,
				    .path = strdup("standard output"),
				    .is_stream = true };
	return file->path ? 0 : -ENOMEM;
}

/* ---- writing --------------------------------------------------------------------------------- */

void dump_file_cut(struct dump_file *file, const struct dump_extent *to)
{
	if (file->is_stream)
		return;
	if (ftruncate(file->fd, (off_t)to->bytes) ||
	    lseek(file->fd, (off_t)to->bytes, SEEK_SET) < 0)
		log_debug("%s: a part stays: %s", file->path, strerror(errno));
	else
		file->has = *to;
}

static void extend(struct dump_extent *extent, const struct block_header *header)
{
	extent->bytes += sizeof(*header) + header->stored_bytes;
	extent->blocks++;
	extent->records += header->type == BLOCK_EVENTS ? header->records : 0;
}

/* Returns 0 or -errno. */
static int write_all(int fd, struct iovec parts[2])
{
	while (parts[0].iov_len || parts[1].iov_len) {
		ssize_t length = writev(fd, parts, 2);
		int i;

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return length ? -errno : -EIO;
		for (i = 0; i < 2; i++) {
			size_t done = (size_t)length < parts[i].iov_len ? (size_t)length :
									  parts[i].iov_len;

			if (done)
				parts[i].iov_base = (char *)parts[i].iov_base + done;
			parts[i].iov_len -= done;
			length -= (ssize_t)done;
		}
	}
	return 0;
}

int dump_file_write(struct dump_file *file, const struct block_header *header, const void *stored)
{
	struct iovec parts[2] = { { (void *)header, sizeof(*header) },
				  { (void *)stored, header->stored_bytes } };
	int err = write_all(file->fd, parts);

	/* A part of a block would only have to be skipped. */
	if (err) {
		dump_file_cut(file, &file->has);
		return err;
	}
	if (!file->has.bytes)
		file->first = *header;
	extend(&file->has, header);
	return 0;
}

/* Where the kernel cannot copy between the two. */
static int copy_by_hand(int to_fd, int from_fd, uint64_t offset, uint64_t bytes)
{
	char *buffer = malloc(COPY_BYTES);
	int err = buffer ? 0 : -ENOMEM;

	while (!err && bytes) {
		ssize_t length = pread(from_fd, buffer, bytes < COPY_BYTES ? bytes : COPY_BYTES,
				       (off_t)offset);
		struct iovec parts[2] = { { buffer, (size_t)length }, { NULL, 0 } };

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0) {
			err = length ? -errno : -EIO;
			break;
		}
		err = write_all(to_fd, parts);
		offset += (uint64_t)length;
		bytes -= (uint64_t)length;
	}
	free(buffer);
	return err;
}

/* To where `to_fd` is; the other one's position stays. */
static int copy(int to_fd, int from_fd, uint64_t bytes)
{
	off_t offset = 0;

	while (bytes) {
		ssize_t length = copy_file_range(from_fd, &offset, to_fd, NULL, bytes, 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return copy_by_hand(to_fd, from_fd, (uint64_t)offset, bytes);
		bytes -= (uint64_t)length;
	}
	return 0;
}

int dump_file_append(struct dump_file *file, int from_fd, uint64_t bytes)
{
	int err = copy(file->fd, from_fd, bytes);

	if (err)
		dump_file_cut(file, &file->has);
	else
		file->has.bytes += bytes;
	return err;
}

/* ---- whether it is still what was written ---------------------------------------------------- */

/* The beginning tells of one that was truncated and has grown again, with a hole in it. */
static bool is_changed(const struct dump_file *file, const struct stat *status)
{
	struct block_header first;
	ssize_t length;

	if ((uint64_t)status->st_size < file->has.bytes)
		return true;
	length = file->has.bytes ? pread(file->fd, &first, sizeof(first), 0) : -1;
	return length >= 0 && (length < (ssize_t)sizeof(first) ||
			       memcmp(&first, &file->first, sizeof(first)) != 0);
}

/* The blocks of this recording that it begins with, in so many bytes. */
static struct dump_extent find_whole(const struct dump_file *file, uint64_t bytes)
{
	struct dump_extent whole = { 0 };
	struct block_header stored, header;

	while (bytes - whole.bytes >= sizeof(stored) &&
	       pread(file->fd, &stored, sizeof(stored), (off_t)whole.bytes) == sizeof(stored) &&
	       block_peek(&stored, bytes - whole.bytes, &header) == BLOCK_OK &&
	       header.recording == file->first.recording)
		extend(&whole, &header);
	return whole;
}

static int keep_whole(struct dump_file *file, uint64_t bytes, struct dump_extent *lost)
{
	const struct dump_extent before = file->has;
	const struct dump_extent whole =
		find_whole(file, bytes < before.bytes ? bytes : before.bytes);

	dump_file_cut(file, &whole);
	if (file->has.bytes != whole.bytes)
		return -EIO;
	*lost = (struct dump_extent){ before.bytes - whole.bytes, before.blocks - whole.blocks,
				      before.records - whole.records };
	return DUMP_FILE_CUT;
}

/* Standard output may be a regular file, of which others may have written a part. */
static int check_stream(struct dump_file *file, struct dump_extent *lost)
{
	struct pollfd poller = { .fd = file->fd };
	struct stat status;

	if (poll(&poller, 1, 0) > 0 && poller.revents & POLLERR)
		return -EPIPE;
	if (fstat(file->fd, &status) || !S_ISREG(status.st_mode) ||
	    lseek(file->fd, 0, SEEK_CUR) <= status.st_size)
		return DUMP_FILE_THERE;
	if (lseek(file->fd, 0, SEEK_END) < 0)
		return -errno;
	*lost = file->has;
	file->has = (struct dump_extent){ 0 };
	return DUMP_FILE_CUT;
}

/* ---- whether it is still there --------------------------------------------------------------- */

static bool leads_to(const char *path, const struct stat *file)
{
	struct stat status;

	return !fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) &&
	       status.st_dev == file->st_dev && status.st_ino == file->st_ino;
}

/* Where the file is now, as far as the kernel knows; a file system may not be mounted any more. */
static const char *name_of(const struct dump_file *file, char name[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	length = readlink(link, name, PATH_MAX - 1);
	name[length < 0 ? 0 : length] = '\0';
	return name;
}

/*
 * A file that was put in the old one's place and is still empty, as logrotate does it. Others must
 * have had no part in it: what they have opened they could go on reading.
 */
static int take_empty(const char *path)
{
	struct stat status;
	struct place place;
	int fd = place_find_name(&place, path);

	if (fd)
		return fd;
	fd = openat(place.directory, place.name,
		    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	place_close(&place);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && !status.st_size &&
	    status.st_uid == geteuid() && !(status.st_mode & 077) && status.st_nlink == 1)
		return fd;
	close(fd);
	return -EEXIST;
}

static int create_anew(const char *path)
{
	int fd = create(path);

	return fd == -EEXIST ? take_empty(path) : fd;
}

static void use(struct dump_file *file, int fd)
{
	close(file->fd);
	file->fd = fd;
	file->is_lost = file->is_elsewhere = false;
}

static int make_anew(struct dump_file *file)
{
	int fd = create_anew(file->path), err;

	if (fd < 0)
		return fd;
	err = copy(fd, file->fd, file->has.bytes);
	if (err) {
		place_remove(file->path);
		close(fd);
		return err;
	}
	use(file, fd);
	return 0;
}

/* `what` has become of it. */
static void recover(struct dump_file *file, const char *what)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (file->is_lost && now_ns < file->retry_ns)
		return;
	err = make_anew(file);
	if (!err) {
		log_warning("%s: %s; it was created again, with everything that was in it",
			    file->path, what);
		return;
	}
	if (!file->is_lost)
		log_error("%s: %s, and it cannot be created again: %s; recording goes on, and tries"
			  " again",
			  file->path, what, place_error(err));
	file->is_lost = true;
	file->retry_ns = now_ns + RETRY_NS;
}

int dump_file_check(struct dump_file *file, struct dump_extent *lost)
{
	char name[PATH_MAX];
	struct stat status;

	if (file->is_stream)
		return check_stream(file, lost);
	if (fstat(file->fd, &status))
		return -errno;
	if (is_changed(file, &status))
		return keep_whole(file, status.st_size, lost);
	if ((uint64_t)status.st_size > file->has.bytes) /* what is written would end within it */
		dump_file_cut(file, &file->has);
	if (!status.st_nlink)
		recover(file, "it has been removed");
	else if (leads_to(file->path, &status))
		file->is_lost = file->is_elsewhere = false;
	else if (leads_to(name_of(file, name), &status))
		return DUMP_FILE_ELSEWHERE;
	else
		recover(file, "it can no longer be reached, as if its file system was unmounted");
	return DUMP_FILE_THERE;
}

int dump_file_move(struct dump_file *file)
{
	char name[PATH_MAX];
	int fd = create_anew(file->path);

	name_of(file, name);
	if (fd >= 0) {
		use(file, fd);
		file->has = (struct dump_extent){ 0 };
		log_warning("%s: it was renamed, to %s; recording goes on in a new file with a new"
			    " segment",
			    file->path, name);
		return 0;
	}
	if (!file->is_elsewhere)
		log_warning("%s: it was renamed, and a new file cannot be created: %s; recording"
			    " goes on in %s",
			    file->path, place_error(fd), name);
	file->is_elsewhere = true;
	return fd;
}

int dump_file_close(struct dump_file *file)
{
	int err = 0;

	if (file->fd >= 0 && !file->is_stream && close(file->fd)) {
		err = -errno;
		log_error("%s: cannot close: %s", file->path, strerror(-err));
	}
	free(file->path);
	*file = (struct dump_file){ .fd = -1 };
	return err;
}
