// SPDX-License-Identifier: BSD-2-Clause
#include "host/host_files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t host_files_read(const char *root, const char *path, char *text, size_t bytes)
{
	char name[HOST_FILES_PATH_BYTES];
	size_t length = 0;
	ssize_t got = 1;
	int fd;

	if (snprintf(name, sizeof(name), "%s%s", root, path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (got > 0 && length < bytes - 1) {
		got = read(fd, text + length, bytes - 1 - length);
		length += got > 0 ? (size_t)got : 0;
	}
	if (got < 0 && !length)
		got = -errno;
	close(fd);
	text[length] = '\0';
	return got < 0 && !length ? got : (ssize_t)length;
}

static bool parse(const char *text, __u64 *number)
{
	char *end;

	while (*text == ' ' || *text == '\t' || *text == ':')
		text++;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno;
}

bool host_files_number(const char *root, const char *path, __u64 *number)
{
	char text[64];

	return host_files_read(root, path, text, sizeof(text)) > 0 && parse(text, number);
}

bool host_files_find(const char *text, const char *words, __u64 *number)
{
	const size_t length = strlen(words);
	const char *line = text;

	while (line) {
		if (!strncmp(line, words, length))
			return parse(line + length, number);
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

bool host_files_pressure(const char *text, const char *which, __u64 *us)
{
	const char *line = strstr(text, which);
	const char *total = line ? strstr(line, "total=") : NULL;

	if (!total)
		return false;
	*us = strtoull(total + strlen("total="), NULL, 10);
	return true;
}
