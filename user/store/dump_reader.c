// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define WHOLE_BLOCK (sizeof(struct block_header) + BLOCK_MAX_BYTES)
#define WINDOW_BYTES (4 * WHOLE_BLOCK)

struct dump_reader {
	int fd; /* -1: all of it is in `window` */
	char *name;
	uint64_t size;
	uint64_t offset; /* of what comes next */

	/* A part of the file. */
	const uint8_t *window;
	uint8_t *buffer; /* NULL: the window is the caller's */
	uint64_t window_offset;
	size_t window_bytes;
	struct block_coder *coder;
};

/* ---- opening --------------------------------------------------------------------------------- */

static struct dump_reader *reader_new(void)
{
	struct dump_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->fd = -1;
	reader->coder = block_coder_new();
	if (reader->coder)
		return reader;
	free(reader);
	return NULL;
}

struct dump_reader *dump_reader_of(const void *bytes, size_t length)
{
	struct dump_reader *reader = reader_new();

	if (!reader)
		return NULL;
	reader->window = bytes;
	reader->window_bytes = reader->size = length;
	return reader;
}

static int open_file(struct dump_reader *reader, const char *path)
{
	struct stat status;

	/* A FIFO would have to be waited for. */
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (reader->fd < 0 || fstat(reader->fd, &status)) {
		int err = -errno;

		log_error("%s: cannot open: %s", path, strerror(-err));
		return err;
	}
	if (!S_ISREG(status.st_mode)) {
		log_error("%s: not a file", path);
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	}
	reader->size = status.st_size;
	return 0;
}

int dump_reader_open(struct dump_reader **result, const char *path)
{
	struct dump_reader *reader = reader_new();
	int err = reader ? 0 : -ENOMEM;

	if (!err) {
		reader->name = strdup(path);
		reader->window = reader->buffer = malloc(WINDOW_BYTES);
		err = reader->name && reader->buffer ? 0 : -ENOMEM;
	}
	if (err)
		log_error("%s: no memory to read it", path);
	else
		err = open_file(reader, path);
	if (err) {
		dump_reader_close(reader);
		return err;
	}
	*result = reader;
	return 0;
}

void dump_reader_close(struct dump_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	block_coder_free(reader->coder);
	free(reader->buffer);
	free(reader->name);
	free(reader);
}

uint64_t dump_reader_size(const struct dump_reader *reader)
{
	return reader->size;
}

/* ---- reading --------------------------------------------------------------------------------- */

static size_t available(const struct dump_reader *reader)
{
	return reader->window_offset + reader->window_bytes - reader->offset;
}

static const uint8_t *here(const struct dump_reader *reader)
{
	return reader->window + (reader->offset - reader->window_offset);
}

static int fill(struct dump_reader *reader)
{
	size_t kept = available(reader), wanted;

	memmove(reader->buffer, here(reader), kept);
	reader->window_offset = reader->offset;
	reader->window_bytes = kept;
	wanted = WINDOW_BYTES - kept;
	if (wanted > reader->size - reader->offset - kept)
		wanted = reader->size - reader->offset - kept;
	while (wanted) {
		ssize_t length = pread(reader->fd, reader->buffer + reader->window_bytes, wanted,
				       reader->window_offset + reader->window_bytes);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0) {
			log_error("%s: cannot read: %s", reader->name, strerror(errno));
			return -errno;
		}
		if (!length) { /* it has become shorter */
			reader->size = reader->window_offset + reader->window_bytes;
			return 0;
		}
		reader->window_bytes += length;
		wanted -= length;
	}
	return 0;
}

/* Sees to it that a whole block is in the window, or all that there is. */
static int look(struct dump_reader *reader)
{
	size_t left = available(reader);

	if (left >= WHOLE_BLOCK || reader->offset + left >= reader->size)
		return 0;
	return fill(reader);
}

static int take(struct dump_reader *reader, struct dump_item *item)
{
	item->raw = block_decode(reader->coder, &item->header,
				 here(reader) + sizeof(struct block_header));
	item->kind = item->raw ? DUMP_BLOCK : DUMP_DAMAGE;
	item->bytes = sizeof(struct block_header) + item->header.stored_bytes;
	reader->offset += item->bytes;
	return 0;
}

/* Goes on to where the next block begins that is whole, or to the end. */
static int skip_damage(struct dump_reader *reader)
{
	struct block_header header;
	const uint8_t *found;
	size_t left;
	int err;

	for (;;) {
		reader->offset++;
		err = look(reader);
		left = available(reader);
		if (err || !left)
			return err;
		found = memchr(here(reader), 'M', left);
		reader->offset += found ? (size_t)(found - here(reader)) : left;
		if (!found) {
			reader->offset--;
			continue;
		}
		err = look(reader);
		if (err)
			return err;
		switch (block_check(here(reader), available(reader), &header)) {
		case BLOCK_OK:
			return 0;
		case BLOCK_TOO_NEW:
		case BLOCK_NONE:
		case BLOCK_CUT_SHORT:
		case BLOCK_DAMAGED:
			break;
		}
	}
}

int dump_reader_next(struct dump_reader *reader, struct dump_item *item)
{
	enum block_check check;
	int err = look(reader);

	*item = (struct dump_item){ .kind = DUMP_END, .offset = reader->offset };
	if (err || !available(reader))
		return err;
	check = block_check(here(reader), available(reader), &item->header);
	if (check == BLOCK_OK)
		return take(reader, item);
	if (check == BLOCK_TOO_NEW) {
		item->kind = DUMP_TOO_NEW;
		return 0;
	}
	err = skip_damage(reader);
	item->bytes = reader->offset - item->offset;
	item->kind = check == BLOCK_CUT_SHORT && !available(reader) ? DUMP_CUT_SHORT : DUMP_DAMAGE;
	return err;
}
