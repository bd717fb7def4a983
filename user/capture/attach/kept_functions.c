// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/kept_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1 /* another one: what is kept of the same file is different */

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
	kept->file_offset = function->file_offset;
	kept->size_bytes = function->size_bytes;
	kept->is_exported = function->is_exported;
	kept->is_indirect = function->is_indirect;
	memcpy(kept->name, function->name, length + 1);
}

static int visit_all(const struct kept_function *kept, size_t count,
		     int (*visit)(const struct elf_function *function, void *context),
		     void *context)
{
	int result = 0;
	size_t i;

	for (i = 0; !result && i < count; i++) {
		const struct elf_function function = { .name = kept[i].name,
						       .file_offset = kept[i].file_offset,
						       .size_bytes = kept[i].size_bytes,
						       .is_exported = kept[i].is_exported,
						       .is_indirect = kept[i].is_indirect };

		result = visit(&function, context);
	}
	return result;
}

int kept_functions_each(const struct file_cache *cache, const struct file_cache_file *file,
			uint64_t digest,
			int (*visit)(const struct elf_function *function, void *context),
			void *context, struct elf_contents *contents)
{
	const struct file_cache_kind kind = kind_of(digest);
	struct kept_function *kept;
	void *items;
	size_t count, i;
	int err = file_cache_get(cache, &kind, file, &items, &count);

	if (err)
		return -ENOENT;
	kept = items;
	for (i = 0; i < count; i++)
		kept[i].name[KEPT_NAME_BYTES - 1] = '\0';
	contents->has_symbols = kept->is_exported;
	err = visit_all(kept + 1, count - 1, visit, context);
	free(items);
	return err;
}

void kept_functions_put(const struct file_cache *cache, const struct file_cache_file *file,
			uint64_t digest, struct kept_functions *functions,
			const struct elf_contents *contents)
{
	const struct file_cache_kind kind = kind_of(digest);

	if (functions->is_unfit)
		return;
	functions->items[0].is_exported = contents->has_symbols;
	file_cache_put(cache, &kind, file, functions->items, 1 + functions->count);
}
