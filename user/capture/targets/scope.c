// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/string.h"
#include "capture/targets/files.h"
#include "event/cuda_names.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* The same path in the hierarchy with that name ("": where there is only one, that). */
static int open_in(const char *hierarchy, const char *cgroup, bool *version2)
{
	struct statfs status;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), CGROUP_ROOT "/%s%s", hierarchy, cgroup);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*version2 = !fstatfs(fd, &status) && status.f_type == CGROUP2_SUPER_MAGIC;
	return fd;
}

int scope_open_cgroup(const struct scope *scope)
{
	DIR *hierarchies = opendir(CGROUP_ROOT);
	int found = -ENOENT, others = 0;
	struct dirent *hierarchy;
	bool version2 = false;

	/* Version 2 alone is the root itself ("."). */
	while (hierarchies && (hierarchy = readdir(hierarchies))) {
		int fd;

		if (scope->hierarchy && strcmp(scope->hierarchy, hierarchy->d_name) != 0)
			continue;
		fd = open_in(hierarchy->d_name, scope->cgroup, &version2);

		if (fd >= 0 && version2 && found < 0) {
			found = fd;
			continue;
		}
		if (fd >= 0)
			close(fd);
		others += fd >= 0;
	}
	if (hierarchies)
		closedir(hierarchies);
	if (!others || found < 0)
		return found;
	close(found);
	return -EXDEV;
}

bool scope_includes(const struct scope *scope, pid_t pid)
{
	return scope->all ||
	       (scope->cgroup && proc_in_cgroup(pid, scope->hierarchy, scope->cgroup));
}

bool scope_knows(const struct targets *targets, const struct proc_mapping *mapping)
{
	return library_find(&targets->cache, mapping) || cuda_name_is_library(mapping->path);
}

bool scope_wants(const struct scope *scope, struct targets *targets, pid_t pid,
		 const struct proc_mapping *mapping)
{
	const struct library *library;
	bool wanted = false;
	int fd;

	if (pid == getpid() || (scope->except && pid == *scope->except) || !mapping->executable ||
	    mapping->path[0] != '/')
		return false;
	if (!scope_includes(scope, pid))
		return false;
	if (scope->would_deny && scope->would_deny(pid, scope->context))
		return scope_knows(targets, mapping);
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

bool scope_uses(const struct scope *scope, struct targets *targets, pid_t pid)
{
	struct search search = { .scope = scope, .targets = targets, .pid = pid };

	return !targets_find(targets, pid) && proc_each_mapping(pid, visit, &search) > 0;
}

struct whole_search {
	const struct scope *scope;
	struct targets *targets;
	void (*found)(pid_t pid, void *context);
	void *context;
};

static int search_process(pid_t pid, void *context)
{
	const struct whole_search *search = context;

	if (scope_uses(search->scope, search->targets, pid))
		search->found(pid, search->context);
	return 0;
}

int scope_search(const struct scope *scope, struct targets *targets,
		 void (*found)(pid_t pid, void *context), void *context)
{
	struct whole_search search = { scope, targets, found, context };

	return proc_each(search_process, &search);
}
