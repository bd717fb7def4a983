// SPDX-License-Identifier: BSD-2-Clause
#include "commands/cgroup_option.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define ROOT "/sys/fs/cgroup"

static bool is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* Version 1 has hierarchies below that, version 2 alone is that. */
static bool has_several(void)
{
	return access(ROOT "/cgroup.controllers", F_OK);
}

static bool is_in(const char *hierarchy, const char *cgroup)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ROOT "/%s%s", hierarchy, cgroup);
	return is_directory(path);
}

/* `cgroup`: its path in the hierarchy. */
static bool is_in_any(const char *cgroup)
{
	DIR *hierarchies = opendir(ROOT);
	struct dirent *hierarchy;
	bool found = !hierarchies || is_in(".", cgroup);

	while (!found && has_several() && (hierarchy = readdir(hierarchies)))
		found = hierarchy->d_name[0] != '.' && is_in(hierarchy->d_name, cgroup);
	if (hierarchies)
		closedir(hierarchies);
	return found;
}

static int refuse(const struct option_row *row, const char *value, const char *path)
{
	char unit[PATH_MAX];

	/* systemd-cgls shows a service below its slice. */
	snprintf(unit, sizeof(unit), "/system.slice%s", path);
	if (!strchr(path + 1, '/') && is_in_any(unit))
		log_error("--%s: there is no cgroup %s; write %s", row->name, value, unit + 1);
	else
		log_error("--%s: there is no cgroup %s: looked for " ROOT "%s%s%s; that of a"
			  " process is in /proc/PID/cgroup",
			  row->name, value, path, has_several() ? " and " ROOT "/*" : "",
			  has_several() ? path : "");
	return -ENOENT;
}

/* "/HIERARCHY/a/b" of version 1 becomes its parts. Returns the path in the hierarchy, or NULL. */
static const char *take_hierarchy(const char *path, char **hierarchy)
{
	const size_t length = 1 + strcspn(path + 1, "/");

	*hierarchy = strndup(path + 1, length - 1);
	return *hierarchy ? path + length : NULL;
}

/* Whether it is more than slashes, and says by itself where it is. */
static bool is_path(const char *path)
{
	const char *name;
	size_t length;

	for (name = path + 1; *name; name += length + (name[length] != '\0')) {
		length = strcspn(name, "/");
		if ((length == 1 && *name == '.') || (length == 2 && !strncmp(name, "..", 2)))
			return false;
	}
	return path[0] == '/' && path[1];
}

static void cut_slashes(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
}

static int refuse_form(const struct option_row *row, const char *value)
{
	log_error("--%s: \"%s\" is not a cgroup; write /sys/fs/cgroup/... or its path as in"
		  " /proc/PID/cgroup (for all processes, -a)",
		  row->name, value);
	return -EINVAL;
}

/* `path` begins with a slash. */
static int take(const struct option_row *row, const char *value, const char *path,
		struct cgroup_option *cgroup)
{
	const size_t root = strlen(ROOT);
	const bool is_whole = !strncmp(path, ROOT, root) && (!path[root] || path[root] == '/');
	char directory[PATH_MAX];

	path += is_whole ? root : 0;
	if (!is_path(path))
		return refuse_form(row, value);
	if (is_whole || !is_in_any(path)) {
		/* Perhaps the name of the hierarchy comes first. */
		snprintf(directory, sizeof(directory), ROOT "%s", path);
		if (!is_directory(directory))
			return refuse(row, value, path);
		if (has_several())
			path = take_hierarchy(path, &cgroup->hierarchy);
		if (!path)
			return -ENOMEM;
		if (!is_path(path))
			return refuse_form(row, value);
	}
	cgroup->path = strdup(path);
	return cgroup->path ? 0 : -ENOMEM;
}

int cgroup_option_parse(const struct option_row *row, const char *value,
			struct cgroup_option *cgroup)
{
	char *path;
	int err;

	if (cgroup->path) {
		log_error("--%s: only one can be given: %s or %s", row->name, cgroup->path, value);
		return -EINVAL;
	}
	path = malloc(strlen(value) + 2);
	if (!path)
		return -ENOMEM;
	sprintf(path, "%s%s", *value == '/' ? "" : "/", value);
	cut_slashes(path);
	err = take(row, value, path, cgroup);
	free(path);
	return err;
}

void cgroup_option_fini(struct cgroup_option *cgroup)
{
	free(cgroup->path);
	free(cgroup->hierarchy);
	*cgroup = (struct cgroup_option){ NULL, NULL };
}
