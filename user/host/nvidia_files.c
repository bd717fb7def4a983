// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvidia_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/nvidia_driver.h"

#define NVIDIA_MAJOR 195
#define CONTROL_MINOR 255
#define FILE_BYTES 16384

/* ---- what the driver says -------------------------------------------------------------------- */

/* Reads so much of a file as there is room for; "" if there is none. */
static void read_text(const char *path, char *text, size_t bytes)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = 0;
	ssize_t got;

	if (fd >= 0) {
		while (length < bytes - 1 &&
		       (got = read(fd, text + length, bytes - 1 - length)) > 0)
			length += (size_t)got;
		close(fd);
	}
	text[length] = '\0';
}

struct nvidia_majors nvidia_majors_of(const char *devices)
{
	struct nvidia_majors majors = { 0 };
	const char *line;
	unsigned int major;
	char name[64];

	for (line = devices; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "Block devices:", 14))
			break;
		if (sscanf(line, "%u %63s", &major, name) != 2)
			continue;
		if (!strcmp(name, "nvidia-uvm"))
			majors.uvm = major;
		if (!strcmp(name, "nvidia-caps"))
			majors.caps = major;
	}
	return majors;
}

struct nvidia_majors nvidia_majors_read(void)
{
	char text[FILE_BYTES];

	read_text("/proc/devices", text, sizeof(text));
	return nvidia_majors_of(text);
}

enum nvidia_file nvidia_file_of(const struct nvidia_majors *majors, dev_t rdev, uint32_t *number)
{
	*number = minor(rdev);
	if (major(rdev) == NVIDIA_MAJOR && minor(rdev) < NVIDIA_MINORS)
		return NVIDIA_DEVICE;
	if (major(rdev) == NVIDIA_MAJOR && minor(rdev) == CONTROL_MINOR)
		return NVIDIA_CONTROL;
	if (majors->uvm && major(rdev) == majors->uvm)
		return minor(rdev) ? NVIDIA_TOOLS : NVIDIA_UVM;
	if (majors->caps && major(rdev) == majors->caps)
		return NVIDIA_CAPS;
	return NVIDIA_NONE;
}

