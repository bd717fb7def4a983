// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/targets/load_prediction.h"
#include "event/cuda_names.h"
#include "host/loader.h"

struct walk {
	pid_t pid;
	bool map_files;
	int (*visit)(const struct file *file, void *context);
	void *context;
};

static int open_in(const char *root, const struct proc_mapping *mapping)
{
	struct stat status;
	int root_fd, fd;

	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = loader_open_in_root(root_fd, mapping->path);
	close(root_fd);
	if (fd >= 0 && (fstat(fd, &status) || status.st_ino != mapping->inode)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

int file_open_mapping(pid_t pid, const struct proc_mapping *mapping, bool map_files)
{
	int fd = map_files ? proc_open_mapping(pid, mapping->start, mapping->end) : -EPERM;
	char root[32];

	if (fd >= 0)
		return fd;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	return open_in(root, mapping);
}

bool file_is_unread(int fd, const struct proc_mapping *mapping)
{
	return fd < 0 && fd != -ESRCH && fd != -ENOENT && fd != -ESTALE &&
	       cuda_name_is_library(mapping->path);
}

int file_open_here(const struct proc_mapping *mapping)
{
	return open_in("/", mapping);
}

static int visit_mapping(const struct proc_mapping *mapping, void *context)
{
	const struct walk *walk = context;
	struct file file = { .path = mapping->path, .mapped = true };
	int result;

	if (!mapping->executable || mapping->path[0] != '/')
		return 0;
	file.fd = file_open_mapping(walk->pid, mapping, walk->map_files);
	if (file.fd < 0) {
		log_debug("%s: cannot open in process %d: %s", mapping->path, walk->pid,
			  strerror(-file.fd));
		return file_is_unread(file.fd, mapping) ? walk->visit(&file, walk->context) : 0;
	}
	result = walk->visit(&file, walk->context);
	close(file.fd);
	return result;
}

static int visit_expected(int fd, const char *path, void *context)
{
	const struct walk *walk = context;
	const struct file file = { .fd = fd, .path = path };

	return walk->visit(&file, walk->context);
}

int file_each(pid_t pid, bool map_files, const char *program,
	      int (*visit)(const struct file *file, void *context), void *context)
{
	struct walk walk = { pid, map_files, visit, context };
	int result = proc_each_mapping(pid, visit_mapping, &walk);

	return result ? result : load_prediction_each(pid, program, visit_expected, &walk);
}
