// SPDX-License-Identifier: BSD-2-Clause
#include "host/cgroup_files.h"

#include <stdio.h>
#include <string.h>

#include "host/host_files.h"

#define MOUNTED "/sys/fs/cgroup"
#define UNLIMITED (1ull << 62) /* version 1 has no word for it, but a number near 2^63 */

/* Whether a comma-separated list has the word. */
static bool lists(const char *list, size_t length, const char *word)
{
	const size_t bytes = strlen(word);
	const char *end = list + length;

	while (list < end) {
		const char *comma = memchr(list, ',', end - list);
		const size_t part = (size_t)((comma ? comma : end) - list);

		if (part == bytes && !strncmp(list, word, bytes))
			return true;
		list += part + 1;
	}
	return false;
}

const char *cgroup_files_mounted(const char *root)
{
	char path[HOST_FILES_PATH_BYTES], text[16];

	snprintf(path, sizeof(path), "%s", MOUNTED "/cgroup.controllers");
	return host_files_read(root, path, text, sizeof(text)) >= 0 ? MOUNTED : MOUNTED "/unified";
}

static void set_path(char *path, const char *mounted, const char *below)
{
	if (snprintf(path, CGROUP_FILES_PATH_BYTES, "%s%s", mounted,
		     strcmp(below, "/") ? below : "") >= CGROUP_FILES_PATH_BYTES)
		*path = '\0';
}

/* "5:memory:/a" of version 1, "0::/a" of version 2. */
static void take_line(const char *root, char *line, struct cgroup_files *files)
{
	char *controllers = strchr(line, ':'), *path;
	size_t length;

	path = controllers ? strchr(++controllers, ':') : NULL;
	if (!path)
		return;
	length = (size_t)(path++ - controllers);
	if (!length) {
		const char *mounted = cgroup_files_mounted(root);

		files->mounted = mounted;
		set_path(files->unified, mounted, path);
		if (!*files->memory)
			set_path(files->memory, mounted, path);
		if (!*files->cpu)
			set_path(files->cpu, mounted, path);
	}
	if (lists(controllers, length, "memory")) {
		set_path(files->memory, MOUNTED "/memory", path);
		files->memory_is_old = true;
	}
	if (lists(controllers, length, "cpu")) {
		set_path(files->cpu, MOUNTED "/cpu", path);
		files->cpu_is_old = true;
	}
}

bool cgroup_files_find(const char *root, pid_t pid, struct cgroup_files *files)
{
	char text[HOST_FILES_BYTES], path[64], *line, *rest = text;

	*files = (struct cgroup_files){ .memory = "" };
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (host_files_read(root, path, text, sizeof(text)) <= 0)
		return false;
	while ((line = strsep(&rest, "\n")))
		take_line(root, line, files);
	return *files->memory || *files->cpu;
}

static const char *file_of(char out[HOST_FILES_PATH_BYTES], const char *directory, const char *name)
{
	snprintf(out, HOST_FILES_PATH_BYTES, "%s/%s", directory, name);
	return out;
}

bool cgroup_files_memory(const char *root, const struct cgroup_files *files, __u64 *bytes)
{
	const char *name = files->memory_is_old ? "memory.usage_in_bytes" : "memory.current";
	char path[HOST_FILES_PATH_BYTES];

	return *files->memory && host_files_number(root, file_of(path, files->memory, name), bytes);
}

bool cgroup_files_limit(const char *root, const struct cgroup_files *files, __u64 *bytes)
{
	const char *name = files->memory_is_old ? "memory.limit_in_bytes" : "memory.max";
	char path[HOST_FILES_PATH_BYTES];
	__u64 limit;

	if (!*files->memory ||
	    !host_files_number(root, file_of(path, files->memory, name), &limit) ||
	    limit >= UNLIMITED)
		return false;
	*bytes = limit;
	return true;
}

bool cgroup_files_throttled(const char *root, const struct cgroup_files *files, __u64 *count,
			    __u64 *ns)
{
	char path[HOST_FILES_PATH_BYTES], text[1024];

	if (!*files->cpu ||
	    host_files_read(root, file_of(path, files->cpu, "cpu.stat"), text, sizeof(text)) <= 0 ||
	    !host_files_find(text, "nr_throttled", count))
		return false;
	if (files->cpu_is_old)
		return host_files_find(text, "throttled_time", ns);
	if (!host_files_find(text, "throttled_usec", ns))
		return false;
	*ns *= 1000;
	return true;
}

/* The root of version 2 has no type, and its pressure is the machine's. */
bool cgroup_files_pressure(const char *root, const struct cgroup_files *files, __u64 *some_us)
{
	char path[HOST_FILES_PATH_BYTES], text[512];

	return *files->unified &&
	       host_files_read(root, file_of(path, files->unified, "cgroup.type"), text,
			       sizeof(text)) > 0 &&
	       host_files_read(root, file_of(path, files->unified, "memory.pressure"), text,
			       sizeof(text)) > 0 &&
	       host_files_pressure(text, "some ", some_us);
}
