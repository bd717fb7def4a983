/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the blocks of a dump go: a file that has only whole blocks in it, whatever happens while it
 * is written; or a stream, of which that cannot be said.
 */
#ifndef MEMSCOPE_STORE_DUMP_FILE_H
#define MEMSCOPE_STORE_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"

struct dump_file {
	int fd;
	char *path;
	bool is_stream; /* it is not ours: nothing that was written can be taken back */
	uint64_t bytes; /* of whole blocks */
	bool is_lost;   /* it was removed, and could not be made anew; told once */
};

/*
 * Creates it; a file that exists is not overwritten, a symbolic link by that name not followed (on
 * the way there, base/place.h says which are). Nobody but its owner can read it: names of programs
 * and kernels are in it. Returns 0 or -errno, logged, with what to do about a file that exists.
 */
int dump_file_open(struct dump_file *file, const char *path, const char *advice);

/* The same, not logged. */
int dump_file_create(struct dump_file *file, const char *path);

/* Standard output. Returns 0 or -ENOMEM. */
int dump_file_open_stdout(struct dump_file *file);

/*
 * Appends a block. Returns 0, or -errno, not logged: then the file is as before, and the next block
 * may be tried. Of a stream -EPIPE: nobody reads it any more.
 */
int dump_file_write(struct dump_file *file, const struct block_header *header, const void *stored);

/* Takes back what is behind the first `bytes`, if that is possible. */
void dump_file_cut(struct dump_file *file, uint64_t bytes);

/*
 * To be called now and then: if somebody has removed the file, it is made anew under the same name,
 * with all that had been written; if nobody reads the stream any more, returns -EPIPE; else 0. What
 * cannot be done is told once, and tried again the next time.
 */
int dump_file_check(struct dump_file *file);

/* Appends what is in another file from its beginning, `bytes` of it. Returns 0 or -errno. */
int dump_file_append(struct dump_file *file, int from_fd, uint64_t bytes);

/* Returns 0, or -errno, logged. */
int dump_file_close(struct dump_file *file);

#endif /* MEMSCOPE_STORE_DUMP_FILE_H */
