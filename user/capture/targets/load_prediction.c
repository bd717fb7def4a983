// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/load_prediction.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "host/loader.h"
#include "host/proc.h"
#include "elf/elf_dynamic.h"

#define DRIVER "libcuda.so.1"
#define MAX_FILES 1024 /* of one program */

struct walk {
	struct loader loader;
	char *program_rpath; /* applies to what its libraries need, too */
	char **paths;        /* found, not yet read */
	size_t count, capacity, next;
	struct map seen; /* inodes */
	int (*visit)(int fd, const char *path, void *context);
	void *context;
};

/* Takes the descriptor. Each file once. */
static int found(struct walk *walk, int fd, const char *path)
{
	struct stat status;
	int result = 0;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    map_get(&walk->seen, status.st_ino ^ status.st_dev << 48)) {
		close(fd);
		return 0;
	}
	if (walk->count == MAX_FILES) {
		close(fd);
		return 0;
	}
	if (map_set(&walk->seen, status.st_ino ^ status.st_dev << 48, 1) ||
	    memory_grow(&walk->paths, &walk->capacity, walk->count + 1, sizeof(*walk->paths)))
		result = -ENOMEM;
	if (!result) {
		walk->paths[walk->count] = strdup(path);
		result = walk->paths[walk->count] ? 0 : -ENOMEM;
	}
	if (!result) {
		walk->count++;
		result = walk->visit(fd, path, walk->context);
	}
	close(fd);
	return result;
}

static int find_needed(struct walk *walk, const char *origin, const struct elf_dynamic *dynamic)
{
	char path[PATH_MAX];
	int result = 0;
	size_t i;

	for (i = 0; !result && i < dynamic->needed_count; i++) {
		const char *rpath = dynamic->rpath ? dynamic->rpath : walk->program_rpath;
		int fd = loader_find(&walk->loader, dynamic->needed[i], origin, rpath,
				     dynamic->runpath, path);

		if (fd >= 0)
			result = found(walk, fd, path);
	}
	return result;
}

/* Looks at one file and adds what it needs. */
static int read_file(struct walk *walk, const char *path)
{
	int fd = loader_open_in_root(walk->loader.root_fd, path), result = 0;
	struct elf_dynamic dynamic;
	char origin[PATH_MAX];

	if (fd < 0)
		return 0;
	if (!elf_dynamic_read(fd, &dynamic)) {
		snprintf(origin, sizeof(origin), "%s", path);
		*strrchr(origin, '/') = '\0';
		if (walk->next == 1 && dynamic.rpath && !dynamic.runpath)
			walk->program_rpath = strdup(dynamic.rpath);
		result = find_needed(walk, origin, &dynamic);
	}
	elf_dynamic_fini(&dynamic);
	close(fd);
	return result;
}

/* A name without a slash is looked up in PATH; a relative one starts in the working directory. */
static int open_program(struct walk *walk, pid_t pid, const char *program, char path[PATH_MAX])
{
	char search[4096];
	if (!strchr(program, '/')) {
		if (proc_environment(pid, "PATH", search, sizeof(search)))
			return -ENOENT;
		return loader_find_program(&walk->loader, program, search, path);
	}
	if (snprintf(path, PATH_MAX, "%s%s%s", program[0] == '/' ? "" : walk->loader.directory,
		     program[0] == '/' ? "" : "/", program) >= PATH_MAX)
		return -ENAMETOOLONG;
	return loader_open_in_root(walk->loader.root_fd, path);
}

static int walk_program(struct walk *walk, pid_t pid, const char *program)
{
	char path[PATH_MAX];
	int fd = open_program(walk, pid, program, path), result;

	if (fd < 0)
		return 0; /* starting it will say why */
	result = found(walk, fd, path);
	while (!result && walk->next < walk->count)
		result = read_file(walk, walk->paths[walk->next++]);
	return result;
}

static int walk_driver(struct walk *walk)
{
	char path[PATH_MAX];
	int fd = loader_find(&walk->loader, DRIVER, NULL, NULL, NULL, path);

	return fd < 0 ? 0 : found(walk, fd, path);
}

int load_prediction_each(pid_t pid, const char *program,
			 int (*visit)(int fd, const char *path, void *context), void *context)
{
	struct walk walk = { .visit = visit, .context = context };
	char link[32], library_path[4096], directory[PATH_MAX];
	ssize_t length;
	int result = 0;

	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	length = readlink(link, directory, sizeof(directory) - 1);
	directory[length < 0 ? 0 : length] = '\0';
	if (proc_environment(pid, "LD_LIBRARY_PATH", library_path, sizeof(library_path)))
		library_path[0] = '\0';
	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	walk.loader.library_path = library_path;
	walk.loader.directory = directory;
	walk.loader.root_fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.loader.root_fd < 0)
		return 0;
	if (program)
		result = walk_program(&walk, pid, program);
	if (!result)
		result = walk_driver(&walk);
	while (walk.count)
		free(walk.paths[--walk.count]);
	free(walk.paths);
	free(walk.program_rpath);
	map_fini(&walk.seen);
	close(walk.loader.root_fd);
	return result;
}
