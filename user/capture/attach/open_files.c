// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/open_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "abi.h"

#define FILES_AT_ONCE 512

/* Until there are no more. */
static int read_all(int fd, struct map *files)
{
	struct ms_open_file open[FILES_AT_ONCE];
	ssize_t bytes;
	size_t i;

	while ((bytes = read(fd, open, sizeof(open))) != 0) {
		if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (bytes < 0)
			return -errno;
		for (i = 0; i < (size_t)bytes / sizeof(*open); i++)
			if (map_set(files, open[i].file, open[i].pid))
				return -ENOMEM;
	}
	return 0;
}

int open_files_read(const struct programs *programs, struct map *files)
{
	const int link = bpf_link_create(programs_open_files_fd(programs), 0, BPF_TRACE_ITER, NULL);
	int fd, err;

	if (link < 0)
		return link;
	fd = bpf_iter_create(link);
	err = fd < 0 ? fd : read_all(fd, files);
	if (fd >= 0)
		close(fd);
	close(link);
	return err;
}
