// SPDX-License-Identifier: BSD-2-Clause
#include "host/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/string.h"

#define KERNEL_THREAD_FLAG 0x00200000 /* PF_KTHREAD, include/linux/sched.h */
#define TICKS_PER_SECOND 100          /* USER_HZ */
#define PID_MOST (1 << 22)            /* PID_MAX_LIMIT, include/linux/threads.h */
#define PLACES_PER_CALL 1024          /* UIO_MAXIOV, include/uapi/linux/uio.h */

/* A file of a process that is gone cannot be opened, or is empty, or reading says ESRCH. */
static FILE *open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

static int gone_or(int err)
{
	return err == ENOENT ? -ESRCH : -err;
}

/* `rest` is what follows the command's name, which may hold spaces and parentheses. */
static int parse_stat(const char *rest, struct proc_info *info)
{
	unsigned long long start_ticks;
	unsigned int flags;
	char state;

	/* proc(5): fields 3, 4, 9 and 22 */
	if (sscanf(rest,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
		   " %llu",
		   &state, &info->parent, &flags, &start_ticks) != 4)
		return -EPROTO;
	info->zombie = state == 'Z' || state == 'X';
	info->kernel_thread = flags & KERNEL_THREAD_FLAG;
	info->start_ns = start_ticks * (1000000000 / TICKS_PER_SECOND);
	return 0;
}

static int read_stat(pid_t pid, struct proc_info *info)
{
	char line[1024], *open, *close;
	FILE *file = open_file(pid, "stat");
	size_t length;

	if (!file)
		return gone_or(errno);
	length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	if (!length)
		return -ESRCH;
	line[length] = '\0';
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close || close < open)
		return -EPROTO;
	*close = '\0';
	snprintf(info->comm, sizeof(info->comm), "%s", open + 1);
	return parse_stat(close + 1, info);
}

static int read_tgid(pid_t pid, pid_t *tgid)
{
	FILE *file = open_file(pid, "status");
	char line[256];
	int err = -ESRCH;

	if (!file)
		return gone_or(errno);
	while (err && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", tgid) == 1)
			err = 0;
	fclose(file);
	return err;
}

int proc_read(pid_t pid, struct proc_info *info)
{
	int err;

	memset(info, 0, sizeof(*info));
	info->pid = pid;
	err = read_tgid(pid, &info->tgid);
	return err ? err : read_stat(pid, info);
}

static int each_child_of(pid_t pid, const char *thread, int (*visit)(pid_t child, void *context),
			 void *context)
{
	char path[64 + NAME_MAX];
	FILE *file;
	int child, result = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!result && fscanf(file, "%d", &child) == 1)
		result = visit(child, context);
	fclose(file);
	return result;
}

int proc_each(int (*visit)(pid_t pid, void *context), void *context)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int result = 0;
	uint64_t pid;

	if (!directory)
		return -errno;
	while (!result && (entry = readdir(directory)))
		if (!string_parse_u64(entry->d_name, 1, PID_MOST, &pid))
			result = visit((pid_t)pid, context);
	closedir(directory);
	return result;
}

int proc_each_child(pid_t pid, int (*visit)(pid_t child, void *context), void *context)
{
	struct dirent *entry;
	DIR *directory;
	char path[64];
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return gone_or(errno);
	while (!result && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			result = each_child_of(pid, entry->d_name, visit, context);
	closedir(directory);
	return result;
}

static int parse_mapping(char *line, struct proc_mapping *mapping)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char permissions[8];
	int path = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, permissions, &offset,
		   &major, &minor, &inode, &path) < 7 ||
	    !path)
		return -EPROTO;
	line[strcspn(line, "\n")] = '\0';
	*mapping = (struct proc_mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.dev = makedev(major, minor),
		.inode = inode,
		.executable = permissions[2] == 'x',
		.path = line + path,
	};
	return 0;
}

/*
 * As much as the kernel gives at once, and not the 1 KiB that it says that blocks of /proc have.
 * glibc takes a size only together with a buffer.
 */
#define MAPPINGS_BYTES 4096

int proc_each_mapping(pid_t pid, int (*visit)(const struct proc_mapping *mapping, void *context),
		      void *context)
{
	FILE *file = open_file(pid, "maps");
	char buffer[MAPPINGS_BYTES];
	struct proc_mapping mapping;
	size_t capacity = 0;
	char *line = NULL;
	int result = 0;

	if (!file)
		return gone_or(errno);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while (!result && getline(&line, &capacity, file) > 0)
		if (!parse_mapping(line, &mapping) && mapping.path[0])
			result = visit(&mapping, context);
	free(line);
	fclose(file);
	return result;
}

