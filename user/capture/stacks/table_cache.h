/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of large files, kept in a directory, so that the next trace has them at once. An
 * entry belongs to the file with that device, inode, size and times, and to no other: the time of
 * the last change cannot be set. Only the user of this program may write in the directory; an entry
 * that is damaged, or of another version, is not used.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H
#define MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbols/unwind_table.h"

struct table_cache {
	int directory;       /* negative: nothing is kept */
	uint64_t most_bytes; /* that all entries take together */
};

/*
 * Creates the directory if need be; its parent has to be there. NULL: nothing is kept, as when it
 * cannot be used, which is logged for debugging.
 */
void table_cache_open(struct table_cache *cache, const char *path, uint64_t most_bytes);
void table_cache_close(struct table_cache *cache);

/* Whether the table of a file is worth to be kept. */
bool table_cache_wants(const struct table_cache *cache, const struct stat *file);

/* Returns 0, -ENOENT if there is no entry that can be used, or -ENOMEM. */
int table_cache_get(const struct table_cache *cache, const struct stat *file,
		    struct unwind_table *table);

/* The entries that were not used for longest make room. What fails is logged for debugging. */
void table_cache_put(const struct table_cache *cache, const struct stat *file,
		     const struct unwind_table *table);

#endif /* MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H */
