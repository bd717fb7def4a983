// SPDX-License-Identifier: BSD-2-Clause
#include "base/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/place.h"

#define LARGE_BYTES 65536
#define HELD_BYTES (64u << 20)

static bool colour_wanted(void)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
}

static void init(struct writer *writer, int fd, const char *name)
{
	*writer = (struct writer){ .fd = fd, .terminal = isatty(fd) };
	writer->colour = writer->terminal && colour_wanted();
	snprintf(writer->name, sizeof(writer->name), "%s", name);
}

void writer_init_stdout(struct writer *writer)
{
	init(writer, STDOUT_FILENO, "standard output");
}

int writer_open(struct writer *writer, const char *path)
{
	int fd = place_open(path);

	if (fd < 0) {
		log_error("%s: cannot create: %s%s", path, place_error(fd),
			  fd == -EEXIST ? "; another user has made it, or could have: remove it, or"
					  " choose another name" :
					  place_advice(fd));
		return fd;
	}
	init(writer, fd, path);
	writer->is_old = true;
	return 0;
}

/* Pipes and devices have nothing to be truncated. */
static void truncate_old(struct writer *writer)
{
	if (writer->is_old && ftruncate(writer->fd, 0) && errno != EINVAL)
		log_warning("%s: cannot truncate: %s", writer->name, strerror(errno));
	writer->is_old = false;
}

/* The writer closes its own descriptor, and so learns whether all has arrived. */
static int open_part(struct writer *writer, const struct whole_file *file)
{
	int fd = fcntl(file->part.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), err;

	if (fd < 0) {
		err = -errno;
		log_error("%s: cannot write: %s", file->path, strerror(-err));
		return err;
	}
	init(writer, fd, file->path);
	writer->is_part = true;
	return 0;
}

int writer_open_whole(struct writer *writer, const struct whole_file *file)
{
	if (file->is_part)
		return open_part(writer, file);
	if (file->path)
		return writer_open(writer, file->path);
	writer_init_stdout(writer);
	return 0;
}

static int fail(struct writer *writer, int err)
{
	writer->err = err;
	/* `| head` has what it wanted; that is not worth a message. */
	if (err != -EPIPE)
		log_error("%s: cannot write: %s; %s", writer->name, strerror(-err),
			  writer->is_part ? "nothing was written" : "the output ends here");
	return err;
}

int writer_flush(struct writer *writer)
{
	size_t sent = 0;

	if (writer->err)
		return writer->err;
	if (writer->text.failed)
		return fail(writer, -ENOMEM);
	if (writer->text.length)
		truncate_old(writer);
	writer->is_held = false;
	while (sent < writer->text.length) {
		ssize_t length =
			write(writer->fd, writer->text.bytes + sent, writer->text.length - sent);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return fail(writer, -errno);
		sent += length;
	}
	string_clear(&writer->text);
	return 0;
}

int writer_flush_large(struct writer *writer)
{
	if (writer->text.length >= (writer->is_held ? HELD_BYTES : LARGE_BYTES) ||
	    writer->text.failed)
		return writer_flush(writer);
	return writer->err;
}

int writer_end_line(struct writer *writer)
{
	string_append_char(&writer->text, '\n');
	return writer_flush_large(writer);
}

void writer_hold(struct writer *writer)
{
	writer->is_held = true;
}

bool writer_drop(struct writer *writer)
{
	if (!writer->is_held)
		return false;
	string_clear(&writer->text);
	return true;
}

int writer_close(struct writer *writer)
{
	int err = writer_flush(writer);

	if (writer->fd > STDERR_FILENO && close(writer->fd) && !err)
		err = fail(writer, -errno);
	string_fini(&writer->text);
	writer->fd = -1;
	return err;
}