/* "Name:  \t value" */
static bool is_field(const char *line, const char *name, char *value, size_t bytes)
{
	const size_t length = strlen(name);

	if (strncmp(line, name, length) != 0 || line[length] != ':')
		return false;
	line += length + 1;
	line += strspn(line, " \t");
	snprintf(value, bytes, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

void nvidia_gpu_parse(const char *information, struct nvidia_gpu *gpu)
{
	const char *line;
	char minor_text[16];

	for (line = information; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		is_field(line, "Model", gpu->name, sizeof(gpu->name));
		is_field(line, "GPU UUID", gpu->uuid, sizeof(gpu->uuid));
		is_field(line, "Bus Location", gpu->pci, sizeof(gpu->pci));
		if (is_field(line, "Device Minor", minor_text, sizeof(minor_text)))
			gpu->has_minor = sscanf(minor_text, "%u", &gpu->minor) == 1 &&
					 gpu->minor < NVIDIA_MINORS;
	}
}

size_t nvidia_gpus_read(struct nvidia_gpu *gpus, size_t max)
{
	static const char above[] = "/proc/driver/nvidia/gpus";
	DIR *directory = opendir(above);
	char path[sizeof(above) + NAME_MAX + 16], text[FILE_BYTES];
	struct dirent *entry;
	size_t count = 0;

	while (directory && count < max && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/information", above, entry->d_name);
		read_text(path, text, sizeof(text));
		gpus[count] = (struct nvidia_gpu){ 0 };
		snprintf(gpus[count].pci, sizeof(gpus[count].pci), "%.15s", entry->d_name);
		nvidia_gpu_parse(text, &gpus[count]);
		count++;
	}
	if (directory)
		closedir(directory);
	return count;
}

void nvidia_version_parse(const char *text, char *version, size_t bytes, bool *open)
{
	const size_t line = strcspn(text, "\n");
	size_t place = 0, length;

	*open = false;
	version[0] = '\0';
	/* A word of the first line that has digits and at least one dot. */
	while (place < line) {
		place += strspn(text + place, " \t");
		length = strcspn(text + place, " \t\n");
		if (!strncmp(text + place, "Open", 4) && length == 4)
			*open = true;
		if (!version[0] && length && strspn(text + place, "0123456789.") == length &&
		    memchr(text + place, '.', length))
			snprintf(version, bytes, "%.*s", (int)length, text + place);
		place += length + (place + length < line);
	}
}

void nvidia_version_read(char *version, size_t bytes, bool *open)
{
	char text[FILE_BYTES];

	read_text("/proc/driver/nvidia/version", text, sizeof(text));
	nvidia_version_parse(text, version, bytes, open);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void count_file(enum nvidia_file file, uint32_t number, struct nvidia_files *files)
{
	switch (file) {
	case NVIDIA_DEVICE:
		files->devices++;
		files->minors[number / 64] |= 1ull << number % 64;
		break;
	case NVIDIA_CONTROL:
		files->control++;
		break;
	case NVIDIA_UVM:
		files->uvm++;
		break;
	case NVIDIA_TOOLS:
		files->tools++;
		break;
	case NVIDIA_CAPS:
		files->caps++;
		break;
	case NVIDIA_NONE:
		break;
	}
}

static int gone_or_errno(void)
{
	return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
}

/*
 * Where a link leads is asked for first: looking at a file itself can hang where its file system
 * does, as NFS may. All of the driver's files are in /dev, or have its name.
 */
static bool may_be_nvidia(int directory, const char *name)
{
	char path[128];
	const ssize_t length = readlinkat(directory, name, path, sizeof(path) - 1);

	if (length <= 0)
		return false;
	path[length] = '\0';
	return !strncmp(path, "/dev/", 5) || strstr(path, "nvidia");
}

/* Whether it stands for one of the driver's in a test. */
static bool is_test_file(const struct statx *status)
{
	const dev_t device = nvidia_test_device();

	return device && device == makedev(status->stx_dev_major, status->stx_dev_minor);
}

/* Returns how many descriptors there are, or -errno. */
static int scan_directory(const char *path, const struct nvidia_majors *majors,
			  struct nvidia_files *files)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	struct statx status;
	enum nvidia_file file;
	uint32_t number;
	int fd, count = 0;

	if (!directory)
		return gone_or_errno();
	fd = dirfd(directory);
	while ((entry = readdir(directory))) {
		count += entry->d_name[0] != '.';
		if (entry->d_name[0] == '.' || !may_be_nvidia(fd, entry->d_name) ||
		    statx(fd, entry->d_name, AT_STATX_DONT_SYNC, STATX_TYPE, &status))
			continue;
		if (!S_ISCHR(status.stx_mode)) {
			files->control += is_test_file(&status);
			continue;
		}
		file = nvidia_file_of(majors, makedev(status.stx_rdev_major, status.stx_rdev_minor),
				      &number);
		count_file(file, number, files);
	}
	closedir(directory);
	return count;
}

/* For a process whose first thread has ended, which then has no descriptors. */
static void scan_threads(pid_t pid, const struct nvidia_majors *majors, struct nvidia_files *files)
{
	char path[64 + NAME_MAX];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	while (directory && !nvidia_files_any(files) && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/fd", (int)pid, entry->d_name);
		scan_directory(path, majors, files);
	}
	if (directory)
		closedir(directory);
}

int nvidia_files_scan(pid_t pid, const struct nvidia_majors *majors, struct nvidia_files *files)
{
	char path[64];
	int count;

	memset(files, 0, sizeof(*files));
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	count = scan_directory(path, majors, files);
	if (!count)
		scan_threads(pid, majors, files);
	return count < 0 ? count : 0;
}

bool nvidia_files_any(const struct nvidia_files *files)
{
	return files->devices || files->control || files->uvm || files->tools || files->caps;
}

bool nvidia_files_has(const struct nvidia_files *files, uint32_t minor)
{
	return minor < NVIDIA_MINORS && files->minors[minor / 64] >> minor % 64 & 1;
}

bool nvidia_files_may_share(const struct nvidia_files *own, const struct nvidia_files *others)
{
	size_t i;

	if (!nvidia_files_any(others))
		return false;
	if (!own->devices || !others->devices)
		return true;
	for (i = 0; i < sizeof(own->minors) / sizeof(*own->minors); i++)
		if (own->minors[i] & others->minors[i])
			return true;
	return false;
}
