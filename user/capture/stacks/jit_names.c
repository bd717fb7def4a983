// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/jit_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Negative: there is none, or none that counts. */
static int open_map(pid_t pid, struct stat *status)
{
	struct process_facts facts = { 0 };
	char path[96];
	int fd;

	if (!read_facts(pid, &facts))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%u.map", pid,
		 facts.ns_pid ? facts.ns_pid : (uint32_t)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (!fstat(fd, status) && S_ISREG(status->st_mode) && status->st_uid == facts.uid &&
	    !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	log_debug("%s: is not read: it has to be a file of the process's own user, which no other"
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
