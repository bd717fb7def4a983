// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/jit_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/process_facts.h"

#define LOOK_NS 1000000000ull
#define STATUS_BYTES 8192

/* Returns whether the user and the pid that the process has in its own namespace are known. */
static bool read_facts(pid_t pid, struct process_facts *facts)
{
	char path[64], text[STATUS_BYTES];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	process_facts_status(text, facts);
	return facts->has_status;
}

/* The number of the mount that a file is in; negative: not known. */
static int mount_of(int fd)
{
	char path[64], line[128];
	int number = -1;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && number < 0 && fgets(line, sizeof(line), info))
		if (!strncmp(line, "mnt_id:", strlen("mnt_id:")))
			number = atoi(line + strlen("mnt_id:"));
	if (info)
		fclose(info);
	return number;
}

/*
 * Whether the kernel itself has the files of that mount of the process. Who opens one that a
 * program serves (FUSE) waits for that program, which may be the traced user's, and never answer.
 */
static bool is_local(int fd, pid_t pid)
{
	static const char *const types[] = { "tmpfs", "overlay", "ext4", "ext3", "ext2",
					     "xfs",   "btrfs",   "zfs",  "f2fs" };
	const int number = mount_of(fd);
	char path[64], line[4096], *type;
	bool local = false;
	FILE *mounts;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mounts = number >= 0 ? fopen(path, "re") : NULL;
	while (mounts && fgets(line, sizeof(line), mounts)) {
		if (atoi(line) != number)
			continue;
		type = strstr(line, " - ");
		for (i = 0; type && !local && i < sizeof(types) / sizeof(*types); i++)
			local = !strncmp(type + 3, types[i], strlen(types[i])) &&
				type[3 + strlen(types[i])] == ' ';
		break;
	}
	if (mounts)
		fclose(mounts);
	return local;
}

/* What is opened is only a place, until it is known that it can be opened at once. */
static int open_tmp(pid_t pid)
{
	char path[64];
	int root, tmp = -1;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_CLOEXEC);
	if (root >= 0 && is_local(root, pid))
		tmp = openat(root, "tmp", O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
	if (root >= 0)
		close(root);
	if (tmp < 0 || is_local(tmp, pid))
		return tmp;
	close(tmp);
	return -1;
}

/* Negative: there is none, or none that counts. */
static int open_map(pid_t pid, struct stat *status)
{
	struct process_facts facts = { 0 };
	char path[64];
	int tmp, fd;

	if (!read_facts(pid, &facts))
		return -1;
	tmp = open_tmp(pid);
	if (tmp < 0)
		return -1;
	snprintf(path, sizeof(path), "perf-%u.map", facts.ns_pid ? facts.ns_pid : (uint32_t)pid);
	fd = openat(tmp, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	close(tmp);
	if (fd < 0)
		return -1;
	if (!fstat(fd, status) && S_ISREG(status->st_mode) && status->st_uid == facts.uid &&
	    !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	log_debug(
		"/tmp/%s: is not read: it has to be a file of the process's own user, which no other"
		" user can write",
		path);
	close(fd);
	return -1;
}

static void read_map(struct jit_names *names, int fd, uint64_t file_bytes)
{
	const size_t most = file_bytes < PERF_MAP_BYTES ? file_bytes : PERF_MAP_BYTES;
	char *text = malloc(most + 1);
	size_t length = 0;
	ssize_t got;

	if (!text)
		return;
	while (length < most && (got = read(fd, text + length, most - length)) > 0)
		length += (size_t)got;
	perf_map_fini(&names->map);
	names->file_bytes = file_bytes;
	perf_map_parse(&names->map, text, length);
}

void jit_names_look(struct jit_names *names, pid_t pid)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct stat status;
	int fd;

	if (names->looked_ns && now_ns - names->looked_ns < LOOK_NS)
		return;
	names->looked_ns = now_ns;
	fd = open_map(pid, &status);
	if (fd < 0)
		return;
	if ((uint64_t)status.st_size != names->file_bytes)
		read_map(names, fd, (uint64_t)status.st_size);
	close(fd);
}

const char *jit_names_find(struct jit_names *names, pid_t pid, uint64_t address, uint32_t *offset)
{
	const struct perf_map_entry *entry = perf_map_find(&names->map, address);

	if (!entry) {
		jit_names_look(names, pid);
		entry = perf_map_find(&names->map, address);
	}
	if (!entry)
		return NULL;
	*offset = (uint32_t)(address - entry->start);
	return names->map.text + entry->name;
}

void jit_names_fini(struct jit_names *names)
{
	perf_map_fini(&names->map);
}
