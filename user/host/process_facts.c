// SPDX-License-Identifier: BSD-2-Clause
#include "host/process_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/proc.h"
#include "host/script.h"

#define FILE_MAX_BYTES (64u << 10)
#define ENVIRONMENT_MAX_BYTES (1u << 20) /* execve(2) takes more, of those who try */

/* ---- files of the process -------------------------------------------------------------------- */

/*
 * Reads so much of a file as there is room for, and terminates it. All files are opened by the
 * directory of the process: once it is gone, they cannot be read, even if its pid is used again.
 * Returns the length or -errno.
 */
static ssize_t read_file(int directory, const char *name, char *bytes, size_t room)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = 0;
	ssize_t got = 0;

	bytes[0] = '\0';
	if (fd < 0)
		return -errno;
	while (length < room - 1 && (got = read(fd, bytes + length, room - 1 - length)) > 0)
		length += (size_t)got;
	bytes[length] = '\0';
	close(fd);
	return got < 0 ? -EIO : (ssize_t)length;
}

/* Whether the directory is still that of the process which began then. */
static bool is_process(int directory, pid_t pid, uint64_t start_ns)
{
	struct proc_info info;
	char own[8];

	/* It is if its pid has not been used again, and files in its directory can be read. */
	return !proc_read(pid, &info) && info.start_ns == start_ns &&
	       read_file(directory, "comm", own, sizeof(own)) > 0;
}

/* ---- what they say --------------------------------------------------------------------------- */

void process_facts_status(const char *text, struct process_facts *facts)
{
	unsigned int uid = 0, gid = 0, parent = 0;
	unsigned int found = 0;
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		found += sscanf(line, "PPid: %u", &parent) == 1;
		/* Real, effective, saved, of file systems: proc_pid_status(5). */
		found += sscanf(line, "Uid: %*u %u", &uid) == 1;
		found += sscanf(line, "Gid: %*u %u", &gid) == 1;
		if (!strncmp(line, "NSpid:", 6)) {
			const char *end = line + strcspn(line, "\n");

			while (end > line && end[-1] >= '0' && end[-1] <= '9')
				end--;
			facts->ns_pid = (uint32_t)strtoul(end, NULL, 10);
		}
	}
	facts->has_status = found == 3;
	facts->uid = uid;
	facts->gid = gid;
	facts->parent = parent;
}

static bool is_below(const char *path, const char *cgroup)
{
	const size_t length = cgroup ? strlen(cgroup) : 0;

	return length && !strncmp(path, cgroup, length) && (!path[length] || path[length] == '/');
}

static bool is_root(const char *path)
{
	return !path[0] || !path[1];
}

#define HIERARCHIES 32 /* of version 1 there is one for each controller, at most */

/* A process's cgroups, by what decides which of them counts. */
struct groups {
	const char *paths[HIERARCHIES];
	size_t count;
	const char *wished, *container, *unified, *first; /* NULL: there is none */
};

static void take_group(struct groups *groups, const char *path, bool unified,
		       const struct process_facts_wish *wish, struct process_facts *facts)
{
	const struct container container = container_of_cgroup(path);

	if (groups->count < HIERARCHIES)
		groups->paths[groups->count++] = path;
	if (!groups->wished && is_below(path, wish->cgroup))
		groups->wished = path;
	if (!groups->container && container.id[0]) {
		groups->container = path;
		facts->container = container;
	}
	if (unified && !is_root(path))
		groups->unified = path;
	if (!groups->first || (is_root(groups->first) && path[0]))
		groups->first = path;
}

static bool is_among(const char *path, const char *const *paths, size_t count)
{
	while (count--)
		if (!strcmp(paths[count], path))
			return true;
	return false;
}

/* As far as there is room for whole ones. */
static void put_others(const struct groups *groups, struct process_facts *facts)
{
	size_t used = 0, i;

	for (i = 0; i < groups->count; i++) {
		const char *path = groups->paths[i];
		const size_t length = strlen(path);

		if (is_root(path) || !strcmp(path, facts->cgroup) ||
		    is_among(path, groups->paths, i) ||
		    used + length + 2 > sizeof(facts->other_cgroups))
			continue;
		if (used)
			facts->other_cgroups[used++] = '\n';
		memcpy(facts->other_cgroups + used, path, length + 1);
		used += length;
	}
}

void process_facts_cgroup(char *text, const struct process_facts_wish *wish,
			  struct process_facts *facts)
{
	struct groups groups = { .count = 0 };
	char *line, *rest = text;
	const char *chosen;

	/* HIERARCHY:CONTROLLERS:PATH; of version 2, there is one, "0::PATH". */
	while ((line = strsep(&rest, "\n"))) {
		char *controllers = strchr(line, ':');
		char *own = controllers ? strchr(controllers + 1, ':') : NULL;

		if (own)
			take_group(&groups, own + 1, own == controllers + 1, wish, facts);
	}
	chosen = groups.wished    ? groups.wished :
		 groups.container ? groups.container :
		 groups.unified   ? groups.unified :
				    groups.first;
	if (!chosen)
		return;
	snprintf(facts->cgroup, sizeof(facts->cgroup), "%s", chosen);
	put_others(&groups, facts);
}

