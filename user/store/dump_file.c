// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

int dump_file_open(struct dump_file *file, const char *path)
{
	int err;

	*file = (struct dump_file){ .fd = -1, .path = strdup(path) };
	if (!file->path)
		return -ENOMEM;
	file->fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	if (file->fd >= 0)
		return 0;
	err = -errno;
	log_error("%s: cannot create: %s%s", path, strerror(-err),
		  err == -EEXIST ? "; remove it, or choose another name with -o" : "");
	free(file->path);
	file->path = NULL;
	return err;
}

static int fail(struct dump_file *file, int err)
{
	if (!file->err)
		log_error("%s: cannot write: %s; recording goes on, and tries again", file->path,
			  strerror(-err));
	file->err = err;
	/* A part of a block would only have to be skipped. */
	if (ftruncate(file->fd, (off_t)file->bytes) ||
	    lseek(file->fd, (off_t)file->bytes, SEEK_SET) < 0)
		log_debug("%s: the part of a block stays: %s", file->path, strerror(errno));
	return err;
}

int dump_file_write(struct dump_file *file, const struct block_header *header, const void *stored)
{
	const size_t whole = sizeof(*header) + header->stored_bytes;
	size_t done = 0;

	while (done < whole) {
		size_t of_header = done < sizeof(*header) ? sizeof(*header) - done : 0;
		size_t of_stored = done < sizeof(*header) ? 0 : done - sizeof(*header);
		struct iovec parts[] = {
			{ (char *)header + sizeof(*header) - of_header, of_header },
			{ (char *)stored + of_stored, header->stored_bytes - of_stored },
		};
		ssize_t length = writev(file->fd, parts, 2);

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return fail(file, length ? -errno : -EIO);
		done += length;
	}
	if (file->err)
		log_warning("%s: can be written again", file->path);
	file->err = 0;
	file->bytes += whole;
	return 0;
}

int dump_file_close(struct dump_file *file)
{
	int err = 0;

	if (file->fd >= 0 && close(file->fd)) {
		err = -errno;
		log_error("%s: cannot close: %s", file->path, strerror(-err));
	}
	free(file->path);
	*file = (struct dump_file){ .fd = -1 };
	return err;
}
