// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

/* "DIRECTORY/000017.mscope", to be freed; NULL without memory. */
static char *path_of(const struct dump_ring *ring, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%06llu.mscope", ring->directory, (unsigned long long)number) <
			       0 ?
		       NULL :
		       path;
}

static uint64_t first_number(const struct dump_ring *ring)
{
	return ring->next - ring->count;
}

int dump_ring_open(struct dump_ring *ring, const char *directory, uint64_t max_bytes)
{
	int err = 0;

	*ring = (struct dump_ring){
		.directory = strdup(directory), .max_bytes = max_bytes, .next = 1, .file.fd = -1
	};
	if (!ring->directory)
		return -ENOMEM;
	if (mkdir(directory, 0700)) {
		err = -errno;
		log_error("%s: cannot create: %s%s", directory, strerror(-err),
			  err == -EEXIST ? "; a recording that was interrupted may have left it:"
					   " remove it, or choose another name with -o" :
					   "");
		free(ring->directory);
		ring->directory = NULL;
	}
	return err;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void drop_oldest(struct dump_ring *ring)
{
	char *path = path_of(ring, first_number(ring));

	if (path)
		unlink(path);
	free(path);
	ring->bytes -= ring->sizes[0];
	ring->count--;
	memmove(ring->sizes, ring->sizes + 1, ring->count * sizeof(*ring->sizes));
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
	log_warning("%s: two segments take more than --ring; what is live takes so much",
		    ring->directory);
}

/* One that has nothing in it is begun anew. */
static int begin_segment(struct dump_ring *ring)
{
	char *path;
	int err;

	if (ring->count && !ring->sizes[ring->count - 1])
		return 0;
	dump_file_close(&ring->file);
	err = memory_grow(&ring->sizes, &ring->capacity, ring->count + 1, sizeof(*ring->sizes));
	path = path_of(ring, ring->next);
	if (!err && !path)
		err = -ENOMEM;
	if (!err)
		err = dump_file_create(&ring->file, path);
	free(path);
	if (err)
		return err;
	ring->sizes[ring->count++] = 0;
	ring->next++;
	return 0;
}

static int write_block(struct dump_ring *ring, const struct block_header *header,
		       const void *stored)
{
	int err = dump_file_write(&ring->file, header, stored);

	/* Others may have filled the disk: rather the newest than the oldest. */
	while (err == -ENOSPC && can_drop(ring)) {
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
	ring->sizes[ring->count - 1] += bytes;
	ring->bytes += bytes;
	return 0;
}

void dump_ring_cut(struct dump_ring *ring, uint64_t bytes)
{
	if (ring->file.fd < 0 || !ring->count)
		return;
	dump_file_cut(&ring->file, bytes);
	ring->bytes -= ring->sizes[ring->count - 1] - ring->file.bytes;
	ring->sizes[ring->count - 1] = ring->file.bytes;
}

bool dump_ring_check(struct dump_ring *ring)
{
	struct stat status;

	if (ring->file.fd < 0 || fstat(ring->file.fd, &status) || status.st_nlink)
		return false;
	if (mkdir(ring->directory, 0700) && errno != EEXIST)
		log_debug("%s: cannot create: %s", ring->directory, strerror(errno));
	log_warning("%s: somebody has removed what is in it; it begins anew", ring->directory);
	dump_file_close(&ring->file);
	ring->count = 0;
	ring->bytes = 0;
	return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

int dump_ring_copy(const struct dump_ring *ring, struct dump_file *out)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ring->count; i++) {
		char *path = path_of(ring, first_number(ring) + i);
		int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

		/* If somebody has removed it, the others are still worth having. */
		if (fd >= 0)
			err = dump_file_append(out, fd, ring->sizes[i]);
		else
			log_warning("%s: cannot open: %s", path ? path : "", strerror(errno));
		if (fd >= 0)
			close(fd);
		free(path);
	}
	return err;
}

void dump_ring_close(struct dump_ring *ring, bool keep)
{
	if (!ring->directory)
		return;
	dump_file_close(&ring->file);
	while (!keep && ring->count)
		drop_oldest(ring);
	if (!keep && rmdir(ring->directory))
		log_warning("%s: cannot remove: %s", ring->directory, strerror(errno));
	free(ring->sizes);
	free(ring->directory);
	*ring = (struct dump_ring){ .file.fd = -1 };
}
