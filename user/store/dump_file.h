/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the blocks of a dump go: a file that has only whole blocks in it, whatever happens while it
 * is written.
 */
#ifndef MEMSCOPE_STORE_DUMP_FILE_H
#define MEMSCOPE_STORE_DUMP_FILE_H

#include <stdint.h>

#include "store/block.h"

struct dump_file {
	int fd;
	char *path;
	uint64_t bytes; /* of whole blocks */
	int err;        /* of the last write that failed, -errno; told once */
};

/*
 * Creates it; a file that exists is not overwritten, a symbolic link not followed. Nobody but its
 * owner can read it: names of programs and kernels are in it. Returns 0 or -errno, logged.
 */
int dump_file_open(struct dump_file *file, const char *path);

/*
 * Appends a block. Returns 0, or -errno, logged if the write before did not fail too: then the file
 * is as before, and the next block may be tried.
 */
int dump_file_write(struct dump_file *file, const struct block_header *header, const void *stored);

/* Returns 0, or -errno, logged. */
int dump_file_close(struct dump_file *file);

#endif /* MEMSCOPE_STORE_DUMP_FILE_H */
