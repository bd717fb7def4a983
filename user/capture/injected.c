// SPDX-License-Identifier: BSD-2-Clause
#include "capture/injected.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/attach/link.h"
#include "elf/elf_symbols.h"

#define INSTALLED "/../lib/memscope-bpf"

static int find_library(const struct injected_library *library, char path[PATH_MAX])
{
	static const char *const places[] = { "", INSTALLED };
	char self[PATH_MAX], wanted[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *directory;
	size_t i;

	if (length < 0)
		return -errno;
	self[length] = '\0';
	directory = dirname(self);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (snprintf(wanted, sizeof(wanted), "%s%s/%s", directory, places[i],
			     library->name) < (int)sizeof(wanted) &&
		    realpath(wanted, path))
			return 0;
	log_error("%s needs %s, which is neither in %s nor in %s" INSTALLED, library->option,
		  library->name, directory, directory);
	return -ENOENT;
}

struct search {
	const char *function;
	uint64_t offset;
};

static int note_function(const struct elf_function *function, void *context)
{
	struct search *search = context;

	if (strcmp(function->name, search->function) != 0)
		return 0;
	search->offset = function->file_offset;
	return 1;
}

static int find_function(const char *path, struct search *search)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found;

	if (fd < 0)
		return -errno;
	found = elf_each_function(fd, note_function, search, NULL);
	close(fd);
	return found > 0 ? 0 : -ENOEXEC;
}

int injected_attach(const struct programs *programs, const struct injected_library *library,
		    char path[PATH_MAX])
{
	struct search search = { .function = library->function };
	const struct link_site site = {
		.path = path, .offsets = &search.offset, .cookies = &library->cookie, .count = 1
	};
	int result = find_library(library, path);

	if (result)
		return result;
	result = find_function(path, &search);
	if (!result)
		result = programs_link(programs, library->program, &site, false);
	if (result < 0)
		log_error("%s: cannot attach to %s: %s", library->option, path, strerror(-result));
	return result;
}
