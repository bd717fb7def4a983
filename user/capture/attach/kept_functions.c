// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/kept_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/probe.h"

#define VERSION 2 /* another one: what is kept of the same file is different */

static struct file_cache_kind kind_of(uint64_t digest)
{
	return (struct file_cache_kind){ .suffix = "-functions",
					 .version = (uint32_t)digest + VERSION,
					 .item_bytes = sizeof(struct kept_function),
					 .most_items = 1 + KEPT_FUNCTIONS };
}

void kept_functions_add(struct kept_functions *functions, const struct elf_function *function)
{
	const size_t length = strlen(function->name);
	struct kept_function *kept;

	if (functions->count == KEPT_FUNCTIONS || length >= KEPT_NAME_BYTES) {
		functions->is_unfit = true;
		return;
	}
	kept = &functions->items[1 + functions->count++];
	kept->index = function->index;
	kept->address = function->address;
	kept->is_exported = function->is_exported;
	memcpy(kept->name, function->name, length + 1);
}

/* Where the numbers of a file can become another one's, its functions are not kept. */
static bool may_keep(const struct file_cache_file *file, size_t count)
{
	return !file->type || !count;
}

/* Reads the function again; false: the file does not have it there. */
static bool read_again(const struct kept_function *kept, int fd, char name[ELF_NAME_BYTES],
		       struct elf_function *function)
{
	return !elf_function_at(fd, kept->is_exported, kept->index, name, function) &&
	       function->address == kept->address && !strcmp(name, kept->name) &&
	       probe_find(name) < 0;
}

static bool are_in_file(const struct kept_function *kept, size_t count, int fd)
{
	char name[ELF_NAME_BYTES];
	struct elf_function function;
	size_t i;

	for (i = 0; i < count; i++)
		if (!memchr(kept[i].name, '\0', sizeof(kept[i].name)) ||
		    !read_again(&kept[i], fd, name, &function))
			return false;
	return true;
}

/* Of what was kept, only where to look comes to `visit`. */
static int visit_all(const struct kept_function *kept, size_t count, int fd,
		     int (*visit)(const struct elf_function *function, void *context),
		     void *context)
{
	char name[ELF_NAME_BYTES];
	struct elf_function function;
	int result = 0;
	size_t i;

	for (i = 0; !result && i < count; i++)
		if (read_again(&kept[i], fd, name, &function))
			result = visit(&function, context);
	return result;
}

int kept_functions_each(const struct file_cache *cache, const struct file_cache_file *file, int fd,
			uint64_t digest,
			int (*visit)(const struct elf_function *function, void *context),
			void *context, struct elf_contents *contents)
{
	const struct file_cache_kind kind = kind_of(digest);
	struct kept_function *kept;
	void *items;
	size_t count;
	int err = file_cache_get(cache, &kind, file, &items, &count);

	if (err)
		return -ENOENT;
	kept = items;
	if (may_keep(file, count - 1) && are_in_file(kept + 1, count - 1, fd)) {
		contents->has_symbols = kept->is_exported;
		err = visit_all(kept + 1, count - 1, fd, visit, context);
	} else {
		err = -ENOENT;
	}
	free(items);
	return err;
}

void kept_functions_put(const struct file_cache *cache, const struct file_cache_file *file,
			uint64_t digest, struct kept_functions *functions,
			const struct elf_contents *contents)
{
	const struct file_cache_kind kind = kind_of(digest);

	if (functions->is_unfit || !may_keep(file, functions->count))
		return;
	functions->items[0].is_exported = contents->has_symbols;
	file_cache_put(cache, &kind, file, functions->items, 1 + functions->count);
}
