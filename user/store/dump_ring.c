// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/place.h"
#include "base/string.h"

/* "DIRECTORY/000017.mscope", to be freed; NULL without memory. */
static char *path_of(const struct dump_ring *ring, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%06llu.mscope", ring->directory, (unsigned long long)number) <
			       0 ?
		       NULL :
		       path;
}

static char *path_at(const struct dump_ring *ring, size_t i)
{
	return path_of(ring, ring->segments[i].number);
}

/* ---- one that was left ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct dump_ring_segment *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* "000017.mscope": 17; of other names, 0. */
static uint64_t number_of(const char *name)
{
	const char *dot = strchr(name, '.');
	char digits[STRING_NUMBER_BYTES] = "";
	uint64_t number;

	if (!dot || dot - name < 6 || (size_t)(dot - name) >= sizeof(digits) ||
	    strcmp(dot, ".mscope") != 0)
		return 0;
	memcpy(digits, name, (size_t)(dot - name));
	return string_parse_u64(digits, 1, UINT64_MAX - 1, &number) ? 0 : number;
}

static int adopt_segment(struct dump_ring *ring, int directory, const char *name)
{
	const uint64_t number = number_of(name);
	struct stat status;

	if (!number || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode))
		return 0;
	if (memory_grow(&ring->segments, &ring->capacity, ring->count + 1, sizeof(*ring->segments)))
		return -ENOMEM;
	ring->segments[ring->count++] =
		(struct dump_ring_segment){ .number = number, .bytes = (uint64_t)status.st_size };
	ring->bytes += (uint64_t)status.st_size;
	if (number >= ring->next)
		ring->next = number + 1;
	return 0;
}

