// SPDX-License-Identifier: BSD-2-Clause
#include "host/device_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINORS 256                       /* NV_MINOR_DEVICE_NUMBER_MAX is 247 */
#define ENVIRONMENT_MAX_BYTES (8u << 20) /* what execve(2) takes is less */

static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
					 "NVIDIA_VISIBLE_DEVICES" };

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* FNV-1a; no one gains by a collision but confusion about their own devices. */
static uint64_t hash(uint64_t key, const void *bytes, size_t count)
{
	const unsigned char *byte = bytes;
	size_t i;

	for (i = 0; i < count; i++)
		key = (key ^ byte[i]) * 0x100000001b3ull;
	return key;
}

static bool is_of(const char *entry, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	return length > name_length && !memcmp(entry, name, name_length) &&
	       entry[name_length] == '=';
}

struct device_view device_view_of(const char *environment, size_t bytes, const uint64_t minors[4])
{
	struct device_view view = { .key = 0xcbf29ce484222325ull };
	struct {
		const char *entry; /* NULL: it is not set */
		size_t length;
	} found[VARIABLES] = { { 0 } };
	size_t place = 0, count = 0, length, i;

	for (; place < bytes; place += length + 1) {
		const char *entry = environment + place;

		length = strnlen(entry, bytes - place);
		/* Where there are two of one name, getenv(3) finds the first. */
		for (i = 0; i < VARIABLES; i++)
			if (!found[i].entry && is_of(entry, length, variables[i])) {
				found[i].entry = entry;
				found[i].length = length;
			}
	}
	view.key = hash(view.key, minors, 4 * sizeof(*minors));
	for (i = 0; i < VARIABLES; i++) {
		view.key = hash(view.key, found[i].entry ? found[i].entry : "", found[i].length);
		view.key = hash(view.key, "", 1);
	}
	view.renumbered = found[0].entry;
	for (i = 0; i < 4; i++)
		count += (size_t)__builtin_popcountll(minors[i]);
	view.single = count == 1;
	return view;
}

/* The whole file, whose size is not told. Returns its length or -errno. */
static ssize_t read_all(int fd, char **bytes)
{
	size_t length = 0, capacity = 4096;
	ssize_t got;

	*bytes = malloc(capacity);
	while (*bytes) {
		char *larger;

		got = read(fd, *bytes + length, capacity - length);
		if (got <= 0)
			return got ? -errno : (ssize_t)length;
		length += (size_t)got;
		if (length < capacity)
			continue;
		capacity *= 2;
		larger = capacity <= ENVIRONMENT_MAX_BYTES ? realloc(*bytes, capacity) : NULL;
		if (!larger)
			return -ENOMEM;
		*bytes = larger;
	}
	return -ENOMEM;
}

static ssize_t read_environment(pid_t pid, char **bytes)
{
	char path[64];
	ssize_t length;
	int fd;

	*bytes = NULL;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	length = read_all(fd, bytes);
	close(fd);
	return length;
}

/* The devices of a directory. Without any (a simulated driver), the set is empty. */
static void read_minors(const char *path, uint64_t minors[4])
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	memset(minors, 0, 4 * sizeof(*minors));
	while (directory && (entry = readdir(directory))) {
		char *end;
		unsigned long minor;

		if (strncmp(entry->d_name, "nvidia", 6) != 0)
			continue;
		minor = strtoul(entry->d_name + 6, &end, 10);
		if (entry->d_name[6] >= '0' && entry->d_name[6] <= '9' && !*end && minor < MINORS)
			minors[minor / 64] |= 1ull << minor % 64;
	}
	if (directory)
		closedir(directory);
}

void device_view_own_minors(uint64_t minors[4])
{
	read_minors("/dev", minors);
}

/* The files of a process that has ended are seen no more, and its environment is empty. */
static bool has_ended(pid_t pid)
{
	char path[64], root[8];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return readlink(path, root, sizeof(root)) < 0 && (errno == ENOENT || errno == ESRCH);
}

int device_view_read(pid_t pid, struct device_view *view)
{
	uint64_t minors[4];
	char *environment, path[64];
	ssize_t length = read_environment(pid, &environment);

	snprintf(path, sizeof(path), "/proc/%d/root/dev", (int)pid);
	if (length >= 0 && environment)
		read_minors(path, minors);
	if (length >= 0 && environment && has_ended(pid))
		length = -ESRCH;
	if (length >= 0 && environment) {
		*view = device_view_of(environment, (size_t)length, minors);
	}
	free(environment);
	return length < 0 ? (int)length : 0;
}
