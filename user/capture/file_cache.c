// SPDX-License-Identifier: BSD-2-Clause
#include "capture/file_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "base/memory.h"
#include "elf/elf_image.h"

#define MAGIC "MSTABLE"
#define MAX_ENTRIES 1024ul
#define SMALL_BYTES 512 /* what an entry has that says that a file has nothing, or one thing */
#define NAME_BYTES 64

/* The items follow. */
struct header {
	char magic[sizeof(MAGIC)];
	uint32_t version, item_bytes;
	uint64_t dev, inode, size_bytes, modified_ns, changed_ns;
	char build_id[(ELF_BUILD_ID_BYTES + 7) / 8 * 8]; /* no padding follows */
	uint64_t items;
	uint64_t checksum; /* of what is before it, and of the items */
};

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static struct header header_of(const struct file_cache_kind *kind,
			       const struct file_cache_file *file, uint64_t items)
{
	struct header header = { .magic = MAGIC,
				 .version = kind->version,
				 .item_bytes = kind->item_bytes,
				 .dev = file->status.st_dev,
				 .inode = file->status.st_ino,
				 .size_bytes = (uint64_t)file->status.st_size,
				 .modified_ns = ns_of(&file->status.st_mtim),
				 .changed_ns = ns_of(&file->status.st_ctim),
				 .items = items };

	snprintf(header.build_id, sizeof(header.build_id), "%s", file->build_id);
	return header;
}

static uint64_t checksum_of(const struct header *header, const void *items)
{
	return XXH3_64bits_withSeed(items, header->items * header->item_bytes,
				    XXH3_64bits(header, offsetof(struct header, checksum)));
}

static void name_of(char name[NAME_BYTES], const struct file_cache_kind *kind,
		    const struct file_cache_file *file)
{
	snprintf(name, NAME_BYTES, "%llx-%llx%s", (unsigned long long)file->status.st_dev,
		 (unsigned long long)file->status.st_ino, kind->suffix);
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Whether nobody but this program's user can have written it. */
static bool is_own(int fd, mode_t type)
{
	struct stat status;

	return !fstat(fd, &status) && (status.st_mode & S_IFMT) == type &&
	       status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

int file_cache_open(struct file_cache *cache, const char *path, uint64_t most_bytes)
{
	int err;

	*cache = (struct file_cache){ .directory = -1, .most_bytes = most_bytes };
	if (!path)
		return 0;
	if (mkdir(path, 0700) && errno != EEXIST) {
		err = -errno;
		log_debug("%s: cannot be created (%s): nothing is kept of files", path,
			  strerror(-err));
		return err;
	}
	cache->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = cache->directory < 0 ? -errno : -EPERM;
	if (cache->directory >= 0 && is_own(cache->directory, S_IFDIR))
		return 0;
	log_debug("%s: is no directory in which this user alone can write: nothing is kept"
		  " of files",
		  path);
	file_cache_close(cache);
	return err;
}

void file_cache_close(struct file_cache *cache)
{
	if (cache->directory >= 0)
		close(cache->directory);
	cache->directory = -1;
}

int file_cache_describe(struct file_cache_file *file, int fd)
{
	struct elf_image image;
	struct statfs system;

	*file = (struct file_cache_file){ 0 };
	if (fstat(fd, &file->status))
		return -errno;
	if (!major(file->status.st_dev)) {
		if (fstatfs(fd, &system))
			return -errno;
		file->type = (uint64_t)system.f_type;
	}
	if (!elf_image_read(&image, fd))
		memcpy(file->build_id, image.build_id, sizeof(image.build_id));
	return 0;
}

/* Whether the kernel itself serves such a file system, which lies on no block device. */
static bool is_kernels_own(uint64_t type)
{
	static const uint64_t types[] = { OVERLAYFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
					  0x2fc12fc1 /* ZFS */ };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (type == types[i])
			return true;
	return false;
}

static bool is_worth(const struct file_cache_file *file)
{
	return S_ISREG(file->status.st_mode) && file->status.st_size >= FILE_CACHE_LEAST_BYTES;
}

bool file_cache_wants(const struct file_cache *cache, const struct file_cache_file *file)
{
	return cache->directory >= 0 && is_worth(file) &&
	       (!file->type || (is_kernels_own(file->type) && file->build_id[0]));
}

bool file_cache_may_keep(const struct file_cache *cache, struct file_cache_file *file, int fd)
{
	*file = (struct file_cache_file){ 0 };
	return cache->directory >= 0 && !fstat(fd, &file->status) && is_worth(file) &&
	       !file_cache_describe(file, fd) && file_cache_wants(cache, file);
}

bool file_cache_is_unchanged(const struct file_cache_file *file, int fd)
{
	struct stat after;

	return !fstat(fd, &after) && after.st_size == file->status.st_size &&
	       !memcmp(&after.st_ctim, &file->status.st_ctim, sizeof(after.st_ctim));
}

/* ---- room for entries ------------------------------------------------------------------------ */

struct entry {
	char name[NAME_MAX + 1];
	uint64_t bytes, used_ns;
};

struct content {
	struct entry *entries; /* NULL: there are none */
	size_t count, capacity;
	size_t left; /* of the entries, with this many bytes */
	uint64_t left_bytes;
};

static int add_entry(struct content *content, int directory, const char *name)
{
	struct entry *entry;
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return 0;
	if (memory_grow(&content->entries, &content->capacity, content->count + 1, sizeof(*entry)))
		return -ENOMEM;
	entry = &content->entries[content->count++];
	*entry = (struct entry){ .bytes = (uint64_t)status.st_size,
				 .used_ns = ns_of(&status.st_mtim) };
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	content->left++;
	content->left_bytes += entry->bytes;
	return 0;
}

/* The caller frees the entries, whatever is returned: 0 or -errno. */
static int read_content(struct content *content, int directory)
{
	const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int err = 0;

	*content = (struct content){ 0 };
	if (!listing) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(listing)))
		err = add_entry(content, directory, entry->d_name);
	closedir(listing);
	return err;
}

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* Removes those that were not used for longest, of the small or of the large ones. */
static void forget(const struct file_cache *cache, struct content *content, bool small,
		   uint64_t most, uint64_t most_bytes)
{
	size_t i;

	for (i = 0; i < content->count; i++) {
		struct entry *entry = &content->entries[i];

		if (content->left <= most && content->left_bytes <= most_bytes)
			return;
		if (!entry->name[0] || (entry->bytes <= SMALL_BYTES) != small ||
		    unlinkat(cache->directory, entry->name, 0))
			continue;
		entry->name[0] = '\0';
		content->left--;
		content->left_bytes -= entry->bytes;
	}
}

