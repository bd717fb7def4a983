// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/link.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

/* union bpf_attr's link_create with its uprobe_multi arm, as of Linux 6.6 */
struct link_create_multi_attr {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t padding;
};

int link_create_multi(int program_fd, uint32_t attach_type, const struct link_site *site,
		      bool on_return)
{
	struct link_create_multi_attr attr = {
		.program_fd = program_fd,
		.attach_type = attach_type,
		.path = (uintptr_t)site->path,
		.offsets = (uintptr_t)site->offsets,
		.ref_ctr_offsets = (uintptr_t)site->counters,
		.cookies = (uintptr_t)site->cookies,
		.count = site->count,
		.multi_flags = on_return ? MULTI_RETURN : 0,
		.pid = site->pid,
	};
	int fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/* The number that the kernel gave a dynamic PMU's property, or -errno. */
static int read_pmu(const char *property, const char *format)
{
	char path[96];
	int value, fields;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s", property);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	fields = fscanf(file, format, &value);
	fclose(file);
	return fields == 1 ? value : -EPROTO;
}

int link_create_single(int program_fd, const struct link_site *site, bool on_return)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = site->cookies[0]);
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int type = read_pmu("type", "%d");
	int return_bit = read_pmu("format/retprobe", "config:%d");
	int event_fd, fd;

	if (type < 0 || return_bit < 0)
		return type < 0 ? type : return_bit;
	attr.type = type;
	attr.config = on_return ? 1ull << return_bit : 0;
	/* config:32-63, since Linux 4.20 (format/ref_ctr_offset) */
	if (site->counters)
		attr.config |= site->counters[0] << 32;
	attr.uprobe_path = (uintptr_t)site->path;
	attr.probe_offset = site->offsets[0];
	/* With a process, any CPU; without, one CPU stands for all: uprobes are not per CPU. */
	event_fd = syscall(__NR_perf_event_open, &attr, site->pid ? site->pid : -1,
			   site->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		return -errno;
	fd = bpf_link_create(program_fd, event_fd, BPF_PERF_EVENT, &options);
	if (fd < 0)
		fd = -errno;
	close(event_fd); /* the link holds the event */
	return fd;
}