void process_facts_environment(const char *text, size_t bytes,
			       const struct process_facts_wish *wish, struct process_facts *facts)
{
	size_t place, length, i;

	for (place = 0; place < bytes; place += length + 1) {
		const char *entry = text + place;

		length = strnlen(entry, bytes - place);
		for (i = 0; i < wish->variables_count; i++) {
			const size_t name = strlen(wish->variables[i]);

			if (facts->has_variable[i] || length <= name || entry[name] != '=' ||
			    memcmp(entry, wish->variables[i], name) != 0)
				continue;
			facts->has_variable[i] = true;
			snprintf(facts->variables[i], sizeof(facts->variables[i]), "%.*s",
				 (int)(length - name - 1), entry + name + 1);
		}
	}
}

void process_facts_arguments(const char *text, size_t bytes, const struct process_facts_wish *wish,
			     struct process_facts *facts)
{
	size_t i;

	script_find(facts->exe[0] ? facts->exe : text, text, bytes, facts->script,
		    sizeof(facts->script));
	facts->is_worker = script_is_worker(text, bytes);
	title_find(text, bytes, facts->title);
	if (!wish->line)
		return;
	while (bytes && !text[bytes - 1])
		bytes--;
	snprintf(facts->line, sizeof(facts->line), "%.*s", (int)bytes, text);
	for (i = 0; i < bytes && i < sizeof(facts->line) - 1; i++)
		facts->line[i] = text[i] ? text[i] : ' ';
	facts->line[i] = '\0';
}

/* ---- reading them ---------------------------------------------------------------------------- */

/* Returns whether the process has an executable: that it is running. */
static bool read_exe(int directory, struct process_facts *facts)
{
	char path[4096];
	ssize_t length = readlinkat(directory, "exe", path, sizeof(path));
	size_t kept = sizeof(facts->exe) - 1;

	if (length <= 0)
		return false;
	if ((size_t)length < kept)
		kept = (size_t)length;
	memcpy(facts->exe, path + length - kept, kept);
	facts->exe[kept] = '\0';
	return true;
}

static void read_arguments(int directory, const struct process_facts_wish *wish, char *bytes,
			   struct process_facts *facts)
{
	ssize_t length = read_file(directory, "cmdline", bytes, FILE_MAX_BYTES);

	if (length > 0)
		process_facts_arguments(bytes, (size_t)length, wish, facts);
}

static void read_environment(int directory, const struct process_facts_wish *wish, char *bytes,
			     struct process_facts *facts)
{
	ssize_t length = read_file(directory, "environ", bytes, ENVIRONMENT_MAX_BYTES);

	if (length > 0)
		process_facts_environment(bytes, (size_t)length, wish, facts);
}

static void read_all(int directory, const struct process_facts_wish *wish, char *bytes,
		     struct process_facts *facts)
{
	if (read_file(directory, "status", bytes, FILE_MAX_BYTES) > 0)
		process_facts_status(bytes, facts);
	read_exe(directory, facts);
	read_arguments(directory, wish, bytes, facts);
	if (read_file(directory, "cgroup", bytes, FILE_MAX_BYTES) > 0)
		process_facts_cgroup(bytes, wish, facts);
	read_environment(directory, wish, bytes, facts);
	facts->is_whole = read_exe(directory, facts);
}

#define WORKER_ANCESTORS 3 /* a server may lie between a worker and the script that it runs */

/* The script of the first ancestor that is no worker; without one, it stays as it is. */
static void read_parents_script(uint32_t pid, char *bytes, char *script)
{
	const struct process_facts_wish nothing = { 0 };
	struct process_facts *parent = malloc(sizeof(*parent));
	char path[32];
	int directory, i;

	for (i = 0; parent && pid && i < WORKER_ANCESTORS; i++) {
		memset(parent, 0, sizeof(*parent));
		snprintf(path, sizeof(path), "/proc/%u", pid);
		directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0)
			break;
		if (read_file(directory, "status", bytes, FILE_MAX_BYTES) > 0)
			process_facts_status(bytes, parent);
		read_exe(directory, parent);
		read_arguments(directory, &nothing, bytes, parent);
		close(directory);
		if (!parent->is_worker) {
			if (parent->script[0])
				memcpy(script, parent->script, sizeof(parent->script));
			break;
		}
		pid = parent->parent;
	}
	free(parent);
}

/*
 * The parent that was read about is the parent if it still is afterwards: while it is, nobody else
 * has its pid.
 */
static void read_worker(int directory, char *bytes, struct process_facts *facts)
{
	char script[PROCESS_FACTS_TEXT_BYTES];
	struct process_facts again;

	memcpy(script, facts->script, sizeof(script));
	read_parents_script(facts->parent, bytes, script);
	if (read_file(directory, "status", bytes, FILE_MAX_BYTES) <= 0)
		return;
	process_facts_status(bytes, &again);
	if (again.parent == facts->parent)
		memcpy(facts->script, script, sizeof(script));
}

int process_facts_read(pid_t pid, uint64_t start_ns, const struct process_facts_wish *wish,
		       struct process_facts *facts)
{
	char *bytes = malloc(ENVIRONMENT_MAX_BYTES), path[32];
	int directory, err = -ESRCH;

	memset(facts, 0, sizeof(*facts));
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	directory = bytes ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory >= 0 && is_process(directory, pid, start_ns)) {
		read_all(directory, wish, bytes, facts);
		if (facts->is_worker)
			read_worker(directory, bytes, facts);
		err = facts->has_status ? 0 : -ESRCH;
	}
	if (directory >= 0)
		close(directory);
	free(bytes);
	return err;
}
