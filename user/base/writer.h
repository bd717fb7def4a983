/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output to a descriptor: what every sink writes through.
 */
#ifndef MEMSCOPE_BASE_WRITER_H
#define MEMSCOPE_BASE_WRITER_H

#include <stdbool.h>

#include "base/string.h"
#include "base/whole_file.h"

struct writer {
	struct string text; /* sinks append here; writer_end() sends it off */
	int fd;
	bool terminal; /* a user is watching: colour allowed, flush early */
	bool colour;
	bool is_old;   /* what the file had before is still in it */
	int err;       /* the first failure, -errno; nothing is written after it */
	bool is_part;  /* of no use to anybody before it is whole */
	bool is_held;  /* until there is very much: see writer_hold() */
	char name[64]; /* for messages */
};

/* Takes over standard output. */
void writer_init_stdout(struct writer *writer);

/*
 * Creates `path`, or truncates it (as with strace -o, the user named it), but not before there is
 * something to write; not what another user has planted (base/place.h). Returns 0 or -errno,
 * logged.
 */
int writer_open(struct writer *writer, const char *path);

/*
 * Opens what is to be written of a file that is there once it is whole; of none (a zeroed one),
 * standard output. Returns 0 or -errno, logged.
 */
int writer_open_whole(struct writer *writer, const struct whole_file *file);

/* After a line: sends the buffer when it is large. Returns 0 or -errno. */
int writer_end_line(struct writer *writer);

/* For output without lines: the same without ending one. */
int writer_flush_large(struct writer *writer);

/* Sends whatever is buffered. Returns 0 or -errno; a full disk is logged, a closed pipe is not. */
int writer_flush(struct writer *writer);

/*
 * Sends nothing before there are 64 MiB, or it is closed: what is written may turn out not to be
 * wanted. Drop forgets it. Returns whether all is forgotten: some of it may have been sent.
 */
void writer_hold(struct writer *writer);
bool writer_drop(struct writer *writer);

/* Flushes and closes. Returns 0 or the first error, -errno. */
int writer_close(struct writer *writer);

#endif /* MEMSCOPE_BASE_WRITER_H */
