// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "elf/elf_symbols.h"

void function_table_fini(struct function_table *table)
{
	free(table->entries);
	*table = (struct function_table){ 0 };
}

struct making {
	struct function_table *table;
	bool by_address;
};

static int add(const struct elf_function *function, void *context)
{
	const struct making *making = context;
	struct function_table *table = making->table;

	if (table->count >= FUNCTION_TABLE_MOST)
		return -EFBIG;
	if (memory_grow((void **)&table->entries, &table->capacity, table->count + 1,
			sizeof(*table->entries)))
		return -ENOMEM;
	table->entries[table->count++] = (struct function_entry){
		.begin = making->by_address ? function->address : function->file_offset,
		.name = function->name_offset,
		.bytes = function->size_bytes < UINT32_MAX ? (uint32_t)function->size_bytes :
							     UINT32_MAX,
		.is_weak = function->is_weak,
	};
	return 0;
}

/* If a function has several names, the one that is most its own comes first. */
static int compare(const void *left, const void *right)
{
	const struct function_entry *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->is_weak != b->is_weak)
		return a->is_weak ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

int function_table_make(struct function_table *table, int fd, bool by_address)
{
	struct making making = { table, by_address };
	size_t i, kept = 0;
	int err;

	*table = (struct function_table){ 0 };
	err = by_address ? elf_each_function_anywhere(fd, add, &making) :
			   elf_each_function(fd, add, &making, NULL);
	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries), compare);
	for (i = 0; i < table->count; i++)
		if (!kept || table->entries[kept - 1].begin != table->entries[i].begin)
			table->entries[kept++] = table->entries[i];
	table->count = kept;
	/* What there is of a table that was not read whole is good. */
	return table->count ? 0 : err;
}

const struct function_entry *function_table_find(const struct function_table *table,
						 uint64_t offset)
{
	const struct function_entry *entry;
	size_t low = 0, high = table->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (table->entries[middle].begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	entry = &table->entries[low - 1];
	/* Of assembly the size is often not stated. */
	return !entry->bytes || offset - entry->begin < entry->bytes ? entry : NULL;
}

bool function_table_name(const struct function_entry *entry, int fd, char name[FUNCTION_NAME_BYTES])
{
	const ssize_t got = pread(fd, name, FUNCTION_NAME_BYTES, (off_t)entry->name);

	return got > 0 && name[0] && memchr(name, '\0', got);
}