static int adopt_all(struct dump_ring *ring, DIR *stream)
{
	const struct dirent *entry;
	struct stat status;
	int err = 0;

	/* Whoever could write there could have the recorder write, and remove, anywhere. */
	if (fstat(dirfd(stream), &status))
		return -errno;
	if (status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	while (!err && (entry = readdir(stream)))
		err = adopt_segment(ring, dirfd(stream), entry->d_name);
	if (ring->count)
		qsort(ring->segments, ring->count, sizeof(*ring->segments), by_number);
	return err;
}

int dump_ring_adopt(struct dump_ring *ring, const char *directory, uint64_t max_bytes)
{
	int fd = -1, err = place_make_directory(directory);
	DIR *stream;

	*ring = (struct dump_ring){
		.directory = strdup(directory), .max_bytes = max_bytes, .next = 1, .file.fd = -1
	};
	if (!err || err == -EEXIST)
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	else
		errno = -err;
	err = fd < 0 ? -errno : 0;
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (!err)
		err = stream && ring->directory ? adopt_all(ring, stream) : -ENOMEM;
	if (stream)
		closedir(stream);
	if (!err)
		return 0;
	log_error("%s: cannot be used: %s%s", directory, place_error(err),
		  err == -EPERM ? "; it is another user's, or others may write there" : "");
	free(ring->segments);
	free(ring->directory);
	*ring = (struct dump_ring){ .file.fd = -1 };
	return err;
}

static bool is_written(const struct dump_ring *ring)
{
	char *path = ring->count ? path_at(ring, ring->count - 1) : NULL;
	const bool written = path && dump_file_is_written(path);

	free(path);
	return written;
}

int dump_ring_open(struct dump_ring *ring, const char *directory, uint64_t max_bytes)
{
	int err = dump_ring_adopt(ring, directory, max_bytes);

	if (err)
		return err;
	if (is_written(ring)) {
		log_error("%s: another recorder writes there: end it, or choose another name"
			  " with -o",
			  directory);
		dump_ring_close(ring, true);
		return -EEXIST;
	}
	if (ring->count)
		log_info("%s: %zu segment%s of a recording that was interrupted stay%s; this one"
			 " goes on behind",
			 directory, ring->count, ring->count == 1 ? "" : "s",
			 ring->count == 1 ? "s" : "");
	return 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void forget(struct dump_ring *ring, size_t i)
{
	ring->bytes -= ring->segments[i].bytes;
	ring->count--;
	memmove(ring->segments + i, ring->segments + i + 1,
		(ring->count - i) * sizeof(*ring->segments));
}

static void drop(struct dump_ring *ring, size_t i)
{
	char *path = path_at(ring, i);

	if (path)
		place_remove(path);
	free(path);
	forget(ring, i);
}

static void drop_oldest(struct dump_ring *ring)
{
	drop(ring, 0);
}

/* The one that is being written, and a complete one before it, stay. */
static bool can_drop(const struct dump_ring *ring)
{
	return ring->count > 2;
}

static void make_room(struct dump_ring *ring, uint64_t bytes)
{
	while (can_drop(ring) && ring->bytes + bytes > ring->max_bytes)
		drop_oldest(ring);
	if (ring->bytes + bytes <= ring->max_bytes || ring->told_too_small)
		return;
	ring->told_too_small = true;
	log_warning("%s: two segments take more than --ring, because so many allocations are live:"
		    " choose a larger --ring",
		    ring->directory);
}

/* Not -EFBIG: a file may not be larger, whatever becomes of the others. */
static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* The directory may have been removed, and those above it for a while. */
static int create_file(struct dump_ring *ring, const char *path)
{
	int err = dump_file_create(&ring->file, path);

	if (err == -ENOENT && !place_make_directory(ring->directory))
		err = dump_file_create(&ring->file, path);
	/* There may be no room for a name either. The newest that is complete stays. */
	while (is_full(err) && ring->count > 1) {
		drop_oldest(ring);
		err = dump_file_create(&ring->file, path);
	}
	return err;
}

/* One that has nothing in it is begun anew. */
static int begin_segment(struct dump_ring *ring)
{
	char *path;
	int err;

	if (ring->file.fd >= 0 && ring->count && !ring->segments[ring->count - 1].bytes)
		return 0;
	dump_file_close(&ring->file);
	err = memory_grow(&ring->segments, &ring->capacity, ring->count + 1,
			  sizeof(*ring->segments));
	path = path_of(ring, ring->next);
	if (!err)
		err = path ? create_file(ring, path) : -ENOMEM;
	free(path);
	if (err)
		return err;
	ring->segments[ring->count++] =
		(struct dump_ring_segment){ .number = ring->next++,
					    .begin_ns = clock_monotonic_ns() };
	return 0;
}

static int write_block(struct dump_ring *ring, const struct block_header *header,
		       const void *stored)
{
	int err = dump_file_write(&ring->file, header, stored);

	/* Others may have filled the disk: rather the newest than the oldest. */
	while (is_full(err) && can_drop(ring)) {
		drop_oldest(ring);
		err = dump_file_write(&ring->file, header, stored);
	}
	return err;
}

int dump_ring_write(struct dump_ring *ring, const struct block_header *header, const void *stored)
{
	const uint64_t bytes = sizeof(*header) + header->stored_bytes;
	int err = 0;

	if (header->type == BLOCK_SEGMENT)
		err = begin_segment(ring);
	if (!err && ring->file.fd < 0)
		err = -EBADF;
	if (err)
		return err;
	make_room(ring, bytes);
	err = write_block(ring, header, stored);
	if (err)
		return err;
	ring->segments[ring->count - 1].bytes += bytes;
	ring->bytes += bytes;
	return 0;
}

void dump_ring_cut(struct dump_ring *ring)
{
	if (ring->file.fd < 0 || !ring->count)
		return;
	dump_file_cut(&ring->file, &(struct dump_extent){ 0 });
	ring->bytes -= ring->segments[ring->count - 1].bytes - ring->file.has.bytes;
	ring->segments[ring->count - 1].bytes = ring->file.has.bytes;
}

static bool is_gone(const struct dump_ring *ring, size_t i)
{
	char *path = path_at(ring, i);
	bool gone = path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) &&
		    (errno == ENOENT || errno == ENOTDIR);

	free(path);
	return gone;
}

/* Those that are complete: nothing but a file that is being written can be made anew. */
static void forget_gone(struct dump_ring *ring)
{
	const size_t complete = ring->count - (ring->file.fd >= 0), before = ring->count;
	size_t i;

	for (i = complete; i-- > 0;)
		if (is_gone(ring, i))
			forget(ring, i);
	if (ring->count < before)
		log_warning("%s: %zu segment%s been removed, and what was in %s is missing",
			    ring->directory, before - ring->count,
			    before - ring->count == 1 ? " has" : "s have",
			    before - ring->count == 1 ? "it" : "them");
}

static bool is_old(const struct dump_ring *ring, size_t i)
{
	char *path = path_at(ring, i);
	struct stat status;
	bool old = false;

	if (path && !lstat(path, &status))
		old = status.st_mtim.tv_sec + (int64_t)(ring->max_ns / 1000000000) < time(NULL);
	free(path);
	return old;
}

void dump_ring_check(struct dump_ring *ring)
{
	if (ring->count)
		forget_gone(ring);
	while (ring->max_ns && can_drop(ring) && is_old(ring, 0))
		drop_oldest(ring);
}

/* Whether the file, which is elsewhere, goes on there; `err`: of making its directory anew. */
static bool stays_elsewhere(struct dump_ring *ring, int err)
{
	const bool stays = err && err != -EEXIST;

	if (stays && !ring->file.is_elsewhere)
		log_warning("%s: it was renamed, and a new directory cannot be created: %s;"
			    " recording goes on in the old one",
			    ring->directory, place_error(err));
	return stays;
}

int dump_ring_check_file(struct dump_ring *ring, struct dump_extent *lost)
{
	int state, err;

	if (ring->file.fd < 0 || !ring->count)
		return DUMP_FILE_THERE;
	err = place_make_directory(ring->directory);
	if (err && err != -EEXIST)
		log_debug("%s: cannot create: %s", ring->directory, place_error(err));
	state = dump_file_check(&ring->file, lost);
	ring->file.is_elsewhere = state == DUMP_FILE_ELSEWHERE && stays_elsewhere(ring, err);
	if (ring->file.is_elsewhere)
		return DUMP_FILE_THERE;
	if (state == DUMP_FILE_CUT) {
		ring->segments[ring->count - 1].bytes -= lost->bytes;
		ring->bytes -= lost->bytes;
	}
	return state;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Another program may have cut it. */
static int copy_segment(const struct dump_ring *ring, size_t i, int fd, struct dump_file *out)
{
	uint64_t bytes = ring->segments[i].bytes;
	struct stat status;

	if (!fstat(fd, &status) && (uint64_t)status.st_size < bytes) {
		log_warning("%s/%06llu.mscope: it was truncated: %llu of %llu bytes are left",
			    ring->directory, (unsigned long long)ring->segments[i].number,
			    (unsigned long long)status.st_size, (unsigned long long)bytes);
		bytes = (uint64_t)status.st_size;
	}
	return dump_file_append(out, fd, bytes);
}

static int copy_complete(const struct dump_ring *ring, size_t i, struct dump_file *out)
{
	char *path = path_at(ring, i);
	int fd = path ? place_read(path) : -ENOMEM, err = 0;

	/* If it has been removed, the others are still worth having. */
	if (fd >= 0)
		err = copy_segment(ring, i, fd, out);
	else
		log_warning("%s: cannot open: %s", path ? path : ring->directory, place_error(fd));
	if (fd >= 0)
		close(fd);
	free(path);
	return err;
}

int dump_ring_copy(struct dump_ring *ring, struct dump_file *out)
{
	const bool is_open = ring->file.fd >= 0 && ring->count;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ring->count - is_open; i++)
		err = copy_complete(ring, i, out);
	/* The one that is being written is there even if it was removed. */
	if (!err && is_open)
		err = copy_segment(ring, ring->count - 1, ring->file.fd, out);
	ring->is_copied |= !err;
	return err;
}

/* Those of an earlier recorder are the oldest ones. Returns how many of them stay. */
static size_t drop_read(struct dump_ring *ring)
{
	size_t others = 0;

	while (!ring->is_copied && others < ring->count && !ring->segments[others].begin_ns)
		others++;
	while (ring->count > others)
		drop(ring, ring->count - 1);
	return others;
}

void dump_ring_close(struct dump_ring *ring, bool keep)
{
	size_t others;
	int err;

	if (!ring->directory)
		return;
	dump_file_close(&ring->file);
	others = keep ? 0 : drop_read(ring);
	if (others)
		log_info("%s: %zu segment%s of a recording that was interrupted stay%s there:"
			 " memscope-bpf report %s",
			 ring->directory, others, others == 1 ? "" : "s", others == 1 ? "s" : "",
			 ring->directory);
	err = keep || others ? 0 : place_remove_directory(ring->directory);
	if (err)
		log_warning("%s: cannot remove: %s", ring->directory, place_error(err));
	free(ring->segments);
	free(ring->directory);
	*ring = (struct dump_ring){ .file.fd = -1 };
}
