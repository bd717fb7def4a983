// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_file.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/place.h"

#define COPY_BYTES (256 << 10)

/* What was written is readable: should the file be removed, it is all that there is of it. */
int dump_file_create(struct dump_file *file, const char *path)
{
	int err;

	*file = (struct dump_file){ .fd = -1, .path = strdup(path) };
	if (!file->path)
		return -ENOMEM;
	file->fd = place_create(path);
	if (file->fd >= 0)
		return 0;
	err = file->fd;
	free(file->path);
	*file = (struct dump_file){ .fd = -1 };
	return err;
}

int dump_file_open(struct dump_file *file, const char *path, const char *advice)
{
	int err = dump_file_create(file, path);
	struct stat status;

	if (err == -EEXIST && !stat(path, &status) && S_ISDIR(status.st_mode))
		err = -EISDIR;
	if (err)
		log_error("%s: cannot create: %s%s", path, place_error(err),
			  err == -EEXIST ? advice : "");
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

void dump_file_cut(struct dump_file *file, uint64_t bytes)
{
	if (file->is_stream)
		return;
	if (ftruncate(file->fd, (off_t)bytes) || lseek(file->fd, (off_t)bytes, SEEK_SET) < 0)
		log_debug("%s: a part stays: %s", file->path, strerror(errno));
	else
		file->bytes = bytes;
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
	if (err)
		dump_file_cut(file, file->bytes);
	else
		file->bytes += sizeof(*header) + header->stored_bytes;
	return err;
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
		dump_file_cut(file, file->bytes);
	else
		file->bytes += bytes;
	return err;
}

/* ---- whether it is still there --------------------------------------------------------------- */

static int make_anew(struct dump_file *file)
{
	int fd = place_create(file->path), err;

	if (fd < 0)
		return fd;
	err = copy(fd, file->fd, file->bytes);
	if (err) {
		place_remove(file->path);
		close(fd);
		return err;
	}
	close(file->fd);
	file->fd = fd;
	return 0;
}

static int check_stream(const struct dump_file *file)
{
	struct pollfd poller = { .fd = file->fd };

	return poll(&poller, 1, 0) > 0 && poller.revents & POLLERR ? -EPIPE : 0;
}

int dump_file_check(struct dump_file *file)
{
	struct stat status;
	int err;

	if (file->is_stream)
		return check_stream(file);
	if (fstat(file->fd, &status) || status.st_nlink)
		return 0;
	err = make_anew(file);
	if (!err)
		log_warning("%s: somebody has removed it; it has been made anew, with all that was"
			    " in it",
			    file->path);
	else if (!file->is_lost)
		log_error("%s: somebody has removed it, and it cannot be made anew: %s; recording"
			  " goes on, and tries again",
			  file->path, place_error(err));
	file->is_lost = err != 0;
	return 0;
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