int proc_environment(pid_t pid, const char *name, char *value, size_t value_bytes)
{
	FILE *file = open_file(pid, "environ");
	size_t capacity = 0, length = strlen(name);
	char *entry = NULL;

	value[0] = '\0';
	if (!file)
		return gone_or(errno);
	while (getdelim(&entry, &capacity, '\0', file) > 0) {
		if (strncmp(entry, name, length) != 0 || entry[length] != '=')
			continue;
		snprintf(value, value_bytes, "%s", entry + length + 1);
		break;
	}
	free(entry);
	fclose(file);
	return 0;
}

int proc_open_mapping(pid_t pid, uint64_t start, uint64_t end)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)start, (unsigned long long)end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? gone_or(errno) : fd;
}

ssize_t proc_read_string(pid_t pid, uint64_t addr, char *text, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE), length = 0;

	/* Page by page: the string may end just before memory that is not mapped. */
	while (length < bytes) {
		size_t step = page - (addr + length) % page;
		struct iovec from = { (void *)(uintptr_t)(addr + length), step };
		struct iovec to = { text + length, bytes - length };
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
		char *end;

		if (got <= 0)
			return got ? -errno : -EFAULT;
		end = memchr(text + length, '\0', got);
		if (end)
			return end - text + 1;
		length += got;
	}
	text[bytes - 1] = '\0';
	return bytes;
}

/* As many as one call takes. */
static int read_some(pid_t pid, const struct proc_place *places, size_t count, char *bytes,
		     size_t *done)
{
	struct iovec from[PLACES_PER_CALL];
	struct iovec to = { .iov_base = bytes };
	size_t i;
	ssize_t got;

	for (i = 0; i < count; i++) {
		from[i] = (struct iovec){ (void *)(uintptr_t)places[i].addr, places[i].bytes };
		to.iov_len += places[i].bytes;
	}
	got = process_vm_readv(pid, &to, 1, from, count, 0);
	*done = to.iov_len;
	if (got < 0)
		return -errno;
	return (size_t)got == to.iov_len ? 0 : -EFAULT;
}

int proc_read_places(pid_t pid, const struct proc_place *places, size_t count, void *bytes)
{
	char *next = bytes;
	int err = 0;

	while (!err && count) {
		size_t some = count < PLACES_PER_CALL ? count : PLACES_PER_CALL, done;

		err = read_some(pid, places, some, next, &done);
		next += done;
		places += some;
		count -= some;
	}
	return err;
}

/* Its controllers are "cpu,cpuacct", "name=systemd", or, with version 2, none. */
static bool is_hierarchy(const char *controllers, size_t length, const char *name)
{
	static const char named[] = "name=";
	const size_t name_length = strlen(name);
	const char *end = controllers + length, *word = controllers, *comma;

	if (!length)
		return !strcmp(name, "unified");
	if (length == name_length && !strncmp(controllers, name, length))
		return true;
	if (length > strlen(named) && !strncmp(controllers, named, strlen(named)))
		word += strlen(named);
	for (; word < end; word = comma + 1) {
		comma = memchr(word, ',', (size_t)(end - word));
		comma = comma ? comma : end;
		if ((size_t)(comma - word) == name_length && !strncmp(word, name, name_length))
			return true;
	}
	return false;
}

bool proc_in_cgroup(pid_t pid, const char *hierarchy, const char *path)
{
	FILE *file = open_file(pid, "cgroup");
	size_t capacity = 0, length = strlen(path);
	char *line = NULL;
	bool found = false;

	/* cgroups(7): hierarchy-ID:controllers:path */
	while (file && !found && getline(&line, &capacity, file) > 0) {
		char *controllers = strchr(line, ':');
		char *own = controllers ? strchr(++controllers, ':') : NULL;

		if (!own || (hierarchy &&
			     !is_hierarchy(controllers, (size_t)(own - controllers), hierarchy)))
			continue;
		own++;
		own[strcspn(own, "\n")] = '\0';
		found = !strncmp(own, path, length) && (!own[length] || own[length] == '/');
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

uint64_t proc_capabilities(void)
{
	FILE *file = open_file(getpid(), "status");
	unsigned long long capabilities = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	return capabilities;
}
