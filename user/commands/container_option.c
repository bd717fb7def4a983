// SPDX-License-Identifier: BSD-2-Clause
#include "commands/container_option.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

int container_option(const struct option_row *row, const char *value, void *settings)
{
	struct container_map *map = (struct container_map *)((char *)settings + row->offset);

	return strcmp(value, "none") ? container_map_open(map, value) : 0;
}

/* kubelet may make it later; where there is none by default, this is no node of Kubernetes. */
int container_option_logs(const struct option_row *row, const char *value, void *settings)
{
	const int err = option_absolute_path(row, value, "off", settings);
	struct stat status;

	if (err || *value != '/' || !strcmp(value, POD_LOGS_DEFAULT))
		return err;
	if (stat(value, &status)) {
		log_warning("--%s %s: %s; until it is there, pods are named by their environment",
			    row->name, value, strerror(errno));
		return 0;
	}
	if (S_ISDIR(status.st_mode))
		return 0;
	log_error("--%s: %s is not a directory; name the one in which kubelet makes a directory for"
		  " each pod, or off",
		  row->name, value);
	return -ENOTDIR;
}
