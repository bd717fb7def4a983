// SPDX-License-Identifier: BSD-2-Clause
#include "host/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_PATH "/etc/ld.so.cache"
#define CACHE_MAX_BYTES (64 << 20)

int loader_open_in_root(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* ---- directories ----------------------------------------------------------------------------- */

/* Puts `origin` in the place of $ORIGIN or ${ORIGIN}; 0 or -ENAMETOOLONG. */
static int expand(const char *directory, const char *origin, char expanded[PATH_MAX])
{
	static const char *const tokens[] = { "${ORIGIN}", "$ORIGIN" };
	size_t i;

	for (i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
		const char *token = strstr(directory, tokens[i]);

		if (!token || !origin)
			continue;
		if (snprintf(expanded, PATH_MAX, "%.*s%s%s", (int)(token - directory), directory,
			     origin, token + strlen(tokens[i])) >= PATH_MAX)
			return -ENAMETOOLONG;
		return 0;
	}
	return snprintf(expanded, PATH_MAX, "%s", directory) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_in_directory(const struct loader *loader, const char *directory, const char *name,
			     const char *origin, char path[PATH_MAX])
{
	char expanded[PATH_MAX];
	int length;

	if (expand(directory, origin, expanded))
		return -ENOENT;
	if (expanded[0] == '/')
		length = snprintf(path, PATH_MAX, "%s/%s", expanded, name);
	else
		length = snprintf(path, PATH_MAX, "%s/%s/%s", loader->directory, expanded, name);
	if (length >= PATH_MAX)
		return -ENOENT;
	return loader_open_in_root(loader->root_fd, path);
}

/*
 * Directories separated by colons or semicolons. An empty one is the working directory, an empty
 * list is none.
 */
static int search_list(const struct loader *loader, const char *list, const char *name,
		       const char *origin, char path[PATH_MAX])
{
	char *copy = list && *list ? strdup(list) : NULL, *rest = copy, *directory;
	int fd = -ENOENT;

	while (fd < 0 && rest && (directory = strsep(&rest, ":;")))
		fd = open_in_directory(loader, directory, name, origin, path);
	free(copy);
	return fd;
}

int loader_find_program(const struct loader *loader, const char *name, const char *list,
			char path[PATH_MAX])
{
	char *copy = strdup(list), *rest = copy, *directory;
	struct stat status;
	int fd = -ENOENT;

	while (fd < 0 && rest && (directory = strsep(&rest, ":"))) {
		fd = open_in_directory(loader, directory, name, NULL, path);
		if (fd < 0 || (!fstat(fd, &status) && S_ISREG(status.st_mode) &&
			       status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
			continue;
		close(fd);
		fd = -ENOENT;
	}
	free(copy);
	return fd;
}

static int search_usual(const struct loader *loader, const char *name, char path[PATH_MAX])
{
	static const char usual[] = "/lib64:/usr/lib64:/lib:/usr/lib"
				    /* where container runtimes and NixOS put the driver */
				    ":/usr/local/nvidia/lib64:/usr/local/nvidia/lib"
				    ":/run/opengl-driver/lib";

	return search_list(loader, usual, name, NULL, path);
}

/* ---- the loader's cache ---------------------------------------------------------------------- */

/* glibc sysdeps/generic/dl-cache.h: struct cache_file_new, file_entry_new. Offsets from `magic`. */
static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct cache_header {
	char magic[20];
	uint32_t count;
	uint32_t strings_bytes;
	uint8_t flags;
	uint8_t padding[3];
	uint32_t extension_offset;
	uint32_t unused[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t name;
	uint32_t path;
	uint32_t os_version;
	uint64_t hwcap;
};

static const char *cache_string(const char *cache, size_t length, uint32_t offset)
{
	return offset < length && memchr(cache + offset, '\0', length - offset) ? cache + offset :
										  NULL;
}

static int search_cache_bytes(const struct loader *loader, const char *cache, size_t length,
			      const char *wanted, char result[PATH_MAX])
{
	const struct cache_header *header = (const void *)cache;
	const struct cache_entry *entries = (const void *)(header + 1);
	int fd = -ENOENT;
	uint32_t i;

	if (length < sizeof(*header) ||
	    header->count > (length - sizeof(*header)) / sizeof(*entries))
		return -EBADMSG;
	for (i = 0; fd < 0 && i < header->count; i++) {
		const char *name = cache_string(cache, length, entries[i].name);
		const char *path = cache_string(cache, length, entries[i].path);

		if (!name || !path || path[0] != '/' || strcmp(name, wanted) != 0)
			continue;
		if (snprintf(result, PATH_MAX, "%s", path) < PATH_MAX)
			fd = loader_open_in_root(loader->root_fd, path);
	}
	return fd;
}

static int search_cache(const struct loader *loader, const char *name, char path[PATH_MAX])
{
	int fd = loader_open_in_root(loader->root_fd, CACHE_PATH), result = -ENOENT;
	struct stat status;
	char *bytes, *cache;
	ssize_t length;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > CACHE_MAX_BYTES) {
		close(fd);
		return -EBADMSG;
	}
	/* Read, not mapped: its owner could cut it short. */
	bytes = malloc(status.st_size);
	length = bytes ? pread(fd, bytes, status.st_size, 0) : -1;
	close(fd);
	/* An older format may come first, padded to 8 bytes. */
	cache = length > 0 ? memmem(bytes, length, cache_magic, sizeof(cache_magic) - 1) : NULL;
	if (cache && (cache - bytes) % 8 == 0)
		result = search_cache_bytes(loader, cache, length - (cache - bytes), name, path);
	free(bytes);
	return result;
}

int loader_find(const struct loader *loader, const char *name, const char *origin,
		const char *rpath, const char *runpath, char path[PATH_MAX])
{
	int fd = -ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return loader_open_in_root(loader->root_fd, name);
	}
	if (!runpath)
		fd = search_list(loader, rpath, name, origin, path);
	if (fd < 0)
		fd = search_list(loader, loader->library_path, name, origin, path);
	if (fd < 0)
		fd = search_list(loader, runpath, name, origin, path);
	if (fd < 0)
		fd = search_cache(loader, name, path);
	return fd < 0 ? search_usual(loader, name, path) : fd;
}
