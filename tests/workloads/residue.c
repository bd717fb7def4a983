// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a killed tool leaves, and for how long: waits until the tool and its helpers are gone (all
 * that was started in this directory), until there are no more programs of ours in the kernel that
 * nobody holds, and until every byte of code in the target's memory is again that of the file.
 * Prints how many milliseconds that took. (Other instances may be running on the machine, in other
 * directories.)
 *
 * Told so, it first kills the tool: while that attaches, when the first byte of the target's code
 * has changed; or it lets the tool end, and kills it when the first byte has changed back.
 *
 * usage: residue TARGET_PID FILE [attaching|detaching TOOL_PID]   (the target has FILE mapped)
 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* ---- processes ------------------------------------------------------------------------------- */

static bool file_begins(const char *path, const char *wanted)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return length > 0 && !strncmp(text, wanted, strlen(wanted));
}

/* One of the tool's: by its name, and by its working directory, which is this one. */
static bool is_tool(const char *pid)
{
	char path[PATH_MAX];
	struct stat here, there;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (!file_begins(path, "memscope-"))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/cwd", pid);
	return !stat(".", &here) && !stat(path, &there) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

static bool processes_left(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool left = false;

	while (proc && !left && (entry = readdir(proc)))
		left = isdigit(*entry->d_name) && is_tool(entry->d_name);
	if (proc)
		closedir(proc);
	return left;
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

static bool is_held(unsigned int id)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool held = false;
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "prog_id:\t%u\n", id);
	while (proc && !held && (entry = readdir(proc)))
		held = isdigit(*entry->d_name) && process_holds(entry->d_name, wanted);
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

static bool programs_left(void)
{
	unsigned int id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		if (is_ours(id) && !is_held(id) && is_ours(id))
			return true;
	return false;
}

/* ---- the target's code ----------------------------------------------------------------------- */

struct code {
	size_t length, capacity;
	unsigned char *memory, *file; /* what is there, and what the file has there */
};

/* What is not readable is left out. */
static void add_mapping(struct code *code, int memory, int file, unsigned long start,
			unsigned long end, long offset)
{
	size_t room = code->length + (end - start);
	ssize_t length;

	if (room > code->capacity) {
		code->memory = realloc(code->memory, room);
		code->file = realloc(code->file, room);
		code->capacity = room;
	}
	if (!code->memory || !code->file)
		exit(2);
	/* The last page is longer than the file. */
	length = pread(file, code->file + code->length, end - start, offset);
	if (length > 0 && pread(memory, code->memory + code->length, length, start) == length)
		code->length += length;
}

/* All code that the target has mapped from the file. */
static void code_read(struct code *code, const char *target, const char *file)
{
	char path[64], line[PATH_MAX + 256], mapped[PATH_MAX], mode[8];
	unsigned long start, end, offset;
	int memory, contents = open(file, O_RDONLY);
	FILE *maps;

	code->length = 0;
	snprintf(path, sizeof(path), "/proc/%s/mem", target);
	memory = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%s/maps", target);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, mode, &offset,
			   mapped) == 5 &&
		    mode[2] == 'x' && !strcmp(mapped, file))
			add_mapping(code, memory, contents, start, end, offset);
	if (maps)
		fclose(maps);
	close(memory);
	close(contents);
}

static bool code_is(const struct code *code, const unsigned char *bytes)
{
	return code->length && !memcmp(code->memory, bytes, code->length);
}

/* ---- the kill -------------------------------------------------------------------------------- */

/* Not when the tool is gone already: then it was faster. */
static void kill_tool(const char *target, const char *file, bool detaching, const char *tool)
{
	struct code code = { 0 };
	double begin = now_ms();
	unsigned char *before;

	code_read(&code, target, file);
	before = malloc(code.length);
	if (!before)
		exit(2);
	memcpy(before, detaching ? code.memory : code.file, code.length);
	if (detaching)
		kill(atoi(tool), SIGINT);
	while (code_is(&code, before) && is_tool(tool) && now_ms() - begin < GIVE_UP_MS)
		code_read(&code, target, file);
	kill(atoi(tool), SIGKILL);
	free(before);
	free(code.memory);
	free(code.file);
}

/* The target's memory last: to read it takes a lock that whoever removes breakpoints waits for. */
static const char *what_is_left(const char *target, const char *file)
{
	struct code code = { 0 };
	bool original;

	if (processes_left())
		return "processes of the tool";
	if (programs_left())
		return "BPF programs";
	code_read(&code, target, file);
	original = code_is(&code, code.file);
	free(code.memory);
	free(code.file);
	return original ? NULL : "breakpoints in the target";
}

int main(int argc, char **argv)
{
	bool detaching = argc == 5 && !strcmp(argv[3], "detaching");
	bool attaching = argc == 5 && !strcmp(argv[3], "attaching");
	char file[PATH_MAX];
	const char *left;
	double begin;

	if ((argc != 3 && !attaching && !detaching) || !realpath(argv[2], file)) {
		fprintf(stderr, "usage: residue TARGET_PID FILE [attaching|detaching TOOL_PID]\n");
		return 2;
	}
	if (attaching || detaching)
		kill_tool(argv[1], file, detaching, argv[4]);
	begin = now_ms();
	/* That this process has to wait for a CPU says nothing of what it looks for. */
	setpriority(PRIO_PROCESS, 0, -20);
	while ((left = what_is_left(argv[1], file)) && now_ms() - begin < GIVE_UP_MS)
		usleep(1000);
	if (!left)
		printf("%.1f\n", now_ms() - begin);
	else
		fprintf(stderr, "residue: still there: %s\n", left);
	return left ? 1 : 0;
}
