// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/open_failure.h"

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

/* A pipe cannot be read back and forth. */
static void say_needs_file(const char *name)
{
	log_error("%s: a recording can be read from a regular file only; store it in one first",
		  name);
}

static int open_file(struct dump_reader *reader, const char *path)
{
	const bool is_stdin = !strcmp(path, "-");
	struct stat status;

	/* A FIFO would have to be waited for. */
	reader->fd = open(is_stdin ? "/proc/self/fd/0" : path,
			  O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (reader->fd < 0 || fstat(reader->fd, &status)) {
		int err = -errno;

		open_failure_say(reader->name, path, err);
		return err;
	}
	if (S_ISDIR(status.st_mode)) {
		log_error("%s: not a file", reader->name);
		return -EISDIR;
	}
	if (!S_ISREG(status.st_mode)) {
		say_needs_file(reader->name);
		return -EINVAL;
	}
	reader->size = status.st_size;
	return 0;
}

int dump_reader_open(struct dump_reader **result, const char *path)
{
	struct dump_reader *reader = reader_new();
	int err = reader ? 0 : -ENOMEM;

	if (!err) {
		reader->name = strdup(strcmp(path, "-") != 0 ? path : "standard input");
		reader->window = reader->buffer = malloc(WINDOW_BYTES);
		err = reader->name && reader->buffer ? 0 : -ENOMEM;
	}
	if (err)
		log_error("%s: not enough memory to read it", path);
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

const char *dump_reader_name(const struct dump_reader *reader)
{
	return reader->name;
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

/* Reads on until `wanted` bytes are in the window, or all that there are. */
static int fill(struct dump_reader *reader, size_t wanted)
{
	size_t kept = available(reader);
	ssize_t length;
	int err;

	memmove(reader->buffer, here(reader), kept);
	reader->window_offset = reader->offset;
	reader->window_bytes = kept;
	if (wanted > reader->size - reader->offset)
		wanted = reader->size - reader->offset;
	while (reader->window_bytes < wanted) {
		length = pread(reader->fd, reader->buffer + reader->window_bytes,
			       wanted - reader->window_bytes,
			       (off_t)(reader->window_offset + reader->window_bytes));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0) {
			err = -errno;
			log_error("%s: cannot read: %s", reader->name, strerror(-err));
			return err;
		}
		if (!length) { /* it has become shorter */
			reader->size = reader->window_offset + reader->window_bytes;
			return 0;
		}
		reader->window_bytes += length;
	}
	return 0;
}

/* Sees to it that so much is in the window, or all that there is. */
static int look(struct dump_reader *reader, size_t wanted)
{
	size_t left = available(reader);

	if (left >= wanted || reader->offset + left >= reader->size)
		return 0;
	return fill(reader, wanted < WHOLE_BLOCK ? wanted : WINDOW_BYTES);
}

void dump_reader_go_to(struct dump_reader *reader, uint64_t offset)
{
	if (offset > reader->size)
		offset = reader->size; /* it has become shorter */
	reader->offset = offset;
	if (offset >= reader->window_offset &&
	    offset - reader->window_offset <= reader->window_bytes)
		return;
	reader->window_offset = offset;
	reader->window_bytes = 0;
}

static void take(struct dump_reader *reader, struct dump_item *item)
{
	item->stored = here(reader) + sizeof(struct block_header);
	item->raw = block_decode(reader->coder, &item->header, item->stored);
	item->kind = item->raw ? DUMP_BLOCK : DUMP_DAMAGE;
	item->bytes = sizeof(struct block_header) + item->header.stored_bytes;
	reader->offset += item->bytes;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/*
 * What looks like a block costs a checksum over all that it claims to be. In a file that only was
 * damaged those bytes are then skipped, or most of them; one that was made up can claim a large
 * block every few bytes. So only so much is looked at for each byte that is skipped.
 */
#define LOOKS_PER_BYTE 8

struct search {
	uint64_t begun;  /* where */
	uint64_t looked; /* bytes */
};

static bool is_block(const struct dump_reader *reader, struct search *search)
{
	const uint64_t allowed =
		4 * WHOLE_BLOCK + (reader->offset - search->begun) * LOOKS_PER_BYTE;
	struct block_header header;
	enum block_check check = block_peek(here(reader), available(reader), &header);

	if (check != BLOCK_OK || search->looked + header.stored_bytes > allowed)
		return false;
	search->looked += header.stored_bytes;
	check = block_check(here(reader), available(reader), &header);
	return check == BLOCK_OK || check == BLOCK_TOO_NEW;
}

/* Goes on to where the next block begins that is whole, or to the end. */
static int skip_damage(struct dump_reader *reader)
{
	struct search search = { .begun = reader->offset };
	const uint8_t *found;
	size_t left;
	int err;

	for (;;) {
		reader->offset++;
		err = look(reader, WHOLE_BLOCK);
		left = available(reader);
		if (err || !left)
			return err;
		found = memchr(here(reader), 'M', left);
		reader->offset += found ? (size_t)(found - here(reader)) : left - 1;
		if (!found)
			continue;
		err = look(reader, WHOLE_BLOCK);
		if (err || is_block(reader, &search))
			return err;
	}
}

int dump_reader_next(struct dump_reader *reader, struct dump_item *item)
{
	enum block_check check;
	int err = look(reader, WHOLE_BLOCK);

	*item = (struct dump_item){ .kind = DUMP_END, .offset = reader->offset };
	if (err || !available(reader))
		return err;
	check = block_check(here(reader), available(reader), &item->header);
	if (check == BLOCK_OK) {
		take(reader, item);
		return 0;
	}
	if (check == BLOCK_TOO_NEW) {
		item->kind = DUMP_TOO_NEW;
		item->bytes = sizeof(item->header) + item->header.stored_bytes;
		reader->offset += item->bytes;
		return 0;
	}
	err = skip_damage(reader);
	item->bytes = reader->offset - item->offset;
	item->kind = check == BLOCK_CUT_SHORT && !available(reader) ? DUMP_CUT_SHORT : DUMP_DAMAGE;
	return err;
}
