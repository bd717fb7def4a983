// SPDX-License-Identifier: BSD-2-Clause
#include "capture/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/memory.h"
#include "model/probe.h"
#include "symbols/elf_symbols.h"

static void library_free(struct library *library)
{
	free(library->points);
	free(library->path);
	free(library->name);
	free(library);
}

void library_cache_fini(struct library_cache *cache)
{
	size_t i;

	for (i = 0; i < cache->count; i++)
		library_free(cache->libraries[i]);
	free(cache->libraries);
	*cache = (struct library_cache){ 0 };
}

static int add_function(const struct elf_function *function, void *context)
{
	struct library *library = context;
	int row = probe_find(function->name), err;
	size_t i;

	if (row < 0)
		return 0;
	/* .symtab repeats what .dynsym has; two names of one address would be two probes in it. */
	for (i = 0; i < library->points_count; i++)
		if (library->points[i].row == (uint32_t)row ||
		    library->points[i].file_offset == function->file_offset)
			return 0;
	err = memory_grow(&library->points, &library->points_capacity, library->points_count + 1,
			  sizeof(*library->points));
	if (err)
		return err;
	library->points[library->points_count++] =
		(struct library_point){ .row = row, .file_offset = function->file_offset };
	return 0;
}

/* Allocations of a kind follow right after the frees of that kind; all else comes last. */
static int turn_of(const struct library_point *point)
{
	const struct ms_spec *spec = &probe_at(point->row)->spec;

	if (spec->op == MS_OP_FREE)
		return 2 * spec->key;
	return spec->op == MS_OP_ALLOC ? 2 * spec->key + 1 : 2 * MS_KEYS_COUNT;
}

static int by_order(const void *a, const void *b)
{
	const struct library_point *x = a, *y = b;

	if (turn_of(x) != turn_of(y))
		return turn_of(x) - turn_of(y);
	return x->row < y->row ? -1 : x->row > y->row;
}

static int read_functions(struct library *library, int fd)
{
	struct elf_contents contents;
	int err = elf_each_function(fd, add_function, library, &contents);

	if (library->points_count)
		qsort(library->points, library->points_count, sizeof(*library->points), by_order);
	library->has_symbols = contents.has_symbols;
	library->readable = !err;
	if (err == -ENOEXEC)
		return 0;
	if (err == -EBADMSG) {
		log_debug("%s: damaged ELF file; %zu functions found", library->path,
			  library->points_count);
		return 0;
	}
	return err;
}

static struct library *find(const struct library_cache *cache, const struct stat *status)
{
	int64_t modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec;
	size_t i;

	for (i = 0; i < cache->count; i++) {
		struct library *library = cache->libraries[i];

		if (library->dev == status->st_dev && library->inode == status->st_ino &&
		    library->size_bytes == (uint64_t)status->st_size &&
		    library->modified_ns == modified_ns)
			return library;
	}
	return NULL;
}

static struct library *library_new(const struct stat *status, const char *path)
{
	struct library *library = calloc(1, sizeof(*library));
	const char *slash = strrchr(path, '/');

	if (!library)
		return NULL;
	library->dev = status->st_dev;
	library->inode = status->st_ino;
	library->size_bytes = status->st_size;
	library->modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec;
	library->path = strdup(path);
	library->name = strdup(slash ? slash + 1 : path);
	if (!library->path || !library->name) {
		library_free(library);
		return NULL;
	}
	return library;
}

int library_load(struct library_cache *cache, int fd, const char *path,
		 const struct library **result)
{
	struct library *library;
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	library = find(cache, &status);
	if (library) {
		*result = library;
		return 0;
	}
	err = memory_grow(&cache->libraries, &cache->capacity, cache->count + 1,
			  sizeof(*cache->libraries));
	if (err)
		return err;
	library = library_new(&status, path);
	if (!library)
		return -ENOMEM;
	err = read_functions(library, fd);
	if (err) {
		library_free(library);
		return err;
	}
	cache->libraries[cache->count++] = library;
	*result = library;
	return 0;
}
