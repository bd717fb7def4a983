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

/* So much of a dump: whole blocks, and the records of events in them. */
struct dump_extent {
	uint64_t bytes, blocks, records;
};

struct dump_file {
	int fd;
	char *path;
	bool is_stream; /* it is not ours: nothing that was written can be taken back */
	struct dump_extent has;
	struct block_header first; /* that it begins with, if it has anything */
	bool is_lost;              /* it was removed, and could not be made anew; logged once */
	bool is_elsewhere;         /* it was renamed, and its name is another's; logged once */
	uint64_t retry_ns;         /* to make it anew, not before */
};

/*
 * Creates it; a file that exists is not overwritten, a symbolic link by that name not followed (on
 * the way there, base/place.h says which are). Nobody but its owner can read it: names of programs
 * and kernels are in it. Returns 0 or -errno, logged, with what to do about a file that exists.
 */
int dump_file_open(struct dump_file *file, const char *path, const char *advice);

/*
 * Whether that is the name of something that is not to be removed to make room, and no place for a
 * recording: a device, a pipe, /dev/stdout.
 */
bool dump_file_is_irregular(const char *path);

/* The same as dump_file_open(), not logged. */
int dump_file_create(struct dump_file *file, const char *path);

/* Whether another process has it open as above. This one's own lock would be gone afterwards. */
bool dump_file_is_written(const char *path);

/* Standard output. Returns 0 or -ENOMEM. */
int dump_file_open_stdout(struct dump_file *file);

/*
 * Appends a block. Returns 0, or -errno, not logged: then the file is as before, and the next block
 * may be tried. A stream gives -EPIPE if its reader has closed it.
 */
int dump_file_write(struct dump_file *file, const struct block_header *header, const void *stored);

/* Takes back what is behind the first `to`, if that is possible. */
void dump_file_cut(struct dump_file *file, const struct dump_extent *to);

enum dump_file_state {
	DUMP_FILE_THERE,
	DUMP_FILE_CUT,       /* it was truncated, or written over */
	DUMP_FILE_ELSEWHERE, /* its path leads elsewhere, but another does to it: it was renamed */
};

/*
 * To be called before a block is written, and now and then: what others have done to the file. If
 * it was removed, or its file system unmounted, it is made anew under the same name, with all that
 * had been written (DUMP_FILE_THERE); what cannot be done is logged once, and tried again after a
 * second. Of one that was truncated the blocks that are whole are kept, and `*lost` is what is
 * gone: a new segment is to be begun. Returns enum dump_file_state, -EPIPE if nobody reads the
 * stream any more, or another -errno, not logged: nothing may be written.
 */
int dump_file_check(struct dump_file *file, struct dump_extent *lost);

/*
 * Of one that is elsewhere: goes on in a new file under its old name. Returns 0, told, or -errno,
 * told once: then it goes on where it is.
 */
int dump_file_move(struct dump_file *file);

/* Appends what is in another file from its beginning, `bytes` of it. Returns 0 or -errno. */
int dump_file_append(struct dump_file *file, int from_fd, uint64_t bytes);

/* Returns 0, or -errno, logged. */
int dump_file_close(struct dump_file *file);

#endif /* MEMSCOPE_STORE_DUMP_FILE_H */
