// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "base/place.h"
#include "base/string.h"

#define TABLE_AT 4096
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 100000000

struct header {
	char magic[8];
	uint32_t version, places;
	uint64_t batches_at, most_bytes;
	uint64_t checksum; /* of what is before it */
};

static struct header new_header(void)
{
	struct header header = { .magic = "msqueue",
				 .version = 1,
				 .places = PUSH_FILE_PLACES,
				 .batches_at = PUSH_FILE_BATCHES_AT,
				 .most_bytes = PUSH_FILE_MOST_BYTES };

	header.checksum = XXH3_64bits(&header, offsetof(struct header, checksum));
	return header;
}

static int write_all(int fd, const void *bytes, size_t length, uint64_t offset)
{
	size_t done = 0;

	while (done < length) {
		const ssize_t written = pwrite(fd, (const char *)bytes + done, length - done,
					       (off_t)(offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -ENOSPC;
		done += (size_t)written;
	}
	return 0;
}

static bool read_all(int fd, void *bytes, size_t length, uint64_t offset)
{
	size_t done = 0;

	while (done < length) {
		const ssize_t got =
			pread(fd, (char *)bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int begin_file(int fd)
{
	const struct header header = new_header();

	if (ftruncate(fd, 0) || ftruncate(fd, PUSH_FILE_BATCHES_AT))
		return -errno;
	return write_all(fd, &header, sizeof(header), 0);
}

/* What is there is one of these, or nothing yet. */
static bool is_ours(int fd, bool *is_new)
{
	const struct header wanted = new_header();
	const off_t length = lseek(fd, 0, SEEK_END);
	struct header header;

	*is_new = !length;
	if (length < PUSH_FILE_BATCHES_AT || (uint64_t)length > PUSH_FILE_MOST_BYTES)
		return *is_new;
	return read_all(fd, &header, sizeof(header), 0) &&
	       !memcmp(&header, &wanted, sizeof(header));
}

/* The process that pushes for an agent that was killed ends a moment after it. */
static int lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	int tries;

	for (tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || tries == LOCK_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int set_aside(const char *path)
{
	char aside[NAME_MAX + 16];
	struct place place;
	int err = place_find(&place, path);

	if (err)
		return err;
	snprintf(aside, sizeof(aside), "%s.damaged", place.name);
	if (renameat(place.directory, place.name, place.directory, aside))
		err = -errno;
	place_close(&place);
	return err;
}

/*
 * Returns -ESTALE if another one is to be opened, and -EWOULDBLOCK, which is -EAGAIN, if another
 * process has it.
 */
static int check(int fd, const char *path)
{
	bool is_new;
	int err = lock(fd);

	if (err)
		return err;
	if (is_ours(fd, &is_new))
		return is_new ? begin_file(fd) : 0;
	err = set_aside(path);
	if (err)
		return err;
	log_warning("%s is damaged, of another version or something else: now %s.damaged; metrics"
		    " in it are not sent",
		    path, path);
	return -ESTALE;
}

int push_file_open(const char *directory, const char *name)
{
	struct string path = { 0 };
	int fd, err = 0, tries;

	string_append_format(&path, "%s/%s", directory, name);
	string_append_char(&path, '\0');
	fd = path.failed ? -ENOMEM : -ESTALE;
	for (tries = 0; fd == -ESTALE && tries < 3; tries++) {
		fd = place_open_both(path.bytes);
		err = fd < 0 ? 0 : check(fd, path.bytes);
		if (err) {
			close(fd);
			fd = err;
		}
	}
	if (fd == -EWOULDBLOCK)
		log_error("%s: another process has it", path.bytes);
	else if (fd == -ESTALE)
		log_error("%s: something else is there again as soon as it was set aside: find the"
			  " program that puts it there",
			  path.bytes);
	else if (fd < 0)
		log_error("%s: %s", path.failed ? name : path.bytes, place_error(fd));
	string_fini(&path);
	return fd;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint64_t place_checksum(const struct push_file_place *place)
{
	return XXH3_64bits(place, offsetof(struct push_file_place, checksum));
}

static int write_place(const struct push_file *file, size_t place)
{
	return write_all(file->fd, &file->places[place], sizeof(file->places[place]),
			 TABLE_AT + place * sizeof(file->places[place]));
}

/* Calculates the checksum of a batch; copies it if `to` is a descriptor. */
static int pass(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes,
		uint64_t *checksum)
{
	static char buffer[1 << 16];
	XXH3_state_t state;
	uint64_t done;
	size_t part;
	int err = 0;

	XXH3_64bits_reset(&state);
	for (done = 0; !err && done < bytes; done += part) {
		part = bytes - done < sizeof(buffer) ? (size_t)(bytes - done) : sizeof(buffer);
		if (!read_all(from, buffer, part, from_at + done))
			return -EIO;
		XXH3_64bits_update(&state, buffer, part);
		if (to >= 0)
			err = write_all(to, buffer, part, to_at + done);
	}
	*checksum = XXH3_64bits_digest(&state);
	return err;
}

static bool is_sound(const struct push_file *file, const struct push_file_place *place)
{
	uint64_t checksum;

	return place_checksum(place) == place->checksum && place->number &&
	       place->offset >= PUSH_FILE_BATCHES_AT && place->offset <= PUSH_FILE_MOST_BYTES &&
	       place->bytes <= PUSH_FILE_MOST_BYTES - place->offset &&
	       !pass(file->fd, place->offset, -1, 0, place->bytes, &checksum) &&
	       checksum == place->batch_checksum;
}

static bool is_free(const struct push_file_place *place)
{
	static const struct push_file_place none;

	return !memcmp(place, &none, sizeof(none));
}

int push_file_read(struct push_file *file, int fd, size_t *damaged)
{
	size_t i;

	*damaged = 0;
	file->fd = fd;
	if (!read_all(fd, file->places, sizeof(file->places), TABLE_AT))
		return -EIO;
	for (i = 0; i < PUSH_FILE_PLACES; i++) {
		struct push_file_place *place = &file->places[i];

		if (is_free(place) || is_sound(file, place))
			continue;
		*place = (struct push_file_place){ 0 };
		write_place(file, i);
		++*damaged;
	}
	return 0;
}

static bool is_room(const struct push_file *file, uint64_t offset, uint64_t bytes)
{
	size_t i;

	if (bytes > PUSH_FILE_MOST_BYTES - offset)
		return false;
	for (i = 0; i < PUSH_FILE_PLACES; i++) {
		const struct push_file_place *other = &file->places[i];

		if (other->number && offset < other->offset + other->bytes &&
		    other->offset < offset + bytes)
			return false;
	}
	return true;
}

/* The first room that is large enough begins where the batches do, or where one of them ends. */
static uint64_t find_room(const struct push_file *file, uint64_t bytes)
{
	uint64_t best = PUSH_FILE_MOST_BYTES;
	size_t i;

	if (is_room(file, PUSH_FILE_BATCHES_AT, bytes))
		return PUSH_FILE_BATCHES_AT;
	for (i = 0; i < PUSH_FILE_PLACES; i++) {
		const struct push_file_place *place = &file->places[i];
		const uint64_t end = place->offset + place->bytes;

		if (place->number && end < best && is_room(file, end, bytes))
			best = end;
	}
	return best;
}

static void give_back(const struct push_file *file, uint64_t offset, uint64_t bytes)
{
	/* Where the file system makes no holes, it stays, and is used again. */
	if (bytes)
		fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			  (off_t)bytes);
}

int push_file_put(struct push_file *file, uint64_t number, int fd, uint64_t bytes)
{
	struct push_file_place *place = file->places;
	int err;

	while (place < file->places + PUSH_FILE_PLACES && place->number)
		place++;
	if (place == file->places + PUSH_FILE_PLACES)
		return -ENOSPC;
	place->offset = find_room(file, bytes);
	place->bytes = bytes;
	err = place->offset == PUSH_FILE_MOST_BYTES ?
		      -ENOSPC :
		      pass(fd, 0, file->fd, place->offset, bytes, &place->batch_checksum);
	if (!err) {
		place->number = number;
		place->checksum = place_checksum(place);
		err = write_place(file, (size_t)(place - file->places));
	}
	if (!err)
		return (int)(place - file->places);
	push_file_remove(file, (size_t)(place - file->places));
	return err;
}

void push_file_remove(struct push_file *file, size_t place)
{
	const struct push_file_place was = file->places[place];

	file->places[place] = (struct push_file_place){ 0 };
	/* If it cannot be written, it is sent again by a later agent: better than too early. */
	write_place(file, place);
	if (was.offset != PUSH_FILE_MOST_BYTES)
		give_back(file, was.offset, was.bytes);
}
