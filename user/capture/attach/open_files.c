// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/open_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "abi.h"
#include "capture/attach/libbpf_log.h"
#include "host/nvidia_files.h"
#include "open_files.skel.h"

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

/* Returns 0 or -errno; then it is as it was. */
static int load(struct open_files *open, const struct ms_settings *settings)
{
	struct open_files_bpf *skeleton;
	int err;

	libbpf_log_init();
	skeleton = open_files_bpf__open();
	if (!skeleton)
		return -errno;
	if (settings)
		skeleton->rodata->settings = *settings;
	err = open_files_bpf__load(skeleton);
	if (err)
		open_files_bpf__destroy(skeleton);
	else
		open->skeleton = skeleton;
	return err;
}

int open_files_read(const struct open_files *open, struct map *files)
{
	const int program = bpf_program__fd(open->skeleton->progs.ms_open_files);
	const int link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
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

int open_files_load(struct open_files *open, const struct programs *programs)
{
	const uint32_t known = nvidia_majors_read().uvm;
	uint32_t *uvm_major;
	const struct ms_settings *settings = programs_settings(programs, &uvm_major);
	const int err = open->skeleton ? 0 : load(open, settings);

	/* What a process has said may be wrong, or of a module that has been loaded again since. */
	if (known)
		*uvm_major = known;
	if (!err)
		open->skeleton->bss->uvm_major = *uvm_major;
	return err;
}

void open_files_fini(struct open_files *open)
{
	open_files_bpf__destroy(open->skeleton);
	open->skeleton = NULL;
}

int open_files_try(void)
{
	struct open_files open = { 0 };
	struct map files = { 0 };
	int err = load(&open, NULL);

	if (!err)
		err = open_files_read(&open, &files);
	map_fini(&files);
	open_files_fini(&open);
	return err;
}
