/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the blocks of a dump, whatever has become of it: what is damaged is skipped up to the next
 * block that is whole, and told. Memory is bounded, whatever the file says.
 */
#ifndef MEMSCOPE_STORE_DUMP_READER_H
#define MEMSCOPE_STORE_DUMP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/block.h"

enum dump_kind {
	DUMP_BLOCK,
	DUMP_DAMAGE,    /* bytes that are no whole block, with more after them */
	DUMP_CUT_SHORT, /* the last block is not whole: the recorder was interrupted */
	DUMP_TOO_NEW,   /* a block of a newer major version, which this program cannot read */
	DUMP_END,
};

/* What comes next in the file. */
struct dump_item {
	enum dump_kind kind;
	size_t file;                /* of a dump_set: which of its files it is in */
	uint64_t offset;            /* where it begins */
	uint64_t bytes;             /* that it takes */
	struct block_header header; /* of a block, and of one that is too new */
	/* A block's contents, valid until the next call: raw_bytes and stored_bytes of header. */
	const uint8_t *raw;
	const uint8_t *stored; /* as it is in the file */
};

struct dump_reader;

/* Opens a regular file; "-" is standard input, if that is one. Returns 0 or -errno, logged. */
int dump_reader_open(struct dump_reader **reader, const char *path);
void dump_reader_close(struct dump_reader *reader);

/*
 * The same for bytes in memory, which stay the caller's. NULL without memory.
 */
struct dump_reader *dump_reader_of(const void *bytes, size_t length);

/* Returns 0, or -errno (logged) if the file cannot be read. */
int dump_reader_next(struct dump_reader *reader, struct dump_item *item);

/* Goes on there: where an item was. */
void dump_reader_go_to(struct dump_reader *reader, uint64_t offset);

/* The file's size in bytes. It may grow while it is read; what is added then is not looked at. */
uint64_t dump_reader_size(const struct dump_reader *reader);

/* For messages: its path, or "standard input". */
const char *dump_reader_name(const struct dump_reader *reader);

#endif /* MEMSCOPE_STORE_DUMP_READER_H */
