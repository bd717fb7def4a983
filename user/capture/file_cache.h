/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found out about large files of traced programs, kept in a directory, so that the next
 * trace has it at once. An entry belongs to the file with that device, inode, size, times and build
 * ID. On a file system that lies on a block device, no user can choose the time of the last change,
 * so no two files have all of these. Others are told apart by a number that may be another one's
 * tomorrow; of these, only those that the kernel itself serves count, and only files with a build
 * ID. Only the user of this program may write in the directory; an entry that is damaged, or of
 * another version, is not used.
 */
#ifndef MEMSCOPE_CAPTURE_FILE_CACHE_H
#define MEMSCOPE_CAPTURE_FILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/build_id.h"

struct file_cache_file {
	struct stat status;
	uint64_t type; /* of its file system, as statfs() has it; 0: it lies on a block device */
	char build_id[ELF_BUILD_ID_BYTES]; /* "": it has none */
};

#define FILE_CACHE_MOST_BYTES (512ull << 20)
#define FILE_CACHE_LEAST_BYTES (4u << 20) /* smaller files take a few milliseconds to read */

struct file_cache {
	int directory;       /* negative: nothing is kept */
	uint64_t most_bytes; /* that all entries take together */
};

/*
 * Creates the directory if need be; its parent has to be there. NULL: nothing is kept, as when it
 * cannot be used, which is logged for debugging. Returns 0, or -errno: -EPERM if others may write
 * in it.
 */
int file_cache_open(struct file_cache *cache, const char *path, uint64_t most_bytes);
void file_cache_close(struct file_cache *cache);

/* What a file is. Returns 0 or -errno. */
int file_cache_describe(struct file_cache_file *file, int fd);

/* Whether what is known of a file is worth to be kept, and may be. */
bool file_cache_wants(const struct file_cache *cache, const struct file_cache_file *file);

/*
 * Both of a file that is open; its size comes first: of most files, which are small, nothing is
 * read. `*file` can be used if this is so.
 */
bool file_cache_may_keep(const struct file_cache *cache, struct file_cache_file *file, int fd);

/* Whether it is as it was when it was described: what was read since is worth to be kept. */
bool file_cache_is_unchanged(const struct file_cache_file *file, int fd);

/* What is kept of files: equal items, of which there is at least one. */
struct file_cache_kind {
	const char *suffix; /* of the entries' names */
	uint32_t version;   /* items of another one mean something else */
	uint32_t item_bytes;
	uint64_t most_items;
};

/*
 * Returns 0, -ENOENT if there is no entry that can be used, or -ENOMEM. The items are the caller's
 * to free, and as they were when they were put there.
 */
int file_cache_get(const struct file_cache *cache, const struct file_cache_kind *kind,
		   const struct file_cache_file *file, void **items, size_t *count);

/*
 * The entries that were not used for longest make room, an eighth of all that there may be; where
 * there are too many, the smallest ones do first. What fails is logged for debugging.
 */
void file_cache_put(const struct file_cache *cache, const struct file_cache_kind *kind,
		    const struct file_cache_file *file, const void *items, size_t count);

#endif /* MEMSCOPE_CAPTURE_FILE_CACHE_H */
