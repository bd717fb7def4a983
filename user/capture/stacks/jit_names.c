// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/jit_names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/mount.h"
#include "host/process_facts.h"

#define LOOK_NS 100000000ull
#define LOOK_NS_PER_MIB 1000000000ull
#define STATUS_BYTES 8192
#define ALL_BYTES (128u << 20) /* that the names of all processes may take */
#define SLACK_NS 2000000000ull /* file systems' clocks are coarse, and start times too */

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

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
 * Whether the last mount that the process has at a place is local; with no place, the one that the
 * file is in. As long as the file is open, no other mount gets the number of its own.
 */
static bool is_mount_local(pid_t pid, const char *place, int fd)
{
	const int number = place ? -1 : mount_of(fd);
	struct mount mount = { 0 };
	bool local = false;
	char path[64];
	FILE *mounts;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mounts = place || number >= 0 ? fopen(path, "re") : NULL;
	while (mounts && mount_read(mounts, &mount))
		if (place ? !strcmp(mount.place, place) : mount.number == number)
			local = mount_is_local(&mount);
	free(mount.line);
	if (mounts)
		fclose(mounts);
	return local;
}

/* Returns a descriptor; negative, with errno: there is none, or no openat2() (before Linux 5.6). */
static int open_in(int directory, const char *name, uint64_t flags, uint64_t resolve)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
				      .resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

/* Looks up what the kernel does not remember only in a root that is local. */
static int open_place(int root, bool is_root_local, uint64_t resolve)
{
	const int tmp = open_in(root, "tmp", O_PATH, resolve | RESOLVE_CACHED);

	return tmp < 0 && is_root_local ? open_in(root, "tmp", O_PATH, resolve) : tmp;
}

/* The process's /tmp, as a place alone (O_PATH): it is not known yet whether it is local. */
static int open_tmp(pid_t pid, int root)
{
	int tmp = open_place(root, false, RESOLVE_NO_XDEV);
	bool is_root_local;

	if (tmp >= 0 || errno == ENOENT)
		return tmp;
	is_root_local = is_mount_local(pid, NULL, root);
	if (is_root_local)
		tmp = open_place(root, true, RESOLVE_NO_XDEV);
	/* What is mounted there may be one that waits for a server (NFS). */
	if (tmp >= 0 || !is_mount_local(pid, "/tmp", -1))
		return tmp;
	return open_place(root, is_root_local, 0);
}

/* Whether the kernel remembers that there is no such file, so that no mounts need be read. */
static bool is_missing(int tmp, const char *name)
{
	const int fd = open_in(tmp, name, O_PATH, RESOLVE_CACHED | RESOLVE_NO_XDEV);

	if (fd < 0)
		return errno == ENOENT;
	close(fd);
	return false;
}

/* Opens the file, if nobody but the kernel decides how long that takes. */
static int open_file(pid_t pid, const char *name)
{
	char path[64];
	int root, tmp, fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_CLOEXEC);
	if (root < 0)
		return -1;
	tmp = open_tmp(pid, root);
	close(root);
	if (tmp < 0)
		return -1;
	if (!is_missing(tmp, name) && is_mount_local(pid, NULL, tmp))
		fd = open_in(tmp, name, O_RDONLY | O_NOCTTY | O_NONBLOCK, RESOLVE_NO_XDEV);
	close(tmp);
	return fd;
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Negative: there is none, or none that counts. */
static int open_map(const struct jit_names *names, pid_t pid, struct stat *status)
{
	struct process_facts facts = { 0 };
	char name[64];
	int fd;

	if (!read_facts(pid, &facts))
		return -1;
	snprintf(name, sizeof(name), "perf-%u.map", facts.ns_pid ? facts.ns_pid : (uint32_t)pid);
	fd = open_file(pid, name);
	if (fd < 0)
		return -1;
	if (fstat(fd, status) || !S_ISREG(status->st_mode) || status->st_uid != facts.uid ||
	    status->st_mode & (S_IWGRP | S_IWOTH))
		log_debug(
			"/tmp/%s: is not read: it has to be a file of the process's own user, which"
			" no other user can write",
			name);
	else if (ns_of(&status->st_mtim) + SLACK_NS < names->since_ns)
		log_debug("/tmp/%s: is not read: it is older than the program", name);
	else
		return fd;
	close(fd);
	return -1;
}

static void forget(struct jit_names *names)
{
	perf_map_fini(&names->map);
	if (names->all_bytes)
		*names->all_bytes -= names->bytes;
	names->bytes = 0;
}

/* Whether the names of all processes have room for so many bytes of this one. */
static bool has_room(const struct jit_names *names, uint64_t bytes, pid_t pid)
{
	if (*names->all_bytes + bytes <= ALL_BYTES)
		return true;
	log_debug("process %d: the names of its generated code are not kept: those of all processes"
		  " would take more than %u MiB",
		  pid, ALL_BYTES >> 20);
	return false;
}

static uint64_t bytes_of(const struct perf_map *map, size_t text_bytes)
{
	return text_bytes + map->capacity * sizeof(*map->entries);
}

static void read_map(struct jit_names *names, pid_t pid, int fd, uint64_t file_bytes)
{
	const size_t most = file_bytes < PERF_MAP_BYTES ? file_bytes : PERF_MAP_BYTES;
	size_t length = 0;
	ssize_t got;
	char *text;

	forget(names);
	names->file_bytes = file_bytes;
	text = has_room(names, most, pid) ? malloc(most + 1) : NULL;
	if (!text)
		return;
	while (length < most && (got = read(fd, text + length, most - length)) > 0)
		length += (size_t)got;
	if (perf_map_parse(&names->map, text, length))
		return;
	if (!has_room(names, bytes_of(&names->map, most), pid)) {
		perf_map_fini(&names->map);
		return;
	}
	names->bytes = bytes_of(&names->map, most);
	*names->all_bytes += names->bytes;
}

/* Reading a large file takes long, so it is read less often. */
static uint64_t pause_ns(const struct jit_names *names)
{
	const uint64_t read_bytes =
		names->file_bytes < PERF_MAP_BYTES ? names->file_bytes : PERF_MAP_BYTES;

	return LOOK_NS + read_bytes * LOOK_NS_PER_MIB / (1u << 20);
}

void jit_names_begin(struct jit_names *names, uint64_t *all_bytes, uint64_t since_ns)
{
	forget(names);
	*names = (struct jit_names){ .all_bytes = all_bytes, .since_ns = since_ns };
}

void jit_names_look(struct jit_names *names, pid_t pid)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct stat status;
	int fd;

	if (names->looked_ns && now_ns - names->looked_ns < pause_ns(names))
		return;
	names->looked_ns = now_ns;
	fd = open_map(names, pid, &status);
	if (fd < 0)
		return;
	if ((uint64_t)status.st_size != names->file_bytes)
		read_map(names, pid, fd, (uint64_t)status.st_size);
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
	forget(names);
}
