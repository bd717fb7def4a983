// SPDX-License-Identifier: BSD-2-Clause
/*
 * Markers of NVTX 3, if they are wanted: the command that is started loads our library
 * (user/inject/nvtx.c), since a variable in its environment says so. The probe is in the file, not
 * in a process: none has it that was not started with this variable, and the first marker comes as
 * soon as it is loaded. Only those of targets are recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/live_internal.h"
#include "elf/elf_symbols.h"

#define LIBRARY "libmemscope-nvtx.so"
#define INJECTION "NVTX_INJECTION64_PATH"

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
	log_error("--markers=inject: there is no " LIBRARY " in %s, nor in %s/../lib/memscope-bpf",
		  directory, directory);
	return -ENOENT;
}

static int note_function(const struct elf_function *function, void *context)
{
	if (strcmp(function->name, MARKER_ROWS_INJECTED) != 0)
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

int live_nvtx_open(struct live *live)
{
	const int row = live->options.markers ? marker_rows_injected(live->options.markers) : -1;
	const uint64_t cookie = row < 0 ? 0 : MS_COOKIE(row, 0);
	uint64_t offset;
	const struct link_site site = {
		.path = live->nvtx_library, .offsets = &offset, .cookies = &cookie, .count = 1
	};
	int err;

	if (row < 0)
		return 0;
	err = find_library(live->nvtx_library);
	if (err)
		return err;
	err = find_function(live->nvtx_library, &offset);
	if (!err)
		live->nvtx_fd = programs_link(live->programs, PROGRAM_MARKER, &site, false);
	if (!err && live->nvtx_fd >= 0)
		return 0;
	err = err ? err : live->nvtx_fd;
	live->nvtx_fd = -1;
	log_error("--markers=inject: cannot attach to %s: %s", live->nvtx_library, strerror(-err));
	return err;
}

void live_nvtx_close(struct live *live)
{
	if (live->nvtx_fd >= 0)
		close(live->nvtx_fd);
	live->nvtx_fd = -1;
}

/* There can be only one such library, and what has set the variable was first. */
void live_nvtx_begin_environment(struct live *live)
{
	const char *other = getenv(INJECTION);

	if (live->nvtx_fd < 0)
		return;
	if (other && *other) {
		log_warning(INJECTION " is already set, to %s: another tool reads the markers, and"
				      " --markers=inject does nothing. Unset it first",
			    other);
		return;
	}
	setenv(INJECTION, live->nvtx_library, true);
	live->nvtx_environment = true;
}

void live_nvtx_end_environment(struct live *live)
{
	if (live->nvtx_environment)
		unsetenv(INJECTION);
}
