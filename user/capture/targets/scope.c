// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/scope.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/string.h"
#include "capture/targets/files.h"

bool scope_includes(const struct scope *scope, pid_t pid)
{
	return scope->all || (scope->cgroup && proc_in_cgroup(pid, scope->cgroup));
}

bool scope_wants(const struct scope *scope, struct targets *targets, pid_t pid,
		 const struct proc_mapping *mapping)
{
	const struct library *library;
	bool wanted = false;
	int fd;

	if (pid == getpid() || !mapping->executable || mapping->path[0] != '/')
		return false;
	if (!scope_includes(scope, pid))
		return false;
	fd = file_open_mapping(pid, mapping, targets->map_files);
	if (file_is_unread(fd, mapping))
		return true; /* so that it is reported */
	if (fd < 0)
		return false;
	if (!library_load(&targets->cache, fd, mapping->path, &library))
		wanted = library->points_count;
	close(fd);
	return wanted;
}

struct search {
	const struct scope *scope;
	struct targets *targets;
	pid_t pid;
};

static int visit(const struct proc_mapping *mapping, void *context)
{
	const struct search *search = context;

	return scope_wants(search->scope, search->targets, search->pid, mapping);
}

int scope_search(const struct scope *scope, struct targets *targets,
		 void (*found)(pid_t pid, void *context), void *context)
{
	struct search search = { .scope = scope, .targets = targets };
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	uint64_t pid;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		if (string_parse_u64(entry->d_name, 1, 1 << 22, &pid))
			continue;
		search.pid = pid;
		if (!targets_find(targets, search.pid) &&
		    proc_each_mapping(search.pid, visit, &search) > 0)
			found(search.pid, context);
	}
	closedir(directory);
	return 0;
}
