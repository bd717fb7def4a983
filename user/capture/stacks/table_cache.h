/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of large files, kept in a directory, so that the next trace has them at once. An
 * entry belongs to the file with that device, inode, size, times and build ID. On a file system
 * that lies on a block device, no user can choose the time of the last change, so no two files have
 * all of these. Others are told apart by a number that may be another one's tomorrow; of these,
 * only those that the kernel itself serves count, and only files with a build ID. Only the user of
 * this program may write in the directory; an entry that is damaged, or of another version, is not
 * used.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H
#define MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/elf_image.h"
#include "symbols/unwind_table.h"

struct table_cache_file {
	struct stat status;
	uint64_t type; /* of its file system, as statfs() has it; 0: it lies on a block device */
	char build_id[ELF_BUILD_ID_BYTES]; /* "": it has none */
};

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

/* What a file is. Returns 0 or -errno. */
int table_cache_describe(struct table_cache_file *file, int fd);

/* Whether the table of a file is worth to be kept, and may be. */
bool table_cache_wants(const struct table_cache *cache, const struct table_cache_file *file);

/* Returns 0, -ENOENT if there is no entry that can be used, or -ENOMEM. */
int table_cache_get(const struct table_cache *cache, const struct table_cache_file *file,
		    struct unwind_table *table);

/* The entries that were not used for longest make room. What fails is logged for debugging. */
void table_cache_put(const struct table_cache *cache, const struct table_cache_file *file,
		     const struct unwind_table *table);

#endif /* MEMSCOPE_CAPTURE_STACKS_TABLE_CACHE_H */