/*
 * Many at once, for to look at all of them takes longer than to remove them. If there are too many,
 * those from which little was found out go first; if they are too large, those would make no room.
 */
static void forget_some(const struct file_cache *cache, struct content *content, uint64_t bytes)
{
	uint64_t most_bytes = cache->most_bytes / 8 * 7;

	if (most_bytes > cache->most_bytes - bytes)
		most_bytes = cache->most_bytes - bytes;
	qsort(content->entries, content->count, sizeof(*content->entries), by_use);
	if (content->left >= MAX_ENTRIES) {
		forget(cache, content, true, MAX_ENTRIES / 8 * 7, UINT64_MAX);
		forget(cache, content, false, MAX_ENTRIES / 8 * 7, UINT64_MAX);
	}
	if (content->left_bytes > cache->most_bytes - bytes) {
		forget(cache, content, false, UINT64_MAX, most_bytes);
		forget(cache, content, true, UINT64_MAX, most_bytes);
	}
}

/* Returns whether there is room for so many bytes now. */
static bool make_room(const struct file_cache *cache, uint64_t bytes)
{
	struct content content;
	bool is_room = false;

	if (bytes > cache->most_bytes)
		return false;
	if (!read_content(&content, cache->directory)) {
		if (content.count)
			forget_some(cache, &content, bytes);
		is_room = content.left < MAX_ENTRIES &&
			  content.left_bytes <= cache->most_bytes - bytes;
	}
	free(content.entries);
	return is_room;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int read_all(int fd, void *bytes, size_t length)
{
	while (length) {
		const ssize_t got = read(fd, bytes, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -ENOENT;
		bytes = (char *)bytes + got;
		length -= (size_t)got;
	}
	return 0;
}

static int write_all(int fd, const void *bytes, size_t length)
{
	while (length) {
		const ssize_t put = write(fd, bytes, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		bytes = (const char *)bytes + put;
		length -= (size_t)put;
	}
	return 0;
}

static int read_entry(int fd, const struct file_cache_kind *kind,
		      const struct file_cache_file *file, void **items, size_t *count)
{
	struct header header, wanted;
	int err = read_all(fd, &header, sizeof(header));
	size_t bytes;

	if (err)
		return err;
	wanted = header_of(kind, file, header.items);
	if (memcmp(&header, &wanted, offsetof(struct header, checksum)) != 0 || !header.items ||
	    header.items > kind->most_items)
		return -ENOENT;
	bytes = header.items * kind->item_bytes;
	*items = malloc(bytes);
	if (!*items)
		return -ENOMEM;
	err = read_all(fd, *items, bytes);
	if (!err && checksum_of(&header, *items) != header.checksum)
		err = -ENOENT;
	if (err) {
		free(*items);
		*items = NULL;
		return err;
	}
	*count = header.items;
	return 0;
}

int file_cache_get(const struct file_cache *cache, const struct file_cache_kind *kind,
		   const struct file_cache_file *file, void **items, size_t *count)
{
	char name[NAME_BYTES];
	int fd, err;

	*items = NULL;
	*count = 0;
	name_of(name, kind, file);
	fd = openat(cache->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	err = is_own(fd, S_IFREG) ? read_entry(fd, kind, file, items, count) : -ENOENT;
	if (!err)
		futimens(fd, NULL); /* when it was used */
	close(fd);
	return err;
}

static int write_entry(int fd, const struct file_cache_kind *kind,
		       const struct file_cache_file *file, const void *items, size_t count)
{
	struct header header = header_of(kind, file, count);
	int err;

	header.checksum = checksum_of(&header, items);
	err = write_all(fd, &header, sizeof(header));
	return err ? err : write_all(fd, items, count * kind->item_bytes);
}

void file_cache_put(const struct file_cache *cache, const struct file_cache_kind *kind,
		    const struct file_cache_file *file, const void *items, size_t count)
{
	char name[NAME_BYTES], part[NAME_BYTES + 16];
	int fd, err;

	if (!count || count > kind->most_items ||
	    !make_room(cache, sizeof(struct header) + count * kind->item_bytes))
		return;
	/* It gets its name when it is whole; one that never is makes room like others. */
	name_of(name, kind, file);
	snprintf(part, sizeof(part), "%s.%d", name, getpid());
	fd = openat(cache->directory, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	err = fd < 0 ? -errno : write_entry(fd, kind, file, items, count);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(cache->directory, part, cache->directory, name))
		err = -errno;
	if (!err)
		return;
	unlinkat(cache->directory, part, 0);
	log_debug("what was found out about a file is not kept: %s", strerror(-err));
}
