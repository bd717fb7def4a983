/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file in which batches of metrics wait to be sent, so that neither the end of the process that
 * pushes nor that of the agent loses them. It has a header, a table of places and, behind it, the
 * batches wherever there is room. All of it is checked when it is read: by who opens it, who may
 * set it aside, only the header; the rest by the process that pushes, which can open no files.
 */
#ifndef MEMSCOPE_AGENT_PUSH_FILE_H
#define MEMSCOPE_AGENT_PUSH_FILE_H

#include <stddef.h>
#include <stdint.h>

#define PUSH_FILE_PLACES 256
#define PUSH_FILE_BATCHES_AT 16384
/* The last byte of it; holes take no room on the disk. Twice the queue: gaps are of any size. */
#define PUSH_FILE_MOST_BYTES (PUSH_FILE_BATCHES_AT + (64ull << 20))

/* One of the table, as it is in the file. */
struct push_file_place {
	uint64_t number; /* batches are sent in this order; 0: the place is free */
	uint64_t offset, bytes;
	uint64_t batch_checksum; /* XXH3-64 of its bytes */
	uint64_t checksum;       /* the same of what is before it */
};

struct push_file {
	int fd; /* -1: there is none */
	struct push_file_place places[PUSH_FILE_PLACES];
};

/*
 * Opens the file of an agent's state directory, or creates it. It belongs to this process and its
 * children until the last of them has ended; those of an agent that was killed are waited for. A
 * file that is none of these, or of another version, is renamed to NAME.damaged, with a message.
 * Returns the descriptor or -errno, logged.
 */
int push_file_open(const char *directory, const char *name);

/*
 * Reads the table of such a file: the places that are in use, but for those in which something else
 * is than was written, which are made free and counted in `*damaged`. Returns 0 or -errno.
 */
int push_file_read(struct push_file *file, int fd, size_t *damaged);

/*
 * Copies a batch into the file, as one of that number (not 0). Returns its place or -errno: -ENOSPC
 * if there is no room, in the file or on the disk; then nothing has changed.
 */
int push_file_put(struct push_file *file, uint64_t number, int fd, uint64_t bytes);

/* Makes a place free, and what it took on the disk. */
void push_file_remove(struct push_file *file, size_t place);

#endif /* MEMSCOPE_AGENT_PUSH_FILE_H */
