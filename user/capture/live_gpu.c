// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times of kernels and copies, if they are wanted: the command that is started loads our library
 * (user/inject), since two variables in its environment say so, and that calls a function of its
 * own with what CUPTI says. The probe is in the file, not in a process: no process has the file
 * that was not started with these variables.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "elf/elf_symbols.h"

#define LIBRARY "libmemscope-cupti.so"
#define INJECTION "CUDA_INJECTION64_PATH"
#define SETTINGS "MEMSCOPE_GPU_TIME"

/* Beside this program, or where it is installed. */
static int find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "%s/" LIBRARY, "%s/../lib/memscope-bpf/" LIBRARY };
	char self[PATH_MAX], wanted[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *directory;
	size_t i;

	if (length < 0)
		return -errno;
	self[length] = '\0';
	directory = dirname(self);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (snprintf(wanted, sizeof(wanted), places[i], directory) < (int)sizeof(wanted) &&
		    realpath(wanted, path))
			return 0;
	log_error("--gpu-time: there is no " LIBRARY " in %s, nor in %s/../lib/memscope-bpf",
		  directory, directory);
	return -ENOENT;
}

static int note_function(const struct elf_function *function, void *context)
{
	if (strcmp(function->name, MS_HAND_SYMBOL) != 0)
		return 0;
	*(uint64_t *)context = function->file_offset;
	return 1;
}

static int find_function(const char *path, uint64_t *offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found;

	if (fd < 0)
		return -errno;
	found = elf_each_function(fd, note_function, offset, NULL);
	close(fd);
	return found > 0 ? 0 : -ENOEXEC;
}

int live_gpu_open(struct live *live)
{
	const uint64_t cookie = 0;
	uint64_t offset;
	const struct link_site site = {
		.path = live->gpu_library, .offsets = &offset, .cookies = &cookie, .count = 1
	};
	int err;

	live->gpu_fd = -1;
	if (!live->options.gpu_times)
		return 0;
	err = find_library(live->gpu_library);
	if (err)
		return err;
	err = find_function(live->gpu_library, &offset);
	if (!err)
		live->gpu_fd = programs_link(live->programs, PROGRAM_HAND, &site, false);
	if (!err && live->gpu_fd >= 0)
		return 0;
	err = err ? err : live->gpu_fd;
	log_error("--gpu-time: cannot attach to %s: %s", live->gpu_library, strerror(-err));
	return err;
}

void live_gpu_close(struct live *live)
{
	if (live->gpu_fd >= 0)
		close(live->gpu_fd);
	live->gpu_fd = -1;
}

/* There can be only one such library, and whoever set the variable was first. */
static bool is_taken(void)
{
	const char *other = getenv(INJECTION);

	if (!other || !*other || !strcmp(other, "none"))
		return false;
	log_warning(INJECTION " is already set, to %s: another tool measures there, and --gpu-time"
			      " does nothing. Unset it first",
		    other);
	return true;
}

/* When the library is to end; it cannot know that nothing reads what it says any more. */
static uint64_t stop_ns(const struct live_options *options)
{
	const uint64_t duration_ns = options->duration_ns, gpu_ns = options->gpu_times_ns;
	const uint64_t least_ns =
		!gpu_ns || (duration_ns && duration_ns < gpu_ns) ? duration_ns : gpu_ns;

	return least_ns ? clock_monotonic_ns() + least_ns : 0;
}

void live_gpu_begin_environment(struct live *live)
{
	char settings[80];

	if (live->gpu_fd < 0 || is_taken())
		return;
	snprintf(settings, sizeof(settings), "%d:%d:%llu", getpid(), !live_follows(live),
		 (unsigned long long)stop_ns(&live->options));
	setenv(INJECTION, live->gpu_library, true);
	setenv(SETTINGS, settings, true);
	live->gpu_environment = true;
}

void live_gpu_end_environment(struct live *live)
{
	if (!live->gpu_environment)
		return;
	unsetenv(INJECTION);
	unsetenv(SETTINGS);
}
