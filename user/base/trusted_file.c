// SPDX-License-Identifier: BSD-2-Clause
#include "base/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static int check(const char *path, const struct stat *status, size_t most)
{
	if (!S_ISREG(status->st_mode)) {
		log_error("%s: not a file", path);
		return -EINVAL;
	}
	if (status->st_size > (off_t)most) {
		log_error("%s: too large: it has more than %zu bytes", path, most);
		return -EFBIG;
	}
	if ((status->st_uid && status->st_uid != geteuid()) ||
	    status->st_mode & (S_IWGRP | S_IWOTH)) {
		log_error("%s: others could have written it: it must be root's or yours, and only"
			  " its owner may write it (chmod go-w)",
			  path);
		return -EPERM;
	}
	return 0;
}

int trusted_file_take(int fd, const char *path, size_t most, char **text)
{
	struct stat status;
	ssize_t length;
	int err = fstat(fd, &status) ? -errno : check(path, &status, most);

	*text = NULL;
	if (err)
		return err;
	*text = calloc(1, most + 1);
	length = *text ? read(fd, *text, most) : -1;
	if (length < 0) {
		err = *text ? -errno : -ENOMEM;
		log_error("%s: cannot read: %s", path, strerror(-err));
	} else if (memchr(*text, 0, (size_t)length)) {
		log_error("%s: not a text file", path);
		err = -EINVAL;
	}
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}

int trusted_file_read(const char *path, size_t most, char **text)
{
	/* A pipe of another process's is not waited for. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err = fd < 0 ? -errno : trusted_file_take(fd, path, most, text);

	if (fd >= 0) {
		close(fd);
		return err;
	}
	*text = NULL;
	log_error("%s: cannot open: %s", path, strerror(-err));
	return err;
}

void trusted_file_forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}
