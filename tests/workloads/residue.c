// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a killed tool leaves in the kernel, and for how long: waits until there are no more programs
 * of ours that nobody but the tool holds, and until every byte of code in the target's memory is
 * again that of the file. Prints how many milliseconds that took. (Other instances may be running
 * on the machine: programs that others hold are theirs.)
 *
 * usage: residue TOOL_PID TARGET_PID FILE   (the target has FILE mapped)
 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GIVE_UP_MS 20000

static const char *const names[] = { "ms_session", "ms_entry", "ms_return",
				     "ms_exec",    "ms_fork",  "ms_exit" };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool file_says(const char *path, const char *wanted)
{
	char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (length < 0)
		return false;
	text[length] = '\0';
	return strstr(text, wanted);
}

static bool process_holds(const char *pid, const char *wanted)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool holds = false;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	directory = opendir(path);
	while (directory && !holds && (entry = readdir(directory))) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, entry->d_name);
		holds = isdigit(*entry->d_name) && file_says(path, wanted);
	}
	if (directory)
		closedir(directory);
	return holds;
}

static bool others_hold(unsigned int id, const char *tool)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool held = false;
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "prog_id:\t%u\n", id);
	while (proc && !held && (entry = readdir(proc)))
		held = isdigit(*entry->d_name) && strcmp(entry->d_name, tool) != 0 &&
		       process_holds(entry->d_name, wanted);
	if (proc)
		closedir(proc);
	return held;
}

static bool is_ours(unsigned int id)
{
	int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = { 0 };
	unsigned int bytes = sizeof(info);
	bool ours = false;
	size_t i;

	if (fd < 0)
		return false;
	if (!bpf_obj_get_info_by_fd(fd, &info, &bytes))
		for (i = 0; i < sizeof(names) / sizeof(*names); i++)
			ours |= !strcmp(info.name, names[i]);
	close(fd);
	return ours;
}

static bool programs_left(const char *tool)
{
	unsigned int id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		if (is_ours(id) && !others_hold(id, tool) && is_ours(id))
			return true;
	return false;
}

/* ---- the target's code ----------------------------------------------------------------------- */

static bool same_bytes(int memory, unsigned long start, unsigned long end, int file, long offset)
{
	char here[65536], there[65536];

	for (; start < end; start += sizeof(here), offset += sizeof(here)) {
		size_t length = end - start < sizeof(here) ? end - start : sizeof(here);
		ssize_t got = pread(file, there, length, offset);

		if (got < 0 || pread(memory, here, got, start) != got || memcmp(here, there, got))
			return false;
	}
	return true;
}

/* Whether the code that is mapped from the file is there, and as in the file. */
static bool code_is_original(const char *target, const char *file)
{
	char path[64], line[PATH_MAX + 256], mapped[PATH_MAX], mode[8];
	unsigned long start, end, offset;
	int memory, contents = open(file, O_RDONLY);
	bool seen = false, same = true;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/mem", target);
	memory = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%s/maps", target);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, mode, &offset,
			   mapped) != 5 ||
		    mode[2] != 'x' || strcmp(mapped, file) != 0)
			continue;
		seen = true;
		same &= same_bytes(memory, start, end, contents, offset);
	}
	if (maps)
		fclose(maps);
	close(memory);
	close(contents);
	return seen && same;
}

int main(int argc, char **argv)
{
	char file[PATH_MAX];
	double begin = now_ms();
	bool code, programs;

	if (argc != 4 || !realpath(argv[3], file)) {
		fprintf(stderr, "usage: residue TOOL_PID TARGET_PID FILE\n");
		return 2;
	}
	do {
		code = code_is_original(argv[2], file);
		programs = !code || programs_left(argv[1]);
		if (code && !programs) {
			printf("%.1f\n", now_ms() - begin);
			return 0;
		}
		usleep(1000);
	} while (now_ms() - begin < GIVE_UP_MS);
	fprintf(stderr, "residue: still there: %s\n",
		code ? "BPF programs" : "breakpoints in the target");
	return 1;
}
