// SPDX-License-Identifier: BSD-2-Clause
#include "store/open_failure.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* `record --ring` keeps what it has in a directory beside the file, until it ends. */
static bool has_ring(const char *path)
{
	char ring[PATH_MAX];
	struct stat status;

	return snprintf(ring, sizeof(ring), "%s.ring", path) < (int)sizeof(ring) &&
	       !stat(ring, &status);
}

/* It may be given away. Not so what an agent or a recorder keeps: these go on only as its owner. */
static bool is_file(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode);
}

void open_failure_say(const char *name, const char *path, int err)
{
	const char *why = strerror(-err);

	if (err == -EACCES && geteuid() != 0 && !is_file(path))
		log_error("%s: cannot open: %s; what root records, others may not read: write sudo"
			  " before the command",
			  name, why);
	else if (err == -EACCES && geteuid() != 0)
		log_error("%s: cannot open: %s; what root records, others may not read: write sudo"
			  " before the command, or once: sudo chown \"$USER\" %s",
			  name, why, path);
	else if (!*path)
		log_error("a file's name is empty: is a variable not set?");
	else if (err == -ENOENT && strstr(path, "://"))
		log_error(
			"%s: cannot open: only files of this machine are read; copy it here first",
			name);
	else if (err == -ENOENT && has_ring(path))
		log_error("%s: cannot open: %s; there is %s.ring: give that in its place", name,
			  why, path);
	else
		log_error("%s: cannot open: %s", name, why);
}
